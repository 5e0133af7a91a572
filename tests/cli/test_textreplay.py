import pytest

import textdb_folder

FIGURES = (
    "ur", "wr", "up", "wp", "kl", "kl_cut", "update_precision", "predicted_precision",
)  # fmt: skip


@pytest.fixture
def texts(here):
    folder = here / "texts"
    folder.mkdir()
    return textdb_folder.write(folder, textdb_folder.documents(weeks=40, each=12))


def test_rules_for_summaries_are_scored_with_intervals(texts, asked):
    names = "naive,survival,bayes,sampling,champion"
    code, answer = asked(
        "replay", "--text", texts, "--policies", names, "--every", "5,10"
    )
    assert code == 0
    assert (answer["databases"], answer["weeks"], answer["history"]) == (3, 40, 10)
    rows = [r for r in answer["results"] if r["view"] == "all documents"]
    assert [(r["policy"], r["every"]) for r in rows[:3]] == [
        ("naive", 5.0),
        ("naive", 10.0),
        ("survival", 5.0),
    ]
    assert {r["policy"] for r in rows} == set(names.split(","))
    for row in answer["results"]:
        for name in FIGURES:
            assert row[name]["low"] <= row[name]["mean"] <= row[name]["high"]


def test_people_see_a_table(texts, told):
    code, out, _ = told("replay", "--text", texts, "--every", "8")
    assert code == 0
    assert "predicted precision" in out.splitlines()[0]
    assert any("champion" in line for line in out.splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policies", "luck"), "no rule for summaries 'luck'"),
        (("--every", "0.5"), "1 or more"),
        (("--every", "soon"), "'soon' is not a number"),
        (("--pages", "."), "name one history"),
    ],
)
def test_bad_words_are_told_apart(texts, told, words, said):
    code, _, err = told("replay", "--text", texts, *words)
    assert code == 2
    assert said in " ".join(err.split())


def test_one_thing_is_studied_at_a_time(texts, fails):
    for words in (
        ("study", "--out", "o"),
        ("study", "x", "--text", texts, "--out", "o"),
    ):
        code, said = fails(*words)
        assert code == 2
        assert "name one thing to study" in said
