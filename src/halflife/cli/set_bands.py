"""The forecast quality of a set source's copy, for ``forecast`` and ``status``."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.forecast import Forecast
from halflife.engine.quality_forecast import stated
from halflife.models.held_quality import (
    chosen,
    held_gone,
    held_precision,
    held_recall,
)
from halflife.models.recall_curve import recall
from halflife.models.setquality import Band, forecast, versions

if TYPE_CHECKING:
    from halflife.cli.sets import SetQuestion


def quality_bands(
    question: "SetQuestion",
    ahead: Sequence[float],
    confidence: float,
    *,
    fresh: bool = False,
) -> tuple[dict[str, Band], str]:
    """Return the forecast of each metric at times ahead, and its status.

    With ``fresh`` also of the share of its objects that are present and unchanged.
    """
    own = question.own_days(ahead)
    cast = forecast(question.collection, question.now, own, confidence)
    bands = {"precision": cast.precision, "recall": cast.recall}
    bands |= {"gone": cast.gone, "new": cast.new}
    if fresh:
        bands["freshness"] = cast.precision
        if question.collection.changed.size:
            by_version = versions(question.collection)
            again = forecast(by_version, question.now, own, confidence)
            bands["freshness"] = again.precision
    most = {"gone": float(cast.size), "new": math.inf}
    bands = {m: _widened(question, band, most.get(m, 1.0)) for m, band in bands.items()}
    bands["recall"] = _recall(question, own, confidence)
    return _undecided(question, ahead, bands, cast.size), cast.status


def _undecided(
    question: "SetQuestion", ahead: Sequence[float], bands: dict[str, Band], size: int
) -> dict[str, Band]:
    """Return forecasts that allow for removals which wait for a decision."""
    if question.waits is None:
        return bands
    share, held = question.waits.share, question.is_held(ahead)
    after = {"gone": held_gone(bands["gone"], share, size)}
    for metric in bands.keys() & {"precision", "freshness"}:
        after[metric] = held_precision(bands[metric], share)
    return {
        metric: chosen(held, after[metric], band) if metric in after else band
        for metric, band in bands.items()
    }


def _widened(question: "SetQuestion", band: Band, most: float) -> Band:
    """Return the bounds, widened by the trust factor of the source."""
    low, high = question.trust.band(*band, most=most)
    return band._replace(low=low, high=high)


def _recall(question: "SetQuestion", own: Sequence[float], confidence: float) -> Band:
    """Return the recall that every surface states (``engine.quality_forecast``)."""
    ages = question.now - question.copied + np.asarray(own, np.float64)
    later, older = question.renewed - question.copied, ages
    if later > 0:  # objects that arrived until then are in the copy
        ages = np.where(ages >= later, ages - later, ages)
    order = np.argsort(ages, kind="stable")
    band = recall(question.collection, ages[order], confidence)
    if question.waits is not None:
        hidden = recall(question.collection, older[order], confidence)
        both = held_recall(band, hidden, question.waits.share)
        band = chosen(older[order] >= later, both, band)
    cast = stated(Forecast("recall", ages[order], *band, confidence), question.trust)
    back = np.argsort(order)
    return Band(cast.mean[back], cast.low[back], cast.high[back])
