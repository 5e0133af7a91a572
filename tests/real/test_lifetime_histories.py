"""Lifetimes and arrivals of recorded sources, against what is known of them."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from pyarrow import parquet

from halflife.models.arrival import fit_arrivals
from halflife.models.lifetime import (
    ExponentialLifetime,
    LifeStatus,
    WeibullLifetime,
    choose_lifetime,
)
from halflife.models.spells import Spells, spells
from halflife.models.survival_curves import KaplanMeier
from halflife.recordings.objects import load_parquet
from lab.arrival_counts import arrivals
from lab.turnbull import Turnbull

ROOT = Path(__file__).parents[2] / ".." / "shared" / "data" / "objects"
SOURCES = sorted(p.name for p in ROOT.iterdir()) if ROOT.is_dir() else []

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not SOURCES, reason="no recorded histories of set sources"),
]

# name: deaths per object and day, arrivals a day, Weibull shape
KNOWN = {
    "crypto_jobs": (0.0123, 41, 0.95),
    "ai_jobs": (0.0107, 75, 1.07),
    "toyota_inventory": (0.047, 18, 1.31),
    "llm_prices": (0.0003, 3.2, 0.84),
    "pge_outages": (7.9, 585, 0.95),
    "github_ranking": (0.0007, 2.3, 0.48),
}


@cache
def source(name):
    return load_parquet(ROOT / name, name)


def known(name):
    if name not in SOURCES:
        pytest.skip(f"no history of {name}")
    return KNOWN[name]


@pytest.mark.parametrize("name", KNOWN)
def test_deaths_and_arrivals_a_day_are_as_known(name):
    deaths, came, _ = known(name)
    assert ExponentialLifetime().fit(source(name).lives).rate_ == pytest.approx(
        deaths, rel=0.08, abs=5e-5
    )
    counts = arrivals(source(name), step=1.0)
    laws = ("negative-binomial",)
    found = fit_arrivals(*counts, laws=laws, weekdays=False)
    assert found.rate == pytest.approx(came, rel=0.05)


@pytest.mark.parametrize("name", KNOWN)
def test_the_shape_is_as_known_if_counted_as_there(name):
    """The known shapes count ages from birth midway between looks, deaths midway too,
    and leave out what was there at the first look or came or went in bulk."""
    _, _, shape = known(name)
    table = parquet.read_table(
        ROOT / name / "lifetimes.parquet",
        columns=["left_censored", "bulk_start", "bulk_end"],
    )
    old, *bulk = (column.to_numpy() for column in table.columns)
    data = spells(source(name).lives)
    assert np.array_equal(old, ~data.aged)
    data = data.take(data.aged & ~bulk[0] & ~bulk[1])
    middle = np.where(data.ended, (data.lower + data.upper) / 2, data.lower)
    gone = np.where(data.ended, middle, np.inf)
    naive = WeibullLifetime().fit(Spells.of(0 * middle, middle, gone))
    assert naive.shape_ == pytest.approx(shape, abs=0.03)
    # Who died before the first look that could have seen it was never counted, so
    # early deaths are too few there and the shape too high.
    assert WeibullLifetime().fit(data).shape_ < naive.shape_


@pytest.mark.parametrize(
    ("name", "days"),
    [("crypto_jobs", 30.0), ("toyota_inventory", 30.0), ("pge_outages", 0.25)],
)
def test_the_weibull_describes_precision_better_than_the_exponential(name, days):
    known(name)
    past = source(name)
    start = past.looks[:: max(1, past.looks.size // 50)]
    end = past.looks[
        np.minimum(np.searchsorted(past.looks, start + days), past.looks.size - 1)
    ]
    near = np.abs(end - start - days) < 0.15 * days
    pairs = zip(start[near], end[near], strict=True)
    truth = np.mean([past.quality(a, b)[0] for a, b in pairs])
    plain = ExponentialLifetime().fit(past.lives).survival(np.array([days]))
    bent = WeibullLifetime().fit(past.lives).of_unknown_age(np.array([days]))
    assert abs(bent - truth) < abs(plain - truth)
    assert bent == pytest.approx(truth, abs=0.08)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_finite_numbers(name):
    past = source(name)
    for when in (past.looks[0], past.looks[past.looks.size // 2], past.looks[-1]):
        then = past.until(when)
        recent = spells(then.lives, then.looks, window=45.0)
        for data in (spells(then.lives), recent):
            found = choose_lifetime(data)
            low, high = found.rate_interval()
            assert 0 <= low <= found.rate_ <= high < np.inf
            curve = KaplanMeier().fit(data)
            assert np.isfinite(curve.variance_).all()
        model = fit_arrivals(*arrivals(then, step=1.0))
        assert np.isfinite([model.rate, model.rate_error, model.spread]).all()


@pytest.mark.parametrize("name", ["crypto_jobs", "toyota_inventory", "cv_arxiv"])
def test_weekends_are_quiet(name):
    if name not in SOURCES:
        pytest.skip(f"no history of {name}")
    model = fit_arrivals(*arrivals(source(name)))
    assert model.weekday_p < 1e-4
    # A daily look on Sunday shows what came since Saturday's, hence from Saturday on.
    assert model.factors[5] < 0.8


@pytest.mark.parametrize("name", ["crypto_jobs", "ai_jobs", "toyota_inventory"])
def test_the_curves_agree_where_looks_are_dense(name):
    if name not in SOURCES:
        pytest.skip(f"no history of {name}")
    data = spells(source(name).lives)
    t = WeibullLifetime().fit(data).quantile(np.array([0.2, 0.4, 0.6]))
    one, other = KaplanMeier().fit(data), Turnbull().fit(data)
    assert one.survival(t) == pytest.approx(other.survival(t), abs=0.03)


def test_a_source_that_loses_nothing_has_a_bound():
    if "cv_arxiv" not in SOURCES:
        pytest.skip("no history of cv_arxiv")
    found = WeibullLifetime().fit(source("cv_arxiv").lives)
    assert found.status_ is LifeStatus.NO_DEATHS
    assert found.rate_interval()[1] < 1e-5
