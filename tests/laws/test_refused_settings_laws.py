"""Settings that make no sense are refused, and those at the edge of sense are not."""

from math import inf, nan

import numpy as np
import pytest

from halflife.allocation.columns import amount
from halflife.core.errors import UsageError
from halflife.grouping.topic import Surfer
from halflife.models.cox import CoxModel
from halflife.models.experts import Experts
from halflife.models.lifetime import ExponentialLifetime, WeibullLifetime
from halflife.models.poisson import PoissonRate
from halflife.models.signals import HintedObservations, HintTrust
from halflife.models.spells import Spells
from halflife.selection.lexicon import LanguageModel
from halflife.summary.metrics import compare, kl
from lab.capture import chapman

ONE = np.ones(1)
SOME = Spells.of(np.zeros(4), np.arange(1.0, 5.0), np.arange(2.0, 6.0))


def poisson(**prior):
    return PoissonRate(**prior).fit(np.zeros(1, int), ONE, np.ones(1, bool))


def lifetime(**prior):
    return WeibullLifetime(**prior).fit(SOME)


def exponential(**prior):
    return ExponentialLifetime(**prior).fit(SOME)


def cox(ridge):
    return CoxModel(ridge=ridge).fit([[0.0], [1.0]], [1.0, 2.0], [True, True])


def trust(pretend):
    looks = HintedObservations(
        np.zeros(1, int), 0 * ONE, 0 * ONE, ONE, np.ones(1, bool), ONE
    )
    return HintTrust(pretend=pretend).fit(looks, n_groups=1)


@pytest.mark.parametrize("made", [poisson, lifetime, exponential])
@pytest.mark.parametrize("value", [-0.5, -1e-9, inf, nan])
def test_priors_are_finite_and_not_negative(made, value):
    names = ("prior_changes", "prior_days") if made is poisson else (
        "prior_deaths", "prior_days"
    )  # fmt: skip
    for name in names:
        with pytest.raises(ValueError, match=name):
            made(**{name: value})
        made(**{name: 0.0})


@pytest.mark.parametrize("value", [-0.5, inf, nan])
def test_penalties_and_pretended_items_are_finite_and_not_negative(value):
    with pytest.raises(ValueError, match="ridge"):
        cox(value)
    with pytest.raises(ValueError, match="pretend"):
        trust(value)
    cox(0.0)
    trust(0.0)


@pytest.mark.parametrize(
    ("jump", "fine"),
    [(0.0, False), (-0.5, False), (0.5, True), (1.0, True), (1.5, False)],
)
def test_a_surfer_jumps_sometimes_or_always(jump, fine):
    if fine:
        Surfer(jump=jump)
        return
    with pytest.raises(ValueError, match="jump"):
        Surfer(jump=jump)


@pytest.mark.parametrize(
    ("share", "mu", "fine"),
    [
        (0.0, None, True),
        (0.5, None, True),
        (1.0, None, False),
        (-0.5, None, False),
        (0.5, 0.5, True),
        (0.5, 0.0, False),
        (0.5, -0.5, False),
        (0.5, inf, False),
    ],
)
def test_a_smoothing_leaves_every_word_a_chance(share, mu, fine):
    if fine:
        LanguageModel(share=share, mu=mu)
        return
    with pytest.raises(UsageError, match=r"share|mu"):
        LanguageModel(share=share, mu=mu)


def test_amounts_are_from_nothing_to_the_largest():
    assert amount("x", 0.0) == 0.0
    assert amount("x", 1e30) == 1e30
    assert amount("x", 1e-30) == 1e-30
    assert amount("x", 0.5e-30) == 0.0
    for value in (-0.5, 1.5e30, inf, nan):
        with pytest.raises(ValueError, match="x must be"):
            amount("x", value)


def test_no_more_documents_are_common_than_each_sample_has():
    assert chapman(3, 5, 3).size == pytest.approx(4 * 6 / 4 - 1)
    assert chapman(3, 5, 0).size == pytest.approx(4 * 6 - 1)
    for both in (-1, 4):
        with pytest.raises(UsageError, match="cannot be common"):
            chapman(3, 5, both)


def test_bases_of_logarithms_are_above_one_and_counts_not_negative():
    one = {"a": 1.0, "b": 1.0}
    assert kl(one, {"a": 3.0, "b": 1.0}, base=1.5) > 0.0
    for base in (1.0, 0.5, inf):
        with pytest.raises(ValueError, match="base"):
            kl(one, one, base=base)
    compare(one, {"a": 0.0, "b": 2.0})
    for count in (-0.5, inf):
        with pytest.raises(ValueError, match="counts"):
            compare(one, {"a": count})


class Steps:
    """All that a window asks of a census."""

    step = 2.0


def test_a_window_is_so_many_horizons_or_steps_whichever_is_longer():
    window = Experts(Steps())._window
    assert window(10.0, 4, 30) == 60.0
    assert window(100.0, 4, 30) == 400.0
    assert window(1.0, 1, 7) == 14.0
