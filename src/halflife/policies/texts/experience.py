"""What the refreshes of a live store teach the rules for summaries.

As long as there are few refreshes, rules go by the published model (Ipeirotis et al.,
TODS 2007, Tables IV and V). As soon as there are ten intervals in which a summary went
out of date for each feature of a model, in five databases at least, Cox's regression is
fitted to the store's own intervals instead: with fewer than ten events for each
variable its coefficients are biased and their bounds do not hold (Peduzzi et al., "A
simulation study of the number of events per variable", J. Clin. Epidemiol. 1996).

kappa is the divergence of a database in its first interval, a week's worth of it: of a
longer interval in proportion, of a shorter one all of it. That interval is therefore no
example of what kappa foretells. A database whose first interval is not over is foretold
by its size alone.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from halflife.core.arrays import LARGEST_LOG, Bools, Floats, Ints
from halflife.models.drift import DriftModel, WeibullSurvival, features, paper
from halflife.models.drift_tables import ALL, DIVERGENCE, SIZE, Feature, Method
from halflife.models.spells import Spells
from halflife.policies.texts import bayes
from halflife.policies.texts.lessons import (
    KAPPA,
    LADDER,
    SIZE as BY_SIZE,
    TINY,
    FittedDrift,
    rate_of,
)
from halflife.policies.texts.live import WEEK, Databases

EVENTS = 10  # intervals that ended out of date, for each feature of a model
FEWEST = 5  # databases that these must be of: else domains cannot be told apart
WEEKS = 160  # ages for which Naive Bayes is asked
_SURE = -30.0  # log odds that a summary has changed when it was just made


class Experience:
    """What a live store teaches; it is a ``TrainingData``."""

    def __init__(self, known: Databases) -> None:
        self.known = known

    @property
    def cost(self) -> Floats:
        """Return the requests of a new summary."""
        return self.known.cost

    @property
    def weight(self) -> Floats:
        """Return how much each database counts."""
        return self.known.weight

    @cached_property
    def first(self) -> Bools:
        """Return which refreshes ended the first interval of their database."""
        owner = self.known.refreshes.database
        found = np.zeros(owner.size, np.bool_)
        found[np.unique(owner, return_index=True)[1]] = True
        return found

    @cached_property
    def kappa(self) -> Floats:
        """Return the divergence of a first week; NaN if no interval is over."""
        seen, first = self.known.refreshes, self.first
        found = np.full(len(self.known), np.nan)
        found[seen.database[first]] = seen.kl[first] / np.maximum(seen.gap[first], 1.0)
        return found

    def survival(self, names: Sequence[str]) -> WeibullSurvival:
        """Return each database's survival, time in weeks."""
        seen = self.known.refreshes
        key, mark = ("cox", tuple(names)), (seen.kl.size, float(np.nansum(seen.kl)))
        if self.known.fitted.get(key, (None,))[0] != mark:  # one more refresh is known
            self.known.fitted[key] = mark, self._fit(tuple(names))
        fitted = self.known.fitted[key][1]
        return self._published(names) if fitted is None else self._own(fitted, names)

    def _fit(self, names: tuple[str, ...]) -> FittedDrift | None:
        """Return the model of the store's own intervals; None if there are too few."""
        seen = self.known.refreshes
        x = self._columns(names, seen.database, self.known.tau[seen.database])
        some = ~self.first & (seen.gap > 0) & np.isfinite(seen.kl)
        some &= np.isfinite(x).all(axis=1)
        gone = some & (seen.kl > self.known.tau[seen.database])
        enough = np.count_nonzero(gone) >= EVENTS * len(names)
        if not enough or np.unique(seen.database[gone]).size < FEWEST:
            return None
        owner, gap, kl = seen.database[some], seen.gap[some], seen.kl[some]
        rows = np.tile(np.arange(owner.size), len(LADDER))
        step = np.repeat(LADDER, owner.size)
        tau = step * self.known.tau[owner][rows]
        over = kl[rows] > tau
        lower = np.where(over, 0.0, gap[rows])
        model = DriftModel(baseline="likelihood").fit(
            Spells.of(np.zeros(tau.size), lower, np.where(over, gap[rows], np.inf)),
            self._columns(names, owner[rows], tau),
            domain=np.array(self.known.domain, np.str_)[owner][rows],
            database=owner[rows],
            names=names,
        )
        drift = model.drift_
        fine = np.isfinite(drift.rate).all() and np.isfinite(drift.coefficient).all()
        return FittedDrift(drift, model.idle_) if fine else None

    def _columns(self, names: Sequence[str], owner: Ints, tau: Floats) -> Floats:
        """Return the features of intervals of these databases at these thresholds."""
        kappa = self.kappa[owner]
        known = {
            "ln_size": np.log(np.maximum(self.known.size[owner], 1.0)),
            "kl_1": kappa,
            "tau": tau,
            "ln_kl_1": np.log(kappa + TINY),
            "ln_tau": np.log(tau),
        }
        return np.column_stack([known[name] for name in names])

    def _own(self, fitted: FittedDrift, names: Sequence[str]) -> WeibullSurvival:
        """Return what the store's own model says; else what the published one does."""
        n = len(self.known)
        usual = self._published(names)
        rate, shape = usual.rate.copy(), usual.shape.copy()
        x = self._columns(names, np.arange(n), self.known.tau)
        for i in np.flatnonzero(np.isfinite(x).all(axis=1)).tolist():
            rate[i], shape[i] = rate_of(fitted, self.known.domain[i], x[i])
        return WeibullSurvival(rate, shape)

    def _published(self, names: Sequence[str]) -> WeibullSurvival:
        """Return what Tables IV and V say; there is no published model of logarithms.

        Where kappa is not known yet that is the model by size and tau.
        """
        models: dict[tuple[str, ...], tuple[Feature, ...]] = {
            BY_SIZE: SIZE,
            KAPPA: DIVERGENCE,
        }
        wanted = models.get(tuple(names), ALL)
        pairs = [self._row(i, wanted) for i in range(len(self.known))]
        rate, shape = np.array(pairs, np.float64).reshape(-1, 2).T
        return WeibullSurvival(rate, shape)

    def _row(self, i: int, wanted: tuple[Feature, ...]) -> tuple[float, float]:
        known, kappa = self.known, float(self.kappa[i])
        by = wanted if np.isfinite(kappa) else SIZE
        method: Method = "FPS" if known.method[i] == "FPS" else "QBS"
        x = features(max(known.size[i], 1.0), np.nan_to_num(kappa), known.tau[i], by)
        rate, shape = paper(method, by).rates([known.domain[i]], x)
        return rate.item(), shape.item()

    def odds(self) -> Floats:
        """Return the log odds of a change, databases x age in weeks.

        Naive Bayes on the store's own intervals, if ``EVENTS`` of either kind are
        known; else the odds of the published survival model.
        """
        table = np.full((len(self.known), WEEKS + 1), _SURE)
        owner, gap, over = self._examples()
        ages = np.arange(1.0, WEEKS + 1.0)
        if min(np.count_nonzero(over), np.count_nonzero(~over)) < EVENTS:
            lives = self._published(("ln_size", "kl_1", "tau"))
            passed = lives.rate[:, None] * ages ** lives.shape[:, None]
            gone = np.expm1(np.minimum(passed, LARGEST_LOG))  # (1 - S) / S
            table[:, 1:] = np.log(np.maximum(gone, 1e-12))
            return table
        x = self._features(owner, gap)
        for i in range(len(self.known)):
            asked = self._features(np.full(ages.size, i), ages)
            table[i, 1:] = bayes.classify(x, over, asked)
        return table

    def _examples(self) -> tuple[Ints, Floats, Bools]:
        """Return database, age in weeks and whether the summary had changed by then."""
        known, seen = self.known, self.known.refreshes
        some = ~self.first & (seen.gap > 0) & np.isfinite(seen.kl)
        held = (known.checks.at - known.made) / WEEK
        ok = np.flatnonzero((held > 0) & ~known.doubted)
        owner = np.concatenate((seen.database[some], ok)).astype(np.intp)
        gap = np.concatenate((seen.gap[some], held[ok]))
        gone = seen.kl[some] > known.tau[seen.database[some]]
        return owner, gap, np.concatenate((gone, np.zeros(ok.size, np.bool_)))

    def _features(self, owner: Ints, age: Floats) -> Floats:
        known, kappa = self.known, self.kappa
        usual = float(np.nanmean(kappa)) if np.isfinite(kappa).any() else 0.0
        filled = np.where(np.isfinite(kappa), kappa, usual)
        domains = np.array(sorted(set(known.domain)))
        kinds = np.array(known.domain)[owner][:, None] == domains
        return bayes.features(age, known.size[owner], filled[owner], kinds)
