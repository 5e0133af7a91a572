import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

import textdb_folder as made
from halflife.bench.textdrift import median
from halflife.recordings.textdb import load
from halflife.study.textdrift import PUBLISHED, figures, lifetimes_figure
from halflife.summary import Summary
from halflife.summary.age_curves import age_curves
from halflife.summary.drift import (
    SummaryDrift,
    complete,
    drifts,
    sampled_drifts,
    sampling_maker,
)
from halflife.summary.features import evolution, features
from halflife.summary.metrics import SummaryChange
from halflife.summary.survival import first_crossings, lifetimes
from lab.text_ageing import main

ROWS = made.documents()
NAN = float("nan")


@pytest.fixture(scope="module")
def weekly(tmp_path_factory):
    return load(made.write(tmp_path_factory.mktemp("recorded"), ROWS))


def a_drift(kl, name="d", first=0):
    kl = np.asarray(kl, dtype=float)
    weeks = np.arange(first, first + kl.shape[1])
    same = np.ones_like(kl)
    change = SummaryChange(same, same, same, same, kl, np.zeros(kl.shape, np.int8))
    size = np.full(weeks.size, 100.0)
    return SummaryDrift(name, "com", weeks, weeks, size, 2 * size, change)


def ladder(weeks, step):
    """A divergence that grows by ``step`` a week."""
    at = np.arange(weeks)
    return step * np.maximum(at[None, :] - at[:, None], 0)


def test_a_lifetime_ends_in_the_first_week_above_the_threshold():
    lives = lifetimes([a_drift(ladder(6, 0.1))], (0.25,))
    assert lives.start.tolist() == [0, 1, 2, 3, 4]
    assert lives.length.tolist() == [3, 3, 3, 2, 1]
    assert lives.event.tolist() == [True, True, True, False, False]
    assert lives.days.tolist() == [21, 21, 21, 14, 7]


def test_a_divergence_at_the_threshold_is_not_above_it():
    lives = lifetimes([a_drift(ladder(3, 0.5))], (0.5,))
    assert lives.length.tolist() == [2, 1]
    assert lives.event.tolist() == [True, False]


def test_the_first_crossing_counts_even_if_the_divergence_falls_again():
    kl = np.zeros((5, 5))
    kl[0] = [0.0, 0.1, 0.9, 0.1, 0.1]
    length, event = first_crossings(np.arange(5), np.arange(5), kl, 0.5)
    assert (length[0], event[0]) == (2, True)


def test_lifetimes_look_forward_only():
    kl = ladder(6, 0.1) + 9.0 * np.tril(np.ones((6, 6)), -1)
    assert lifetimes([a_drift(kl)], (0.25,)).length.tolist() == [3, 3, 3, 2, 1]


def test_a_lifetime_is_censored_before_a_week_that_tells_nothing():
    kl = np.array([[0.0, 0.1, NAN, 9.0], [NAN] * 4, [NAN] * 4, [0.0] * 4])
    lives = lifetimes([a_drift(kl)], (0.5,))
    assert lives.start.tolist() == [0]
    assert (lives.length.tolist(), lives.event.tolist()) == ([1], [False])


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(0, 20))
def test_lifetimes_are_what_a_walk_through_the_weeks_finds(seed, weeks, first):
    rng = np.random.default_rng(seed)
    kl = rng.random((weeks, weeks))
    kl[rng.random(kl.shape) < 0.1] = NAN
    lives = lifetimes([a_drift(kl, first=first)], (0.3, 0.8))
    expected = []
    for tau in (0.3, 0.8):
        for s in range(weeks):
            length, event = 0, False
            for t in range(s + 1, weeks):
                if np.isnan(kl[s, t]):
                    break
                length = t - s
                if kl[s, t] > tau:
                    event = True
                    break
            if length:
                expected.append((first + s, tau, length, event))
    columns = lives.start, lives.tau, lives.length, lives.event
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == expected


def test_no_database_has_no_lifetimes_and_a_threshold_must_be_above_0():
    assert lifetimes([], (0.5,)).length.shape == (0,)
    with pytest.raises(ValueError, match="thresholds"):
        lifetimes([], (0.0,))


def test_evolution_is_the_mean_over_the_pairs_of_the_training_weeks():
    rng = np.random.default_rng(0)
    kl = rng.random((15, 15))
    kl[3, 5] = NAN
    for when in ("before", "beginning"):
        for lag in (1, 2, 9):
            found = evolution(kl, lag, 10, when)
            for start in range(15):
                first = start - 9 if when == "before" else 0
                pairs = [kl[i, i + lag] for i in range(first, first + 10 - lag)]
                mean = np.nanmean(pairs) if start >= 9 else NAN
                assert found[start] == pytest.approx(mean, nan_ok=True)


