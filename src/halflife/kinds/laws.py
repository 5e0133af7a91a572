"""The rules that answers of a kind of source must obey, ours or a plug-in's.

Each function returns what is wrong with an answer, in words; empty if nothing is.
"""

from collections.abc import Collection as Many, Mapping, Sequence, Set as AbstractSet
from math import inf, isfinite, isnan

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Offers, Worth
from halflife.engine.breakers import Breaker
from halflife.kinds.page_view import PageTable, PageView
from halflife.kinds.protocol import Description, Known, Prospects, Report, Step
from halflife.market.target_status import TargetMemory, TargetStatus
from halflife.recognition.guess import SourceGuess
from halflife.stores.forecasts import IssuedForecast

_TIGHT = 1e-6  # by which a bound may be missed: sums are not exact


def bad_column(name: str, answer: object, size: int | None = None) -> str:
    """Return what is wrong with a column of numbers >= 0; ``inf`` is allowed."""
    if (
        not isinstance(answer, np.ndarray)
        or answer.ndim != 1
        or answer.dtype.kind != "f"
    ):
        return f"{name} is not a column of numbers"
    if size is not None and answer.size != size:
        return f"{name} has {answer.size} numbers, not {size}"
    if np.isnan(answer).any():
        return f"{name} contains NaN"
    return f"{name} is negative" if answer.size and answer.min() < -_TIGHT else ""


def _bad_shares(mean: Floats, low: Floats, high: Floats, size: int) -> str:
    columns = {"mean": mean, "low": low, "high": high}
    for name, column in columns.items():
        if wrong := bad_column(name, column, size):
            return wrong
        if column.size and column.max() > 1.0 + _TIGHT:
            return f"{name} is above 1"
    # A mean may lie outside: the bounds of a skew quality at 60 % confidence do not
    # hold it.
    return "the bounds are crossed" if np.any(low > high + _TIGHT) else ""


def bad_quality(answer: object, ahead: Floats) -> str:
    """Return what is wrong with a forecast for the days ``ahead``."""
    if answer is None:
        return ""
    if not isinstance(answer, Forecast):
        return "it is not a Forecast"
    return bad_column("at", answer.at, ahead.size) or _bad_shares(
        answer.mean, answer.low, answer.high, ahead.size
    )


def bad_known(answer: object) -> str:
    """Return what is wrong with the value of requests."""
    if not isinstance(answer, Known):
        return "it is not a Known"
    if bad_text(answer.why) or (answer.pace is not None and bad_number(answer.pace)):
        return "its reason is not a text, or its pace not a number"
    if not (isfinite(answer.whole) and answer.whole > 0):
        return f"the requests of a full read are {answer.whole}"
    return "" if answer.worth is None else _bad_worth(answer.worth)


def _bad_worth(worth: Worth) -> str:
    size = worth.requests.size
    wrong = bad_column("requests", worth.requests)
    if wrong or not np.isfinite(worth.requests).all():
        return wrong or "requests are infinite"
    wrong = _bad_shares(worth.quality, worth.low, worth.high, size)
    if not wrong and np.any(np.diff(worth.quality) < -_TIGHT):
        return "more requests give less quality"
    return wrong


def bad_offers(answer: object) -> str:
    """Return what is wrong with offers."""
    if not isinstance(answer, Offers):
        return "they are not Offers"
    size = len(answer)
    wrong = bad_column("cost", answer.cost) or bad_column("gain", answer.gain, size)
    if wrong:
        return wrong
    known = (answer.source >= 0) & (answer.source < len(answer.sources))
    if answer.source.size != size or not known.all():
        return "an offer names no source"
    if not np.isfinite(answer.gain).all():
        return "a gain is infinite"
    fine = np.isfinite(answer.cost).all() and np.all(answer.cost > 0)
    return "" if fine else "the cost of an offer is not a positive number"


def bad_description(answer: object) -> str:
    """Return what is wrong with the description of a source."""
    if not isinstance(answer, Description):
        return "it is not a Description"
    texts = answer.measure, answer.why, answer.note
    if any(bad_text(text) for text in texts):
        return "its measure, why or note is not a text"
    if bad_count(answer.items) or bad_count(answer.gone):
        return "items or gone is not a count"
    if isnan(answer.last) or answer.last == inf:
        return "the time of the last fetch is not a number"
    return "a rate is negative or infinite" if not _is_rate(answer.rate) else ""


