import pytest

import league_folder

KEYS = {
    "policy", "budget", "runs", "freshness", "age", "harmonic", "change_ratio",
    "cycle_ratio", "starved", "requests", "peak", "over", "blind", "told", "hindsight",
    "closeness", "headroom", "gain", "staleness_cut", "requests_share",
}  # fmt: skip
WORDS = ("--policies", "uniform,nutch-adaptive,oracle", "--budgets", "0.05,0.2")


@pytest.fixture
def pages(here):
    folder = here / "sites"
    folder.mkdir()
    return league_folder.many_sites(folder, sites=6, pages=3, days=120.0)


def test_page_histories_are_compared_with_intervals_over_sites(pages, asked):
    code, answer = asked("replay", "--pages", pages, *WORDS, "--days", "120")
    assert code == 0
    assert (answer["items"], answer["groups"], answer["days"]) == (24, 6, 120.0)
    assert (answer["warm"], answer["ticks"]) == (60.0, 1)
    rows = answer["results"]
    assert [(r["policy"], r["budget"]) for r in rows][:4] == [
        ("uniform", 0.05),
        ("nutch-adaptive", 0.05),
        ("oracle", 0.05),
        ("uniform", 0.2),
    ]
    for row in rows:
        assert set(row) == KEYS
        for name in ("freshness", "age", "change_ratio"):
            assert row[name]["low"] <= row[name]["mean"] <= row[name]["high"]
        assert set(row["gain"]) == {"uniform", "nutch-adaptive"}
        assert row["freshness"]["mean"] <= row["hindsight"]


def test_all_policies_can_be_named_at_once(pages, told):
    words = ("--policies", "all", "--budgets", "0.2", "--days", "70")
    code, text, _ = told("replay", "--pages", pages, *words)
    assert code == 0
    for name in ("uniform", "round-robin", "oracle", "stormcrawler-adaptive"):
        assert name in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one history"),
        (["x.csv", "--pages", "y"], "name one history"),
        (["--pages", "nowhere"], "nowhere: no such file or folder"),
        (["--pages", ".", "--policies", "nope"], "no policy is named 'nope'; known"),
    ],
)
def test_a_league_that_cannot_be(here, fails, words, said):
    code, complaint = fails("replay", *words)
    assert code == 2
    assert complaint.startswith(said)


def test_a_league_with_nothing_left_to_score(pages, fails):
    code, complaint = fails("replay", "--pages", pages, "--days", "30")
    assert code == 2
    assert "nothing is left to score" in complaint