def test_features_use_nothing_later_than_the_start(weekly):
    found = drifts(weekly)
    lives = lifetimes(found, (0.05, 0.2))
    told = features(found, lives, training=5)
    cut = drifts(weekly.until(12))
    sooner = lifetimes(cut, (0.05, 0.2))
    then = features(cut, sooner, training=5)
    rows = {
        (d, s, t): k
        for k, (d, s, t) in enumerate(
            zip(lives.database, lives.start, lives.tau, strict=True)
        )
    }
    same = [
        rows[x] for x in zip(sooner.database, sooner.start, sooner.tau, strict=True)
    ]
    assert told.values[same] == pytest.approx(then.values, nan_ok=True)


def test_features_are_named_and_say_what_they_are(weekly):
    found = drifts(weekly)
    lives = lifetimes(found, (0.05,))
    topics = {"a.com": "arts", "b.org": "news"}
    told = features(found, lives, topics=topics)
    assert len(told.names) == 3 + 5 * 9 + 2
    assert told.column("tau").tolist() == [0.05] * lives.start.size
    k = int(np.flatnonzero((lives.database == 1) & (lives.start == 11))[0])
    summary = weekly.summary("b.org", 11)
    assert told.column("ln_size")[k] == pytest.approx(np.log(summary.size))
    assert told.column("ln_words")[k] == pytest.approx(np.log(len(summary.words)))
    pairs = [found[1].change.kl[i, i + 1] for i in range(2, 11)]
    assert told.column("kl_1")[k] == pytest.approx(np.mean(pairs))
    assert told.stratum[k] == "org"
    assert [told.column(f"topic_{t}")[k] for t in ("arts", "news")] == [0.0, 1.0]
    assert told.known(("kl_9", "ur_9")).tolist() == (lives.start >= 9).tolist()
    with pytest.raises(ValueError, match="no feature 'luck'"):
        told.column("luck")


def test_two_weeks_of_training_give_the_first_lag_alone(weekly):
    found = drifts(weekly)
    told = features(found, lifetimes(found, (0.05,)), training=2, when="beginning")
    assert "kl_1" in told.names
    assert "kl_2" not in told.names
    mine = told.column("kl_1")[np.array(told.stratum) == "com"]
    assert np.nanmax(mine) == np.nanmin(mine) == found[0].change.kl[0, 1]


def test_training_that_cannot_be_is_refused(weekly):
    found = drifts(weekly)
    lives = lifetimes(found, (0.05,))
    with pytest.raises(ValueError, match="training"):
        features(found, lives, training=1)
    sparse = sampled_drifts(
        weekly, "a.com", complete, np.random.default_rng(0), every=3
    )
    with pytest.raises(ValueError, match="a summary made in every week"):
        features(sparse[:1], lifetimes(sparse[:1], (0.05,)))


def test_ageing_is_the_mean_over_starts_and_then_over_databases():
    found = [a_drift(ladder(8, 0.1), "a"), a_drift(ladder(8, 0.3), "b")]
    told = age_curves(found, np.random.default_rng(0), ages=np.arange(1, 10))
    curve = told.curves["kl"]
    assert curve.mean[:7] == pytest.approx(0.2 * np.arange(1, 8))
    assert curve.databases.tolist() == [2] * 7 + [0] * 2
    assert np.isnan(curve.mean[7:]).all()
    assert (curve.low[:7] <= curve.mean[:7]).all()
    assert told.at("kl", 2).mean == pytest.approx(0.4)


def test_samples_of_one_database_count_as_one_database():
    found = [a_drift(ladder(4, x), n) for n, x in (("a", 0.1), ("a", 0.3), ("b", 0.6))]
    told = age_curves(found, np.random.default_rng(0), ages=np.array([1]))
    assert told.at("kl", 1).mean == pytest.approx(0.4)
    assert told.curves["kl"].databases.tolist() == [2]
    with pytest.raises(ValueError, match="no database"):
        age_curves([], np.random.default_rng(0))


def test_made_summaries_are_judged_by_the_complete_ones(weekly):
    rng = np.random.default_rng(0)
    whole = sampled_drifts(weekly, "a.com", complete, rng, samples=1)[0]
    assert whole.change.kl == pytest.approx(drifts(weekly)[0].change.kl, abs=1e-12)
    few = sampled_drifts(weekly, "a.com", sampling_maker(5), rng, samples=3, every=4)
    assert [d.made.tolist() for d in few] == [[0, 4, 8, 12, 16]] * 3
    now = np.array([d.change.ur[k, 4 * k] for d in few for k in range(5)])
    assert (now < 1).all()
    every = sampled_drifts(weekly, "a.com", sampling_maker(10_000), rng, samples=1)[0]
    assert every.change.kl == pytest.approx(whole.change.kl, abs=1e-12)