def _is_rate(rate: float) -> bool:
    return isnan(rate) or (isfinite(rate) and rate >= 0)


def bad_steps(answer: object) -> str:
    """Return what is wrong with planned fetches."""
    if not isinstance(answer, Sequence) or not all(isinstance(s, Step) for s in answer):
        return "they are not Steps"
    if any(bad_text(s.what) or bad_text(s.why) for s in answer):
        return "an item or a reason is not a text"
    odd = [
        s for s in answer if s.requests < 0 or not (isfinite(s.gain) and s.gain >= 0)
    ]
    return f"{odd[0].what}: a cost or gain is negative or infinite" if odd else ""


def bad_prospects(answer: object) -> str:
    """Return what is wrong with the gains of renewing."""
    if answer is None:
        return ""
    if not isinstance(answer, Prospects):
        return "they are not Prospects"
    if (
        answer.gain.ndim != 2
        or not np.isfinite(answer.gain).all()
        or (answer.gain < 0).any()
    ):
        return "a gain is negative or infinite"
    size = answer.gain.shape[0]
    return bad_column("cost", answer.cost, size) or bad_column(
        "many", answer.many, size
    )


def bad_stand(answer: object) -> str:
    """Return what is wrong with how a source stands to its target."""
    if answer is None:
        return ""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return "it is not a TargetStatus with a TargetMemory"
    stand, memory = answer
    if not (isinstance(stand, TargetStatus) and isinstance(memory, TargetMemory)):
        return "it is not a TargetStatus with a TargetMemory"
    if not (isfinite(stand.requests) and stand.requests >= 0):
        return f"the requests it asks for are {stand.requests}"
    odd = (
        isnan(stand.needed)
        or isnan(stand.recheck_in)
        or min(stand.needed, stand.recheck_in) < 0
    )
    return "what it needs is negative or no number" if odd else ""


def bad_number(answer: object) -> str:
    """Return what is wrong with a number >= 0; ``inf`` is allowed."""
    if not isinstance(answer, int | float | np.number) or isinstance(answer, bool):
        return "it is not a number"
    return f"it is {answer}" if not answer >= 0 else ""


def bad_text(answer: object) -> str:
    """Return what is wrong with a text."""
    return "" if isinstance(answer, str) else "it is not a text"


def bad_key(answer: object) -> str:
    """Return what is wrong with a text, or None for no text."""
    return "" if answer is None else bad_text(answer)


def bad_texts(answer: object) -> str:
    """Return what is wrong with a sequence of texts."""
    if isinstance(answer, str) or not isinstance(answer, Sequence):
        return "it is not a sequence of texts"
    return next(filter(None, map(bad_text, answer)), "")


def bad_pairs(answer: object) -> str:
    """Return what is wrong with a sequence of pairs of texts."""
    if isinstance(answer, str) or not isinstance(answer, Sequence):
        return "it is not a sequence of pairs"
    odd = any(bad_texts(pair) or len(pair) != 2 for pair in answer)
    return "it is not a sequence of pairs of texts" if odd else ""


def bad_flag(answer: object) -> str:
    """Return what is wrong with a yes or no."""
    known = isinstance(answer, bool | np.bool_)
    return "" if known else "it is neither True nor False"


def bad_maybe(answer: object) -> str:
    """Return what is wrong with a yes or no, or None if it is unknown."""
    return "" if answer is None else bad_flag(answer)


def bad_count(answer: object) -> str:
    """Return what is wrong with a count."""
    if not isinstance(answer, int | np.integer) or isinstance(answer, bool):
        return "it is not a count"
    return f"it is {answer}" if answer < 0 else ""


def bad_size(answer: object) -> str:
    """Return what is wrong with a count, or None if nothing is counted."""
    return "" if answer is None else bad_count(answer)


def bad_moment(answer: object) -> str:
    """Return what is wrong with a moment in the past; ``-inf`` stands for never."""
    if not isinstance(answer, int | float | np.number) or isinstance(answer, bool):
        return "it is not a moment"
    return f"it is {answer}" if isnan(answer) or answer == inf else ""


