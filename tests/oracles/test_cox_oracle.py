import warnings

import numpy as np
import pytest
from scipy import optimize

from cox_cases import log_likelihood, spells
from halflife.models.cox import CoxModel
from halflife.models.cox_baseline import Baseline, weibull_curves
from halflife.models.drift_scores import concordance
from halflife.models.spells import Spells
from halflife.models.weibull_ph import WeibullPH

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lifelines
    import pandas as pd
    from lifelines.statistics import proportional_hazard_test
    from lifelines.utils import concordance_index
    from statsmodels.duration.hazard_regression import PHReg

TIGHT = {"precision": 1e-12}


def frame(x, **columns):
    names = [f"x{k}" for k in range(x.shape[1])]
    return pd.DataFrame(x, columns=names).assign(**columns)


def theirs(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter = lifelines.CoxPHFitter()
        return fitter.fit(data, "time", "ended", fit_options=TIGHT, **options)


@pytest.mark.parametrize("late", [False, True], ids=["from birth", "delayed entry"])
@pytest.mark.parametrize("weekly", [False, True], ids=["no ties", "ties"])
def test_efron_agrees_with_lifelines_within_strata(weekly, late):
    x, time, ended, stratum, entry = spells(1, weekly=weekly, late=late)
    ours = CoxModel().fit(x, time, ended, strata=stratum, entry=entry if late else None)
    data = frame(x, time=time, ended=ended, stratum=stratum)
    options = {"strata": ["stratum"]}
    if late:
        data, options["entry_col"] = data.assign(entry=entry), "entry"
    other = theirs(data, **options)
    assert ours.coefficient_ == pytest.approx(other.params_.to_numpy(), abs=1e-6)
    errors = other.standard_errors_.to_numpy()
    assert ours.standard_error_ == pytest.approx(errors, rel=1e-5)
    assert ours.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1e-6)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_both_kinds_of_ties_agree_with_statsmodels(ties):
    x, time, ended, stratum, _ = spells(2)
    ours = CoxModel(ties=ties).fit(x, time, ended, strata=stratum)
    other = PHReg(time, x, status=ended, strata=stratum, ties=ties).fit()
    assert ours.coefficient_ == pytest.approx(other.params, abs=1e-9)
    assert ours.standard_error_ == pytest.approx(other.bse, abs=1e-9)
    assert ours.log_likelihood_ == pytest.approx(other.llf, abs=1e-8)
    assert ours.wald().p_value == pytest.approx(other.pvalues, abs=1e-9)


def test_robust_errors_agree_with_statsmodels():
    x, time, ended, stratum, _ = spells(3)
    cluster = np.random.default_rng(0).integers(0, 40, time.size)
    ours = CoxModel(ties="breslow").fit(x, time, ended, strata=stratum, cluster=cluster)
    model = PHReg(time, x, status=ended, strata=stratum, ties="breslow")
    assert ours.standard_error_ == pytest.approx(
        model.fit(groups=cluster).bse, rel=1e-8
    )


def test_robust_errors_with_weights_agree_with_lifelines():
    x, time, ended, stratum, _ = spells(4, weekly=False)
    rng = np.random.default_rng(0)
    cluster, weight = rng.integers(0, 40, time.size), rng.integers(1, 4, time.size)
    ours = CoxModel().fit(
        x, time, ended, strata=stratum, cluster=cluster, weight=weight
    )
    data = frame(x, time=time, ended=ended, stratum=stratum, c=cluster, w=weight)
    other = theirs(data, strata=["stratum"], cluster_col="c", weights_col="w")
    assert ours.coefficient_ == pytest.approx(other.params_.to_numpy(), abs=1e-6)
    errors = other.standard_errors_.to_numpy()
    assert ours.standard_error_ == pytest.approx(errors, rel=1e-5)


@pytest.mark.parametrize("transform", ["km", "identity", "log"])
def test_proportionality_agrees_with_lifelines(transform):
    x, time, ended, stratum, _ = spells(5)
    ours = CoxModel().fit(x, time, ended, strata=stratum).proportionality(transform)
    data = frame(x, time=time, ended=ended, stratum=stratum)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = proportional_hazard_test(
            theirs(data, strata=["stratum"]), data, time_transform=transform
        )
    assert ours.statistic == pytest.approx(np.asarray(other.test_statistic), rel=1e-4)
    assert ours.p_value == pytest.approx(np.asarray(other.p_value), abs=1e-4)


def test_proportionality_by_rank_agrees_with_lifelines_without_ties():
    x, time, ended, _, _ = spells(6, weekly=False)
    ours = CoxModel().fit(x, time, ended).proportionality("rank")
    data = frame(x, time=time, ended=ended)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = proportional_hazard_test(theirs(data), data, time_transform="rank")
    assert ours.statistic == pytest.approx(np.asarray(other.test_statistic), rel=1e-4)


