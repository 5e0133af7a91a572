"""Which features predict how long summaries stay true, threshold by threshold.

Tables IV and V of Ipeirotis et al., TODS 2007, on recorded databases: Cox's regression
stratified by domain, with errors robust to the overlapping lifetimes of a database,
and the Weibull baselines of the domains. kappa is the mean over ten weeks.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Bools, Floats
from halflife.models.cox import CoxModel
from halflife.models.drift import DriftModel
from halflife.models.spells import Spells
from halflife.summary.drift import SummaryDrift
from halflife.summary.features import Features, features
from halflife.summary.survival import Lifetimes, lifetimes

TAUS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05)
COLUMNS = ("ln_size", "kl_1")
ALONE = ("ln_size", "ln_words", "kl_1", "kl_9", "ur_1", "up_1", "wr_1", "wp_1")
_TINY = 1e-6  # added to a divergence, so that 0 has a logarithm
_WIDTH = 1.96


class SummaryLifetimes(NamedTuple):
    """Lifetimes at some thresholds, with their features at the start."""

    lives: Lifetimes
    features: Features

    @classmethod
    def of(
        cls, found: Sequence[SummaryDrift], taus: Sequence[float]
    ) -> "SummaryLifetimes":
        """Return the lifetimes of all summaries with ten training weeks before them."""
        lives = lifetimes(found, taus)
        return cls(lives, features(found, lives))

    def column(self, name: str) -> Floats:
        """Return a feature; ``ln_kl_1`` is the logarithm of ``kl_1``."""
        if name == "ln_kl_1":
            return np.log(self.features.column("kl_1") + _TINY)
        return self.features.column(name)

    def select(self, rows: Bools) -> tuple[Spells, NDArray[np.str_]]:
        """Return lifetimes of a mask as spells, and their domains."""
        length, gone = self.lives.length[rows], self.lives.event[rows]
        lower = np.where(gone, length - 1.0, length)
        spells = Spells.of(np.zeros(length.size), lower, np.where(gone, length, np.inf))
        return spells, np.array(self.features.stratum, np.str_)[rows]


def by_threshold(
    found: Sequence[SummaryDrift], taus: Sequence[float] = TAUS
) -> list[dict[str, Any]]:
    """Return coefficients with intervals and each domain's shape, a row a tau."""
    seen = SummaryLifetimes.of(found, taus)
    known = seen.features.known(COLUMNS)
    return [_row(seen, known & (seen.lives.tau == tau), tau) for tau in taus]


def _row(seen: SummaryLifetimes, rows: Bools, tau: float) -> dict[str, Any]:
    spells, domain = seen.select(rows)
    row: dict[str, Any] = {"tau": tau, "lifetimes": len(spells)}
    row["ended"] = int(spells.ended.sum())
    if not spells.ended.any():
        return row | {"status": "nothing ended"}
    x = np.column_stack([seen.column(name) for name in COLUMNS])[rows]
    model = DriftModel().fit(
        spells, x, domain=domain, database=seen.lives.database[rows], names=COLUMNS
    )
    cox = model.learned_.cox
    margin = _WIDTH * cox.standard_error_
    for k, name in enumerate(COLUMNS):
        middle = float(cox.coefficient_[k])
        low, high = middle - float(margin[k]), middle + float(margin[k])
        row[name] = {"mean": middle, "low": low, "high": high}
    shapes = dict(zip(model.drift_.domains, model.drift_.shape.tolist(), strict=True))
    return row | {"status": cox.status_.name, "shape": shapes, "idle": model.idle_}


def alone(found: Sequence[SummaryDrift], taus: Sequence[float]) -> list[dict[str, Any]]:
    """Return each feature's hazard ratio for one standard deviation, beside tau."""
    seen = SummaryLifetimes.of(found, taus)
    known = seen.features.known(ALONE)
    return [_alone(seen, known, name) for name in (*ALONE, "ln_kl_1")]


def _alone(seen: SummaryLifetimes, rows: Bools, name: str) -> dict[str, Any]:
    spells, domain = seen.select(rows)
    raw = seen.column(name)[rows]
    x = np.column_stack(((raw - raw.mean()) / raw.std(), np.log(seen.lives.tau[rows])))
    cox = CoxModel().fit(
        x,
        np.where(spells.ended, spells.upper, spells.lower),
        spells.ended,
        strata=domain,
        cluster=seen.lives.database[rows],
        names=(name, "ln_tau"),
    )
    middle, margin = float(cox.coefficient_[0]), _WIDTH * float(cox.standard_error_[0])
    ratio = {
        side: float(np.exp(value))
        for side, value in (
            ("mean", middle),
            ("low", middle - margin),
            ("high", middle + margin),
        )
    }
    return {
        "feature": name,
        "hazard_ratio": ratio,
        "p_value": float(cox.wald().p_value[0]),
        "log_likelihood": float(cox.log_likelihood_),
    }


def curves(found: Sequence[SummaryDrift], tau: float, weeks: int) -> dict[str, Floats]:
    """Return S(t) of each domain for a database of median size and kappa: Figure 4."""
    seen = SummaryLifetimes.of(found, (tau,))
    known = seen.features.known(COLUMNS)
    spells, domain = seen.select(known)
    x = np.column_stack([seen.column(name) for name in COLUMNS])[known]
    model = DriftModel().fit(spells, x, domain=domain, names=COLUMNS)
    kinds = [kind for kind in model.drift_.domains if kind not in model.idle_]
    usual = np.tile(np.median(x, axis=0), (len(kinds), 1))
    rate, shape = model.drift_.rates(kinds, usual)
    week = np.arange(weeks + 1.0)
    alive = np.exp(-rate[:, None] * week ** shape[:, None])
    return dict(zip(kinds, alive, strict=True))
