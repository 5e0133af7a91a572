"""How long objects stay: the observed survival curve and two fitted ones."""

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.models.lifetime import ExponentialLifetime, WeibullLifetime
from halflife.models.spells import Spells, spells
from halflife.models.survival_curves import CurveStatus, KaplanMeier
from halflife.study import axes
from halflife.study.figures import Column, StudyFigure, drawing
from halflife.study.marks import BandMark, LineMark
from halflife.study.phrases import many, share, stretch
from halflife.study.svg import Chart

POINTS = 400
TITLE = "How long objects stay"


def survival_figure(collection: Collection) -> StudyFigure:
    """Show the survival of objects, as observed and by two fitted laws."""
    data = spells(collection.lives)
    seen = KaplanMeier().fit(data)
    if seen.status_ is not CurveStatus.OK:
        none = "No object that came since the first snapshot has gone: no curve yet."
        return StudyFigure("survival", TITLE, (none,), (), {})
    aged = data.take(data.aged)
    plain, bent = ExponentialLifetime().fit(aged), WeibullLifetime().fit(aged)
    age = _ages(seen, aged)
    alive, (low, high) = seen.survival(age), seen.band(age)
    chart = Chart(
        "Share of objects still there, by age",
        f"Kaplan-Meier curve with its 95 % band: {share(float(alive[-1]))} are still "
        f"there after {stretch(float(age[-1]))}; beside it fitted curves.",
        axes.spans("age", float(age[-1])),
        axes.percent("still there"),
        (
            BandMark(age, low, high, "95 % band", 6, steps=True),
            LineMark(age, plain.survival(age), "exponential", 1, dash=1),
            LineMark(age, bent.survival(age), "Weibull", 2, dash=3),
            LineMark(age, alive, "seen (Kaplan-Meier)", 0, steps=True),
        ),
    )
    table: dict[str, Column] = {
        "age_days": age,
        "kaplan_meier": alive,
        "low": low,
        "high": high,
        "exponential": plain.survival(age),
        "weibull": bent.survival(age),
    }
    return StudyFigure(
        "survival",
        TITLE,
        _findings(seen, bent, aged),
        (drawing(chart),),
        table,
        _compared(plain, bent),
    )


def _ages(seen: KaplanMeier, data: Spells) -> Floats:
    """Return the ages to draw: until few are at risk, each death if not too many."""
    enough = seen.time_[seen.at_risk_ >= max(5.0, 0.002 * len(data))]
    far = float(enough[-1] if enough.size else seen.time_[-1])
    ages = np.concatenate(([0.0], seen.time_[seen.time_ <= far]))
    return ages if ages.size <= POINTS else np.linspace(0.0, far, POINTS)


def _findings(
    seen: KaplanMeier, bent: WeibullLifetime, data: Spells
) -> tuple[str, ...]:
    half = np.flatnonzero(seen.survival_ <= 0.5)
    when = (
        f"Half of all objects go within {stretch(float(seen.time_[half[0]]))}."
        if half.size
        else "More than half of all objects outlast what was seen."
    )
    low, high = (
        bent.shape_ + side * 1.96 * float(np.sqrt(bent.covariance_[1, 1]))
        for side in (-1, 1)
    )
    kind = (
        "new ones go soonest, and old ones last"
        if high < 1
        else "they wear out: old ones go soonest"
        if low > 1
        else "their age hardly matters"
    )
    count = f"{many(len(data))} objects that came since the first snapshot"
    return (
        when,
        f"Weibull shape {bent.shape_:.2f} [{low:.2f}, {high:.2f}]: {kind}.",
        f"From {count}, {many(data.deaths)} of which have gone.",
    )


def _compared(plain: ExponentialLifetime, bent: WeibullLifetime) -> dict[str, Column]:
    best = min(plain.aic_, bent.aic_)
    models = (plain, bent)
    return {
        "law": ["exponential", "Weibull"],
        "rate per day": [m.rate_ for m in models],
        "shape": [m.shape_ for m in models],
        "mean life (days)": [m.mean() for m in models],
        "AIC above best": [m.aic_ - best for m in models],
        "fit": [m.status_.name.lower().replace("_", " ") for m in models],
    }
