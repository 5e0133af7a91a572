"""Cox's proportional hazards, with a baseline of its own for each stratum."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import NotFitted
from halflife.models.cox_baseline import Baseline, baselines
from halflife.models.cox_columns import (
    SpellColumns,
    check_columns,
    codes,
    scale_covariates,
)
from halflife.models.cox_risk import (
    RiskSets,
    RiskSums,
    Ties,
    score_residuals,
    slopes,
    sums,
)
from halflife.models.cox_search import CoxPeak, estimable, is_separated, peak
from halflife.models.cox_tests import (
    FittedCovariates,
    Proportionality,
    Transform,
    proportionality,
    sum_by_cluster,
)

_RIDGE = 1.0  # ridge where likelihood has no peak
_EXP = 600.0  # exponents are kept within


class CoxStatus(IntEnum):
    """How far the spells suffice to estimate coefficients.

    OK           the peak of the partial likelihood
    NO_SPELLS    nothing was observed: all coefficients 0
    NO_DEATHS    none ended (or none while others were at risk): all coefficients 0
    NO_CONTRAST  spells at risk together are alike: all coefficients 0
    SEPARATED    likelihood rises without end, as some covariate determines which
                 spell ends first: the mode under a normal prior, of variance 1 a
                 standard deviation of each covariate
    NOT_SETTLED  the search ended before the peak
    """

    OK = 0
    NO_SPELLS = 1
    NO_DEATHS = 2
    NO_CONTRAST = 3
    SEPARATED = 4
    NOT_SETTLED = 5


class Wald(NamedTuple):
    """Each coefficient over its standard error, and its p-value."""

    z: Floats
    p_value: Floats


class LikelihoodRatio(NamedTuple):
    """Twice the gain in log-likelihood over no covariates, and its p-value."""

    statistic: float
    freedom: int
    p_value: float


class CoxModel:
    """Hazards h(t) = h_s(t) exp(x b): b is common, h_s free for each stratum.

    b maximises the partial likelihood (see ``halflife.models.cox_risk``) by Newton's
    method, less ``ridge`` / 2 sum((b sd)**2). Cox, JRSS B 1972; the strata as in
    Ipeirotis et al., TODS 2007, s. 4.2. With a ``cluster`` for each spell, standard
    errors allow for dependent spells within a cluster: the sandwich of Lin and Wei,
    JASA 1989, of scores summed by cluster.

    Args:
        ties: How spells that end together are counted: ``efron`` or ``breslow``.
        ridge: Penalty on squared coefficients, in standard deviations of covariates.

    Attributes:
        coefficient_: b; 0 where ``estimable_`` is false.
        covariance_: Of b, from the information; 0 where ``estimable_`` is false.
        robust_: The sandwich; ``covariance_`` if no cluster was given.
        standard_error_: Root of the diagonal of ``robust_``.
        estimable_: Whether the coefficient can be estimated: the covariate varies among
            spells at risk together, and is not a linear combination of those before it.
        log_likelihood_: At b, without the penalty.
        null_: The log-likelihood at 0.
        names_: The names of the covariates.
        strata_: The strata, in order.
        idle_: Those of them in which nothing ended; they have no baseline.
        deaths_: Spells that ended while at risk.
        status_: How far the spells suffice; see ``CoxStatus``.

    >>> x = np.array([[0.0], [1], [0], [1], [1], [0]])
    >>> time = np.array([5.0, 1, 3, 2, 4, 6])
    >>> found = CoxModel().fit(x, time, np.array([1, 1, 1, 1, 0, 0], bool))
    >>> found.coefficient_.round(3), found.status_.name
    (array([1.227]), 'OK')

    """

    coefficient_: Floats
    covariance_: Floats
    robust_: Floats
    standard_error_: Floats
    estimable_: Bools
    log_likelihood_: float
    null_: float
    names_: tuple[str, ...]
    strata_: tuple[str, ...]
    idle_: tuple[str, ...]
    deaths_: int
    status_: CoxStatus

    def __init__(self, *, ties: Ties = "efron", ridge: float = 0.0) -> None:
        self.ties = ties
        self.ridge = ridge

    def fit(  # noqa: PLR0913  (one problem, stated whole)
        self,
        x: ArrayLike,
        time: ArrayLike,
        ended: ArrayLike,
        *,
        strata: ArrayLike | None = None,
        entry: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        cluster: ArrayLike | None = None,
        names: Sequence[str] = (),
        start: ArrayLike | None = None,
    ) -> Self:
        """Estimate from spells, one a row; ``ValueError`` if they are invalid.

        ``start`` are the coefficients at which the search begins. Covariates called
        ``topic=arts``, ``topic=sports`` count as one, ``topic``, in tests.
        """
        if self.ties not in {"efron", "breslow"}:
            raise ValueError(f"ties must be 'efron' or 'breslow', got {self.ties!r}")
        if not 0 <= self.ridge < np.inf:
            raise ValueError(f"ridge must be finite and not negative, got {self.ridge}")
        given = check_columns(x, time, ended, strata, entry, weight, names=names)
        n = given.data.time.size
        self._prepare(given)
        self._search(None if start is None else np.asarray(start, np.float64))
        self._set_errors(None if cluster is None else codes(cluster, n, "cluster")[1])
        return self

    def _prepare(self, given: SpellColumns) -> None:
        self.names_, self.strata_ = given.names, given.strata
        self._sets = RiskSets.of(given.data, self.ties)
        occurring = set(self._sets.stratum.tolist())
        self.idle_ = tuple(s for k, s in enumerate(given.strata) if k not in occurring)
        self.deaths_ = int(self._sets.tied.sum())
        self._scaled = scale_covariates(self._sets)
        p = len(self.names_)
        self.estimable_ = np.zeros(p, np.bool_)
        self._beta, self._inverse = np.zeros(p), np.zeros((p, p))
        self.null_ = self.log_likelihood_ = 0.0
        self.status_ = CoxStatus.NO_DEATHS
        if not np.any(given.data.weight > 0):
            self.status_ = CoxStatus.NO_SPELLS

    def _search(self, start: Floats | None) -> None:
        """Find the coefficients, in standard deviations, and set the status."""
        if not self.deaths_:
            return
        z = self._scaled.z
        at_zero = sums(self._sets, z, self._beta)
        self.null_ = self.log_likelihood_ = at_zero.value
        flat = slopes(self._sets, z, at_zero)[1]
        self.estimable_ = rows = estimable(flat, float(self._sets.mass.sum()))
        self.status_ = CoxStatus.NO_CONTRAST
        if rows.any():
            begin = self._beta if start is None else start * self._scaled.deviation
            top = self._peak(z[rows], flat[np.ix_(rows, rows)], begin[rows])
            self._beta[rows], self.log_likelihood_ = top.beta, top.value
            self._inverse[np.ix_(rows, rows)] = np.linalg.inv(top.information)

    def _peak(self, z: Floats, flat: Floats, start: Floats) -> CoxPeak:
        top = peak(self._sets, z, self.ridge, start)
        self.status_ = CoxStatus.OK
        if self.ridge == 0 and is_separated(top, flat):
            top = peak(self._sets, z, _RIDGE, np.zeros(start.size))
            self.status_ = CoxStatus.SEPARATED
        if not top.settled:
            self.status_ = CoxStatus.NOT_SETTLED
        return top

    def _set_errors(self, cluster: Ints | None) -> None:
        unit = 1.0 / self._scaled.deviation
        self.coefficient_ = self._beta * unit
        self.covariance_ = self._inverse * np.outer(unit, unit)
        self._cluster = None if cluster is None else cluster[self._sets.rows]
        self.robust_ = self.covariance_
        if self._cluster is not None and self.estimable_.any():
            score = score_residuals(self._sets, self._scaled.z, self._sums())
            pull = sum_by_cluster(score, self._cluster).T @ self._inverse * unit
            self.robust_ = pull.T @ pull
        self.standard_error_ = np.sqrt(np.maximum(np.diag(self.robust_), 0.0))

    def _sums(self) -> RiskSums:
        return sums(self._sets, self._scaled.z, self._beta)

    def wald(self) -> Wald:
        """Return b / standard error; 0, and p-value 1, where b cannot be estimated."""
        self._check_fitted()
        error = np.where(self.standard_error_ > 0, self.standard_error_, 1.0)
        z = np.where(self.standard_error_ > 0, self.coefficient_ / error, 0.0)
        return Wald(z, np.asarray(lazy_scipy.erfc(np.abs(z) / np.sqrt(2.0))))

    def likelihood_ratio(self) -> LikelihoodRatio:
        """Return 2 (ln L(b) - ln L(0)), chi-square if spells are independent."""
        self._check_fitted()
        gain = max(2.0 * (self.log_likelihood_ - self.null_), 0.0)
        freedom = int(self.estimable_.sum())
        p_value = float(lazy_scipy.chdtrc(freedom, gain)) if freedom else 1.0
        return LikelihoodRatio(gain, freedom, p_value)

    def proportionality(self, transform: Transform = "km") -> Proportionality:
        """Test whether coefficients drift with time (see ``models.cox_tests``)."""
        self._check_fitted()
        fitted = FittedCovariates(
            self._scaled.z, self.names_, self.estimable_, self._inverse
        )
        risk_sums = self._sums() if self.estimable_.any() else None
        return proportionality(self._sets, fitted, risk_sums, self._cluster, transform)

    def propose_strata(
        self, level: float = 0.01, transform: Transform = "km"
    ) -> tuple[str, ...]:
        """Return covariates to stratify by: those whose hazards are not proportional.

        Those whose p-value is below ``level``, corrected for all tests (Holm, 1979),
        the smallest first.
        """
        test = self.proportionality(transform)
        order = np.argsort(test.p_value, kind="stable")
        corrected = np.maximum.accumulate(
            test.p_value[order] * np.arange(order.size, 0, -1)
        )
        return tuple(test.names[i] for i in order[corrected < level])

    def relative(self, x: ArrayLike) -> Floats:
        """Return exp(x b), the hazard in units of the stratum's baseline."""
        self._check_fitted()
        eta = np.asarray(x, np.float64) @ self.coefficient_
        return np.exp(np.clip(eta, -_EXP, _EXP))

    def baseline(
        self, at: ArrayLike | None = None, *, ties: Ties | None = None
    ) -> tuple[Baseline, ...]:
        """Return the cumulative hazard of each stratum where something ended.

        It is that of a spell with covariates ``at``, all 0 by default.
        """
        self._check_fitted()
        if not self._sets.time.size:
            return ()
        point = np.zeros(len(self.names_)) if at is None else np.asarray(at, np.float64)
        shift = (point - self._scaled.mean) @ self.coefficient_
        return baselines(
            self._sets, self._sums(), shift, self.strata_, ties or self.ties
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "status_"):
            raise NotFitted("call fit before using CoxModel")