def test_breslow_baseline_agrees_with_lifelines():
    x, time, ended, _, _ = spells(7)
    found = CoxModel().fit(x, time, ended)
    other = theirs(frame(x, time=time, ended=ended))
    curve = found.baseline(x.mean(axis=0), ties="breslow")[0]
    hazard = other.baseline_cumulative_hazard_["baseline cumulative hazard"]
    assert curve.hazard == pytest.approx(hazard.loc[curve.time].to_numpy(), rel=1e-5)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_other_coefficients_have_a_higher_likelihood(seed, ridge, ties):
    data = spells(seed, n=40, p=2, strata=2, late=True)
    x, time, ended, stratum, entry = data
    weight = np.random.default_rng(seed).integers(1, 4, time.size).astype(float)
    found = CoxModel(ties=ties, ridge=ridge).fit(
        x, time, ended, strata=stratum, entry=entry, weight=weight
    )
    deviation = found._scaled.deviation

    def lost(beta):
        value = log_likelihood(beta, data, weight, ties)
        return 0.5 * ridge * np.sum((beta * deviation) ** 2) - value

    best = optimize.minimize(lost, np.zeros(2), method="Nelder-Mead", tol=1e-12)
    assert found.coefficient_ == pytest.approx(best.x, abs=1e-5)
    penalty = 0.5 * ridge * np.sum((found.coefficient_ * deviation) ** 2)
    assert found.log_likelihood_ - penalty == pytest.approx(-best.fun, abs=1e-7)
    assert found.null_ == pytest.approx(-lost(np.zeros(2)), abs=1e-9)


def test_weibull_hazards_are_those_of_lifelines_accelerated_lives():
    x, time, ended, _, _ = spells(8, weekly=False, p=2)
    data = Spells.of(np.zeros(time.size), time, np.where(ended, time, np.inf))
    ours = WeibullPH().fit(data, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter = lifelines.WeibullAFTFitter()
        other = fitter.fit(frame(x, time=time, ended=ended), "time", "ended")
    _same_weibull(ours, other)


def test_weibull_hazards_between_looks_are_those_of_lifelines():
    x, time, ended, _, _ = spells(9, p=2)
    lower = np.where(ended, time - 1, time)
    upper = np.where(ended, time, np.inf)
    ours = WeibullPH().fit(Spells.of(np.zeros(time.size), lower, upper), x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = lifelines.WeibullAFTFitter().fit_interval_censoring(
            frame(x, lower=lower, upper=upper), "lower", "upper"
        )
    _same_weibull(ours, other)


def _same_weibull(ours, other):
    """The hazard's coefficient is minus shape times that of ln(life)."""
    shape = float(np.exp(other.params_["rho_"]["Intercept"]))
    scale = other.params_["lambda_"]
    assert ours.shape_ == pytest.approx(shape, rel=1e-4)
    assert ours.rate_ == pytest.approx(np.exp(-shape * scale["Intercept"]), rel=1e-3)
    expected = -shape * scale[["x0", "x1"]].to_numpy()
    assert ours.coefficient_ == pytest.approx(expected, abs=1e-4)
    assert ours.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1e-4)
    assert ours.log_likelihood_ >= other.log_likelihood_ - 1e-8


def test_curves_are_the_least_squares_of_scipy():
    rng = np.random.default_rng(0)
    curves = []
    for shape in (0.5, 0.9, 1.4, 3.0):
        time = np.sort(rng.uniform(0.5, 30, 25))
        hazard = np.cumsum(rng.exponential(size=25))
        curves.append(Baseline(str(shape), time, hazard * (time / 20) ** shape / 10))
    found = weibull_curves(tuple(curves))
    for k, curve in enumerate(curves):
        best = _least_squares(curve)
        error = np.sqrt(2 * best.cost / curve.time.size)
        assert found.error[k] == pytest.approx(error, rel=1e-9)
        assert np.log(found.rate[k]) == pytest.approx(best.x[0], abs=1e-5)
        assert np.log(found.shape[k]) == pytest.approx(best.x[1], abs=1e-5)


def _least_squares(curve):
    def off(at):
        log = at[0] + np.exp(np.minimum(at[1], 3.0)) * np.log(curve.time)
        hazard = np.exp(np.clip(log, -600, 600))
        return np.exp(-hazard) - curve.survival(curve.time)

    starts = [(a, b) for a in (-6.0, -3.0, -1.0) for b in (-0.7, 0.0, 0.7)]
    tried = [
        optimize.least_squares(off, s, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        for s in starts
    ]
    return min(tried, key=lambda found: found.cost)


@pytest.mark.parametrize("seed", range(4))
def test_concordance_agrees_with_lifelines(seed):
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 12, 200).astype(float)
    risk = rng.integers(0, 9, 200).astype(float)
    ended = rng.random(200) < 0.6
    expected = concordance_index(time, -risk, ended)
    assert concordance(risk, time, ended).value == pytest.approx(expected, abs=1e-12)