def test_a_drawn_summary_scales_what_it_read_to_the_whole_database(weekly):
    rng = np.random.default_rng(3)
    week = 8
    size = weekly.present("a.com", week).size
    truth = weekly.summary("a.com", week).counts()
    made_ = [sampling_maker(5)(weekly, "a.com", week, rng) for _ in range(300)]
    for summary in made_:
        assert (summary.size, summary.sampled) == (size, 5)
        found = summary.count * 5 / size  # documents of the five with the word
        np.testing.assert_allclose(found, np.round(found))
        assert found.min() >= 1
        assert found.max() <= 5
    for word, documents in truth.items():  # right on average
        counts = [summary.counts().get(word, 0.0) for summary in made_]
        error = np.std(counts) / len(counts) ** 0.5
        assert abs(np.mean(counts) - documents) <= 4 * error + 1e-9, word
    one = sampling_maker(1)(weekly, "a.com", week, rng)
    assert set(one.count.tolist()) == {float(size)}  # it stands for all
    whole = sampling_maker(10_000)(weekly, "a.com", week, rng)
    assert whole.counts() == pytest.approx(truth)
    assert whole.sampled == size


def test_words_that_a_maker_invents_cost_precision(weekly):
    def inventive(weekly, site, week, rng):
        counts = weekly.summary(site, week).counts()
        return Summary.of({**counts, "no such word": 1.0}, 1.0, 1)

    found = sampled_drifts(
        weekly, "a.com", inventive, np.random.default_rng(0), samples=1
    )
    change = found[0].change
    there = len(weekly.summary("a.com", 3).words)
    assert change.up[3, 3] == pytest.approx(there / (there + 1))
    assert change.ur[3, 3] == 1.0


def test_pictures_show_every_curve_and_the_published_values(weekly):
    views = {
        "all documents": age_curves(drifts(weekly), np.random.default_rng(0)),
        "recent items": age_curves(drifts(weekly.recent(4)), np.random.default_rng(0)),
    }
    found = {figure.name: figure for figure in figures(views)}
    for metric, _, _ in PUBLISHED:
        drawn_ = found[f"summaries-{metric}"].charts[0][1]("x")
        assert "152 databases" in drawn_
        assert "recent items" in drawn_
    assert len(found["summaries-kl"].table["mean"]) == 104
    assert "152 databases" not in found["summaries-kl"].charts[0][1]("x")


def test_the_bench_tells_ageing_lifetimes_and_speed_and_draws(tmp_path):
    rows = made.documents(weeks=30, each=12)
    folder = made.write(tmp_path, rows)
    told = json.loads(
        json.dumps(
            main([str(folder), "--qbs", "1", "--pictures", str(tmp_path / "out")]),
            allow_nan=False,
        )
    )
    names = {row["summaries"] for row in told["ageing"]}
    assert names == {
        "all documents",
        "recent items",
        "query-based sample",
        "focused probes",
        "even sample",
        "complete, same databases",
    }
    assert {row["summaries"] for row in told["lifetimes"]} < names
    assert (tmp_path / "out" / "summaries-lasting-recent.svg").exists()
    svg = (tmp_path / "out" / "summaries-ur.svg").read_text()
    assert "<style>" in svg
    assert (tmp_path / "out" / "summaries-ur.csv").read_text().startswith("summaries")
    fast = main([str(folder), "--speed"])
    assert (fast["databases"], fast["weeks"]) == (3, 30)
    assert fast["pairs"] == 3 * 30 * 30


def test_the_picture_of_lifetimes_has_a_curve_for_each_domain(weekly):
    figure = lifetimes_figure("all documents", drifts(weekly), 0.05)
    assert set(figure.table["domain"]) == {"com", "org", "misc"}
    assert "half are gone after" in figure.said[0]
    calm = lifetimes_figure("all documents", drifts(weekly), 50.0)
    assert calm.said[0] == "com: 100 % are left at the end."


def test_a_median_that_was_not_reached_is_none():
    assert median(np.array([1.0, 2.0, 3.0]), np.array([True, True, True])) == 2.0
    assert median(np.array([1.0, 2.0, 3.0]), np.array([True, False, False])) is None
    assert median(np.array([1.0]), np.array([False])) is None
