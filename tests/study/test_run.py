"""A study is one page that stands alone, with the numbers of its pictures beside it."""

import csv
import re

import numpy as np
import pytest
from lxml import etree, html

from halflife.core.errors import UsageError
from halflife.study import run
from set_lives import grown, seen

HOSTILE = '"><script>alert(1)</script>\x00&'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    source = grown(
        np.random.default_rng(5), [0.04, 0.3], days=50, values=[HOSTILE, "=1+1"]
    )
    out = tmp_path_factory.mktemp("study")
    said = []
    files = run.study(source, out, advance=lambda done, word: said.append(word))
    assert len(said) == run.STEPS
    return files


@pytest.fixture(scope="module")
def page(made):
    return made[0][0].read_text(encoding="utf-8")


def test_every_figure_is_there_with_its_table(made, page):
    names = [path.name for path, _ in made]
    assert names[0] == "index.html"
    assert {
        "decay.csv", "decay-by-category.csv", "decay-by-date.csv", "arrivals.csv",
        "survival.csv", "groups.csv", "forecasts.csv",
    } == set(names[1:])  # fmt: skip
    tree = html.document_fromstring(page)
    ids = tree.xpath("//@id")
    assert len(set(ids)) == len(ids)
    for link in tree.xpath("//a/@href"):
        assert link.lstrip("#") in {*ids, *names}


def test_every_picture_is_well_formed_and_says_what_it_shows(page):
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) >= 12
    for picture in pictures:
        tree = etree.fromstring(picture.encode())
        assert len(tree.findtext("{*}title")) > 5
        assert len(tree.findtext("{*}desc")) > 20
        for path in tree.iter("{*}path"):
            assert not re.search("nan|inf", path.get("d").lower())


def test_nothing_is_asked_of_another_machine(page):
    stripped = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//[a-z]|src=|@import|url\((?!#)", stripped)
    assert "default-src 'none'" in page


def test_hostile_names_are_text(page):
    assert "<script" not in page
    assert "\x00" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_tables_hold_numbers_and_no_formulas(made):
    for path, _ in made[1:]:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
        for value in (cell for row in rows for cell in row):
            assert value.lower() not in {"nan", "inf", "-inf"}
            assert not value.startswith(("=", "@", "+"))


def test_a_notebook_shows_the_facts_and_the_decay_and_runs_nothing(made):
    shown = made._repr_html_()
    tree = html.fromstring(f"<div>{shown}</div>")
    assert tree.findtext("h3") == made.page.title
    facts = [[c.text_content() for c in row] for row in tree.findall(".//tbody/tr")]
    assert facts == [list(fact) for fact in made.page.facts]
    ids = tree.xpath("//@id")
    assert len(set(ids)) == len(ids)
    assert len(tree.xpath("//svg")) == 2
    assert "<script" not in shown
    assert "prefers-color-scheme:dark" in shown


def test_every_figure_can_be_drawn_alone(made):
    for figure in made.page.figures:
        if figure.charts:
            drawn = etree.fromstring(made.plot(figure.name).encode())
            assert "prefers-color-scheme:dark" in drawn.findtext("{*}style")
            assert drawn.findtext("{*}title")
    assert made.plot() == made.plot("decay")
    with pytest.raises(UsageError, match="no figure 'nix'; it has decay, "):
        made.plot("nix")


def test_hostile_names_are_text_in_a_notebook_too(tmp_path):
    looks, born = np.arange(9.0), np.arange(0.0, 8.0, 0.1)
    source = seen(HOSTILE, looks, born, born + 3.0, {})
    assert "<script" not in run.study(source, tmp_path)._repr_html_()


def test_light_dark_and_paper_are_thought_of(page):
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert '<html lang="en">' in page


@pytest.mark.parametrize(
    ("born", "died"),
    [
        (np.zeros(40), np.full(40, 99.0)),  # nobody comes, nobody goes
        (np.arange(0.0, 8.0, 0.1), np.full(80, 99.0)),  # nobody goes
        (np.zeros(40), np.full(40, 4.5)),  # all go at once
        (np.array([0.0]), np.array([99.0])),  # a single one
        (np.arange(0.0, 8.0, 0.1), np.arange(0.0, 8.0, 0.1) + 0.5),  # all are short
    ],
)
def test_degenerate_sources_are_studied_too(born, died, tmp_path):
    source = seen("s", np.arange(9.0), born, died, {"a": np.array(["x"] * born.size)})
    files = run.study(source, tmp_path)
    assert files[0][0].exists()


def test_too_little_to_study_is_said(tmp_path):
    source = seen("s", np.arange(2.0), np.zeros(3), np.full(3, 9.0), {})
    with pytest.raises(UsageError, match="three snapshots"):
        run.study(source, tmp_path)
    some = seen("s", np.arange(9.0), np.zeros(3), np.full(3, 9.0), {})
    with pytest.raises(UsageError, match="no attribute 'b'"):
        run.study(some, tmp_path, by="b")