def bad_moments(answer: object) -> str:
    """Return what is wrong with moments by address."""
    if not isinstance(answer, Mapping):
        return "it is not a mapping"
    odd = any(bad_text(key) or bad_moment(at) for key, at in answer.items())
    return "it does not map addresses to moments" if odd else ""


def bad_level(answer: object) -> str:
    """Return what is wrong with a target and its confidence; None is none."""
    if answer is None:
        return ""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return "it is not a target with a confidence"
    level, sure = answer
    odd = bad_share(level) or (sure is not None and bad_share(sure))
    return "its target or confidence is not between 0 and 1" if odd else ""


def bad_wanted(answer: object) -> str:
    """Return what is wrong with a quality that suffices; None is none."""
    return "" if answer is None else bad_share(answer)


def bad_share(answer: object) -> str:
    """Return what is wrong with a share."""
    if not isinstance(answer, int | float | np.number) or isinstance(answer, bool):
        return "it is not a number"
    return "" if 0 <= answer <= 1 else f"it is {answer}"


def bad_silence(answer: object) -> str:
    """Return what is wrong with failures, and the days since the last good fetch."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return "it is not a pair"
    return bad_count(answer[0]) or bad_number(answer[1])


def bad_drift(answer: object) -> str:
    """Return what is wrong with what answers lack, and what is new about them."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return "it is not a pair"
    return bad_texts(answer[0]) or bad_texts(answer[1])


def bad_forecasts(answer: object) -> str:
    """Return what is wrong with issued forecasts."""
    whole = isinstance(answer, Many) and all(
        isinstance(one, IssuedForecast) for one in answer
    )
    return "" if whole else "they are not IssuedForecasts"


def bad_lifetimes(answer: object) -> str:
    """Return what is wrong with the lifetimes of objects; None is none."""
    known = answer is None or isinstance(answer, Collection)
    return "" if known else "it is not a Collection"


def bad_guesses(answer: object) -> str:
    """Return what is wrong with guesses of how an address could be kept."""
    whole = isinstance(answer, tuple) and all(
        isinstance(one, SourceGuess) for one in answer
    )
    return "" if whole else "they are not SourceGuesses"


def bad_sources(
    answer: object, source: SourceConfig, among: Sequence[SourceConfig]
) -> str:
    """Return what is wrong with sources that are read together with one."""
    if not isinstance(answer, Sequence) or source not in answer:
        return f"{source.name} is not among them"
    strange = [one for one in answer if one not in among]
    return "a source of another kind is among them" if strange else ""


def bad_breaker(answer: object) -> str:
    """Return what is wrong with a breaker."""
    return "" if isinstance(answer, Breaker) else "it is not a Breaker"


def bad_table(answer: object) -> str:
    """Return what is wrong with a table of ``status``."""
    if answer is None:
        return ""
    whole = isinstance(answer, PageTable) and all(
        isinstance(r, dict) for r in answer.rows
    )
    return "" if whole else "it is not a PageTable"


def bad_page(answer: object) -> str:
    """Return what is wrong with what a page shows."""
    if not isinstance(answer, PageView):
        return "it is not a PageView"
    keys = {column.key for column in answer.columns}
    if any(not keys <= row.keys() for row in answer.items):
        return "an item lacks a column"
    return "" if 1 <= answer.number <= answer.pages else "its page number is impossible"


def bad_panorama(answer: object, names: AbstractSet[str]) -> str:
    """Return what is wrong with all sources of a kind at once."""
    if answer is None:
        return ""
    standings = getattr(answer, "standings", {})
    return "" if standings.keys() >= names else "a source is missing"


def bad_report(answer: object, group: tuple[str, ...]) -> str:
    """Return what is wrong with a report on work."""
    if not isinstance(answer, Report):
        return "it is not a Report"
    if answer.group != group:
        return f"it is on {'+'.join(answer.group)}"
    counts = answer.requests, answer.found, answer.run, *answer.failures.values()
    if any(map(bad_count, counts)):
        return "a count is negative or no number"
    result = answer.result
    if result is not None and not (hasattr(result, "row") and hasattr(result, "words")):
        return "its result has no row or no words"
    texts = (answer.trouble, answer.held, answer.section, answer.note)
    said = (*texts, *answer.troubles.values(), *answer.mishandled.values())
    return "a remark is not a text" if any(map(bad_text, said)) else ""
