"""Laws of the curves that lead from the price of a look back to its interval."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma, gammainc, gammaincinv, gammaln

from halflife.allocation import curves
from halflife.core import lazy_scipy

ONE = np.ones(1)
SHAPES = (0.3, 0.8, 1.0, 1.7, 4.0)


def bought(kind, s, shape):
    """Return U(s), the integral of u dD(u) over 0..s, by quadrature."""
    slopes = {
        "freshness": lambda u: u * shape * u ** (shape - 1) * math.exp(-(u**shape)),
        "harmonic": lambda u: -math.expm1(-u),
        "age": lambda u: u * -math.expm1(-(u**shape)),
    }
    ends = sorted({0.0, min(s, 1.0), s})
    return sum(
        quad(slopes[kind], a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pairwise(ends)
    )


def slope(kind, s, shape):
    """Return d ln s / d ln U, which is U / (s dU/ds)."""
    rise = {
        "freshness": shape * s**shape * math.exp(-(s**shape)),
        "harmonic": -math.expm1(-s),
        "age": s * -math.expm1(-(s**shape)),
    }[kind]
    return bought(kind, s, shape) / (s * rise)


POISSON = {
    "freshness": curves.freshness,
    "harmonic": curves.harmonic,
    "age": curves.poisson_age,
}


@pytest.mark.parametrize("kind", POISSON)
def test_a_curve_undoes_what_quadrature_says_a_look_buys(kind):
    spacings = np.concatenate([np.geomspace(0.02, 20.0, 60), [0.5, 1.0, 2.0]])
    y = np.array([bought(kind, s, 1.0) for s in spacings])
    found, bend = POISSON[kind](y, np.ones(y.size))
    sure = 1e-10 if kind != "freshness" else 1e-6  # near 1 there are no digits left
    np.testing.assert_allclose(found, spacings, rtol=sure)
    expected = [slope(kind, s, 1.0) for s in spacings]
    np.testing.assert_allclose(bend, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_weibull_curves_undo_what_quadrature_says_a_look_buys(shape):
    x = np.geomspace(0.003, 12.0, 40)  # expected changes, s**shape
    spacings, shapes = x ** (1 / shape), np.full(40, shape)
    late = np.array([bought("age", s, shape) for s in spacings])
    found, bend = curves.age(late, shapes)
    np.testing.assert_allclose(found, spacings, rtol=1e-8)
    steep = [slope("age", s, shape) for s in spacings]
    np.testing.assert_allclose(bend, steep, rtol=1e-5)
    fresh = np.array([bought("freshness", s, shape) for s in spacings])
    found, bend = curves.weibull_freshness(fresh / gamma(1 + 1 / shape), shapes)
    np.testing.assert_allclose(found, spacings, rtol=1e-6)
    steep = [slope("freshness", s, shape) for s in spacings]
    np.testing.assert_allclose(bend, steep, rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_age_has_no_seam_where_the_exponential_is_gone(shape):
    spacings = np.array([30.0, 49.9, 50.0, 50.1, 80.0]) ** (1 / shape)
    y = np.array([bought("age", s, shape) for s in spacings])
    found, bend = curves.age(y, np.full(5, shape))
    np.testing.assert_allclose(found, spacings, rtol=1e-9)
    expected = [slope("age", s, shape) for s in spacings]
    np.testing.assert_allclose(bend, expected, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_newtons_method_for_age_begins_left_of_the_root_and_near_it(shape):
    x = np.geomspace(1e-6, 1e3, 50)
    a, y = 1.0 / shape, np.array([bought("age", s, shape) for s in x ** (1 / shape)])
    start = curves._before_age(y, np.full(50, a))
    assert (start <= x * (1 + 1e-9)).all()
    assert (start >= 0.4 * x).all()
    assert start[0] == pytest.approx(x[0], rel=1e-5)  # the first term of the series
    assert start[-1] == pytest.approx((2 * y[-1]) ** (shape / 2))  # U nears s**2 / 2
    assert start[-1] == pytest.approx(x[-1], rel=0.06)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("y", [1e-9, 1e-3, 1.0, 1e3])
def test_newtons_method_for_age_needs_few_steps(monkeypatch, shape, y):
    steps, worth = [], curves.age_worth
    monkeypatch.setattr(
        curves, "age_worth", lambda x, a: steps.append(x) or worth(x, a)
    )
    curves.age(np.array([y]), np.array([shape]))
    assert 1 <= len(steps) <= 5


@pytest.mark.parametrize("y", [1.0, 1.0 + 1e-12, 2.0])
def test_what_costs_more_than_it_can_buy_has_the_unit_spacing_and_no_slope(y):
    spacing, bend = curves.weibull_freshness(np.array([y, 0.5]), np.array([2.0, 2.0]))
    assert (spacing[0], bend[0]) == (1.0, 0.0)
    assert spacing[1] == pytest.approx(math.sqrt(gammaincinv(1.5, 0.5)))


def cases(n=3000):
    """Return k, y and the root of P(k, x) = y, over all that shapes can ask for."""
    rng = np.random.default_rng(0)
    k = rng.uniform(1.1, 11.0, n)
    y = 1.0 / (1.0 + np.exp(-rng.uniform(-14.0, 14.0, n)))
    return k, y, gammaincinv(k, y)


@pytest.mark.parametrize("off", [0.1, -0.1, 0.03, -0.03])
def test_a_step_of_halleys_method_leaves_an_error_of_third_order(off):
    k, y, x = cases()
    step = curves._halley(k, y, x * np.exp(off), gammaln(k))
    assert (np.abs(step + off) <= 1.6 * abs(off) ** 3).all()


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_step_of_halleys_method_goes_no_further_than_one(side):
    k, y, x = cases(300)
    far = curves._halley(k, y, x * np.exp(3.0 * side), gammaln(k))
    assert (np.abs(far) <= 1.0).all()
    assert (far == -side).any()  # it would have gone further


def test_scipys_inverse_is_asked_for_few(monkeypatch):
    k, y, x = cases()
    asked, inverse = [], lazy_scipy.gammaincinv
    monkeypatch.setattr(
        lazy_scipy,
        "gammaincinv",
        lambda k, y: asked.append(k.size) or inverse(k, y),
        raising=False,
    )
    found, lead = curves.inverse_gamma(k, y)
    assert sum(asked) < 0.02 * k.size
    np.testing.assert_allclose(found, x, rtol=1e-9)
    np.testing.assert_allclose(lead, np.exp(k * np.log(x) - x - gammaln(k)), rtol=1e-8)


def test_the_first_guess_is_right_to_a_few_percent():
    k, y, x = cases()
    near = curves._near_inverse(k, y, gammaln(k))
    off = np.abs(np.log(near / x))
    assert off.max() < 0.13
    assert np.median(off) < 0.006
    small = y < 1e-4  # two terms of the series leave an error of second order
    bound = 1.5 * (x[small] / (k[small] + 1)) ** 2
    assert (off[small] <= np.maximum(bound, 1e-3)).all()


def test_the_inverse_is_right_far_out_on_either_side():
    k = np.repeat([1.1, 2.0, 11.0], 4)
    y = np.tile([1e-200, 1e-30, 1.0 - 1e-9, 1.0 - 1e-11], 3)
    found, _ = curves.inverse_gamma(k, y)
    np.testing.assert_allclose(gammainc(k[y < 0.5], found[y < 0.5]), y[y < 0.5])
    np.testing.assert_allclose(found, gammaincinv(k, y), rtol=1e-6)


def test_known_gaps_are_worth_a_look_in_the_share_that_is_longer_than_the_price():
    y = np.array([0.0, 0.5, 3.0, 600.0])
    spacing, bend = curves.hindsight(y, ONE)
    np.testing.assert_allclose(spacing, [math.exp(v) for v in y])
    assert bend.tolist() == y.tolist()
    assert np.isfinite(curves.hindsight(np.array([1e9]), ONE)[0]).all()


@pytest.mark.parametrize("e", [-0.5, -0.2, 1e-3, 0.3, 0.5])
def test_temmes_series_solves_his_equation(e):
    u = 1.0 + float(curves._temme(np.array([e]))[0])
    assert u - 1.0 - math.log(u) == pytest.approx(e * e / 2, rel=1e-11)


def test_freshness_at_a_price_that_nobody_pays_is_finite():
    spacing, bend = curves.freshness(np.array([1.0, 2.0, 1.0 - 2.0**-53]), ONE)
    assert np.isfinite(spacing).all()
    assert np.isfinite(bend).all()
    assert np.ptp(spacing) == 0
    # x - ln(1 + x) = 53 ln 2
    assert spacing[0] - math.log1p(spacing[0]) == pytest.approx(53 * math.log(2))
