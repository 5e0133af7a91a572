"""The drift of recorded text databases: coefficients, tests, cross-validation.

Two views of each database: all of its documents, and those of the last 13 weeks. The
covariates are the paper's: ln|D| and the threshold tau at the start of a spell, and
kappa, the divergence between the summaries of that week and the week before.
"""

from typing import Any, NamedTuple

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.models.cox import CoxModel
from halflife.models.drift import DriftModel
from halflife.models.drift_tables import ALL
from halflife.models.drift_validation import Validation, validate
from halflife.models.spells import Spells
from halflife.summary.drift import drifts
from halflife.summary.features import features
from halflife.summary.survival import lifetimes
from halflife.summary.weekly import Weekly

TAUS = {"all": (0.001, 0.0025, 0.005, 0.01), "recent": (0.01, 0.02, 0.05, 0.1)}
_COLUMNS = ("ln_size", "kl_1", "tau")  # ALL, by the names of summary features
_TINY = 1e-6  # added to a divergence, so that 0 has a logarithm


class SummarySpells(NamedTuple):
    """Spells of summaries with their covariates."""

    spells: Spells
    x: Floats
    domain: np.typing.NDArray[np.str_]
    database: Ints


def summary_spells(view: Weekly, taus: tuple[float, ...]) -> SummarySpells:
    """Return the spells of all summaries whose covariates are known."""
    found = drifts(view)
    lives = lifetimes(found, taus)
    covariates = features(found, lives, training=2)
    known = covariates.known(_COLUMNS)
    x = np.column_stack([covariates.column(name) for name in _COLUMNS])[known]
    length, gone = lives.length[known], lives.event[known]
    lower, upper = np.where(gone, length - 1, length), np.where(gone, length, np.inf)
    domain = np.array(covariates.stratum, np.str_)[known]
    spells = Spells.of(np.zeros(length.size), lower, upper)
    return SummarySpells(spells, x, domain, lives.database[known])


def study(data: SummarySpells) -> dict[str, Any]:
    """Return the model with its errors and tests, and its cross-validation."""
    spells, x, domain, database = data
    model = DriftModel().fit(spells, x, domain=domain, database=database)
    cox = model.learned_.cox
    return {
        "spells": len(spells),
        "databases": int(np.unique(database).size),
        "ended": float(spells.ended.mean()),
        "coefficient": _by(ALL, cox.coefficient_),
        "robust_error": _by(ALL, cox.standard_error_),
        "plain_error": _by(ALL, np.sqrt(np.diag(cox.covariance_))),
        "p_value": _by(ALL, cox.wald().p_value),
        "rate": _by(model.drift_.domains, model.drift_.rate),
        "shape": _by(model.drift_.domains, model.drift_.shape),
        "proportional": _proportional(data, clustered=True),
        "proportional_if_independent": _proportional(data, clustered=False),
        "left_out": {
            "curve": _validated(DriftModel(), data),
            "likelihood": _validated(DriftModel(baseline="likelihood"), data),
            "logarithms": _validated(DriftModel(), data._replace(x=_logarithms(x))),
        },
    }


def _proportional(data: SummarySpells, *, clustered: bool) -> dict[str, Any]:
    """Return the p-values of proportional hazards, with dummies for the domains."""
    kinds = np.unique(data.domain)[1:]
    x = np.column_stack((data.x, data.domain[:, None] == kinds))
    spells = data.spells
    found = CoxModel().fit(
        x,
        np.where(spells.ended, spells.upper, spells.lower),
        spells.ended,
        cluster=data.database if clustered else None,
        names=(*ALL, *(f"domain={kind}" for kind in kinds)),
    )
    test = found.proportionality()
    return _by(test.names, test.p_value) | {"proposed": found.propose_strata()}


def _validated(model: DriftModel, data: SummarySpells) -> dict[str, float]:
    result: Validation = validate(
        model, data.spells, data.x, domain=data.domain, database=data.database
    )
    spells = np.where(result.predictable, result.spells, 0.0)
    return {
        "brier": float(result.brier @ spells / spells.sum()),
        "plain": float(result.plain @ spells / spells.sum()),
        "skill": result.skill,
        "off": float(result.off @ spells / spells.sum()),
        "concordance": result.overall.value,
    }


def _logarithms(x: Floats) -> Floats:
    """Return the covariates with ln kappa and ln tau."""
    return np.column_stack((x[:, 0], np.log(x[:, 1] + _TINY), np.log(x[:, 2])))


def _by(names: tuple[str, ...], values: Floats) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
