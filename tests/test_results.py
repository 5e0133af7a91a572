"""Every figure in the tables of the book is that of a result file."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import league_folder
from halflife.bench import league
from halflife.recordings.histories import load
from lab import result_histories, results, resumed_league
from lab.result_commands import PRINTED, PrintedFigure
from lab.result_pages import (
    END,
    MEASURED,
    figures,
    looked_up,
    marks,
    rendered,
    unbacked_claims,
    unbacked_rows,
    wrong_marks,
)
from lab.result_tables import TABLES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
FILES = sorted(RESULTS.glob("*.json"))


@pytest.mark.parametrize("page", results.PAGES)
def test_marked_figures_are_those_of_the_files(page):
    assert list(wrong_marks((ROOT / page).read_text(), RESULTS)) == []


@pytest.mark.parametrize("page", results.PAGES)
def test_enclosed_tables_are_those_that_the_files_make(page):
    text = (ROOT / page).read_text()
    assert rendered(text, RESULTS, TABLES) == text


def test_the_picture_of_the_league_is_drawn_from_its_file():
    assert (ROOT / results.PICTURE).read_text() == results.league_picture(RESULTS)


@pytest.mark.parametrize("page", results.CHECKED)
def test_no_table_claims_a_figure_without_a_result(page):
    assert list(unbacked_rows((ROOT / page).read_text())) == []


def test_every_figure_of_the_figures_names_a_result_or_the_command_that_prints_it():
    text = (ROOT / "docs/figures.md").read_text()
    assert list(unbacked_claims(text)) == []
    for heading in re.findall(r"^## (.+)$", text, re.MULTILINE):
        assert heading.count("`") >= 2, "a heading names the command of its section"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_result_says_how_it_was_measured_or_that_it_was_not(path):
    told = json.loads(path.read_text())
    assert told["figure"] == path.stem
    assert told["command"]
    assert told["status"] == MEASURED
    assert path.stem in results.FIGURES
    assert {"halflife", "commit", "python", "numpy"} <= told["made_by"].keys()
    assert "seed" in told
    assert told["data"]["kind"] in ("recorded", "made")
    if told["data"]["kind"] == "recorded":
        assert told["data"]["part"]
        assert all(len(one) == 64 for one in told["data"]["sha256"].values())


def test_every_figure_has_a_file():
    known = {path.stem for path in FILES}
    assert known == {*results.FIGURES}


TOLD = {
    "status": MEASURED,
    "rows": [
        {"policy": "a", "budget": 0.5, "mean": 0.921, "gain": {"low": -0.004}},
        {"policy": "b", "budget": 0.5, "mean": 0.5},
    ],
}
GOOD = (
    "At 0.5 it keeps 92.1 % [−0.4]"  # noqa: RUF001  (as pages write it)
    "<!-- result: x.json#rows[policy=a].budget as .1f; .mean as 100*.1f;"
    " .gain.low as 100*+.1f -->"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(TOLD))
    (tmp_path / "later.json").write_text(json.dumps({"status": "not yet measured"}))
    return tmp_path


def test_a_figure_that_differs_from_the_file_is_found(folder):
    assert list(wrong_marks(GOOD, folder)) == []
    (wrong,) = wrong_marks(GOOD.replace("92.1", "92.2"), folder)
    assert "has ['0.5', '92.1', '-0.4'], the page ['0.5', '92.2', '-0.4']" in wrong


def test_marks_of_files_that_are_not_there_or_not_measured_are_found(folder):
    (wrong,) = wrong_marks("1.5<!-- result: y.json#rows -->", folder)
    assert wrong == "results/y.json is not there"
    (wrong,) = wrong_marks("1.5<!-- result: later.json#rows -->", folder)
    assert "is not measured" in wrong


def test_rows_without_a_mark_are_found():
    row = "| uniform | 0.91 |"
    assert list(unbacked_rows(f"## A\n{row}\n")) == [row]
    assert list(unbacked_rows(f"## A\n<!-- result: x.json -->\n{row}\n")) == []
    later = f"## A\n<!-- result: x.json -->\n## B\n{row}\n"
    assert list(unbacked_rows(later)) == [row]
    block = f"<!-- result: x.json table=standings -->\n{row}\n{END}\n{row}\n"
    assert list(unbacked_rows(block)) == [row]
    assert list(unbacked_rows("| 3 sites | `0.5` |\n")) == []


def test_sentences_that_claim_a_figure_of_nowhere_are_found():
    claim = "It takes 1.6 s, and keeps 92 %."
    assert list(unbacked_claims(f"## A\n{claim}\n")) == [claim]
    assert list(unbacked_claims(f"## A: `make x`\n{claim}\n")) == []
    mark = "<!-- result: x.json table=t -->"
    table = f"{mark}\n| 0.5 |\n{END}\n"
    assert list(unbacked_claims(f"## A: `make x`\n{table}\n{claim}\n")) == [claim]
    own = f"`python -m lab.y`: {claim}"
    assert list(unbacked_claims(f"## A\n{table}\n{own}\n")) == []
    marked = f"{claim}<!-- result: x.json#rows as .0f -->"
    assert list(unbacked_claims(f"## A\n{table}\n{marked}\n")) == []
    points = f"- {claim}\n- {own}"
    assert list(unbacked_claims(f"## A\n{points}\n")) == [f"- {claim}"]
    assert list(unbacked_claims("## A\nWith 95 % bounds, on 73 sites.\n")) == []


def test_coverage_counts_as_near_within_two_points_where_something_is_lost():
    rows = [
        {"metric": metric, "coverage": coverage, "mae": mae}
        for metric, coverage, mae in (
            ("precision", 0.93, 0.01),
            ("precision", 0.971, 0.01),
            ("precision", 1.0, 0.0),
            ("recall", 0.95, 0.01),
        )
    ]
    assert result_histories.within(rows) == {
        "precision": {"sources": 2, "within": 1, "above": 1},
        "recall": {"sources": 1, "within": 1, "above": 0},
    }


def test_what_was_read_is_known_by_its_place_and_its_hash(tmp_path):
    (tmp_path / "objects" / "a").mkdir(parents=True)
    (tmp_path / "objects" / "a" / "x.parquet").write_bytes(b"x")
    (place, digest), *more = result_histories.hashes(
        tmp_path, "objects/*/*.parquet", "sites/*"
    ).items()
    assert place == "objects/a/x.parquet"
    assert digest == hashlib.sha256(b"x").hexdigest()
    assert not more


def test_names_of_a_study_become_names_that_a_page_can_point_at():
    row = {"budget": 30.0, "less equal shares": {"mean": 0.02}}
    plain = result_histories.plain(row)
    assert looked_up(plain, "less_equal_shares.mean as 100*+.1f") == "+2.0"


def test_tables_are_made_again_and_the_rest_of_a_page_is_left_alone(folder):
    page = f"before\n<!-- result: x.json table=t -->\nold\n{END}\nafter 1.5\n"
    page += "<!-- result: later.json table=t -->\nnot measured\n" + END
    made = rendered(page, folder, {"t": lambda told: f"| {told['rows'][1]['mean']} |"})
    assert made == page.replace("old", "| 0.5 |")
    assert rendered(made, folder, {"t": lambda _: "| 0.5 |"}) == made


def test_marked_figures_are_renewed_and_others_are_left_alone(folder):
    assert rendered(GOOD, folder, {}) == GOOD
    stale = GOOD.replace("92.1", "11.5").replace("0.4]", "7]")
    assert rendered(f"On 3 sites: {stale}", folder, {}) == f"On 3 sites: {GOOD}"


def test_figures_and_paths_are_read_as_they_are_written():
    assert figures("51 489 pages, 0.5 %, `1.0`, [x](a1.md)") == ["51489", "0.5"]
    assert looked_up(TOLD, "rows[policy=b,budget=0.5].mean as .2f") == "0.50"
    with pytest.raises(KeyError, match="no row with policy=c"):
        looked_up(TOLD, "rows[policy=c].mean")
    (mark,) = marks("<!-- result: x.json#rows[policy=a].mean as .1f; .budget -->")
    assert mark.paths == ("rows[policy=a].mean as .1f", "rows[policy=a].budget")


def test_a_league_that_was_cut_short_goes_on_where_it_was(tmp_path):
    memory = resumed_league.Memory(tmp_path / "m", "about")
    made = []

    def make():
        made.append(1)
        return [1.5]

    assert memory.recall("job", make) == memory.recall("job", make) == [1.5]
    assert made == [1]
    other = resumed_league.Memory(tmp_path / "m", "other data")
    assert other.recall("job", make) == [1.5]
    assert made == [1, 1]


def test_a_resumed_league_is_the_league(tmp_path):
    recorded = load(league_folder.many_sites(tmp_path, sites=5, pages=3), days=360.0)
    rules = league.LeagueRules((0.05,), seeds=1)
    names = ("uniform", "age")
    memory = resumed_league.Memory(tmp_path / "m", "x")
    told = []
    first = resumed_league.rows(recorded, names, rules, memory, told.append)
    again = resumed_league.rows(recorded, names, rules, memory, told.append)
    assert told == ["uniform at 5.0%", "age at 5.0%"]
    plain = league.compare(recorded, names, rules, lambda *_: None)
    assert first == again == plain


def test_figures_that_need_recorded_histories_are_left_alone_without(tmp_path, capsys):
    assert (
        results.main(["--only", "league", "--out", str(tmp_path), "--measure-only"])
        == 0
    )
    assert "league: needs recorded histories" in capsys.readouterr().err
    assert not (tmp_path / "league.json").exists()
    assert results.main(["--only", "nothing"]) == 2


def test_what_a_command_prints_becomes_rows_and_a_table():
    figure = PrintedFigure("halflife bench allocate --items 2000 --json", "few pages")
    told = figure.measure()
    assert told["data"] == {"kind": "made", "part": "few pages"}
    (row,) = told["rows"]
    assert row["kkt_residual"] < 1e-6
    shown = TABLES["allocate"](told)
    assert f"| processor seconds | {row['processor_seconds']:.2f} |\n" in shown


def test_every_result_is_shown_on_a_page():
    texts = [(ROOT / page).read_text() for page in results.PAGES]
    shown = {Path(mark.file).stem for text in texts for mark in marks(text)}
    assert shown == {*results.FIGURES}


def test_every_figure_that_a_command_prints_has_a_real_command():
    for one in PRINTED.values():
        script = one.command.split()[1]
        assert not script.endswith(".py") or (ROOT / script).is_file()


def test_a_figure_of_two_programs_is_shown_side_by_side():
    paces = {"pages_per_cpu_s": 1846.0}
    row = {
        "halflife": paces,
        "halflife_keeping": {"pages_per_cpu_s": 1107.0},
        "scrapy": {"pages_per_cpu_s": 173.0},
        "halflife_to_scrapy": 9.4,
        "halflife_keeping_to_scrapy": 6.4,
    }
    shown = TABLES["fetch"]({"rows": [row]}).splitlines()
    assert shown[2] == "| halflife, observations only | 1846 | 9.4× |"  # noqa: RUF001
    assert shown[-1] == "| Scrapy | 173 | 1 |"
