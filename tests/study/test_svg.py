"""Charts are well-formed, finite and harmless, whatever is drawn on them."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st
from lxml import etree

from halflife.study import svg
from halflife.study.axes import linear, percent
from halflife.study.marks import BandMark, Bars, LineMark, Points

HOSTILE = '</svg><script>alert("1")</script>&amp;\x00\x1b[31m\ud800\uffff]]>'
NS = "{http://www.w3.org/2000/svg}"

numbers = st.floats(width=32) | st.sampled_from([np.nan, np.inf, -np.inf, 1e300])
columns = st.integers(0, 12).flatmap(
    lambda n: st.tuples(
        *[st.lists(numbers, min_size=n, max_size=n).map(np.array) for _ in range(3)]
    )
)


def read(picture):
    return etree.fromstring(picture.encode())


def drawn(*marks, title="t", about="d"):
    chart = svg.Chart(title, about, linear("x", 0, 10), percent("y"), marks)
    return svg.chart(chart, "c1", styled=True)


def every_mark(a, b, c, name=""):
    return (
        LineMark(a, b, name),
        LineMark(a, b, name, steps=True, dash=1),
        BandMark(a, b, c, name, steps=True),
        BandMark(a, b, c, name),
        Bars(a, b, c, name),
        Points(a, b, name, low=b, high=c),
        Points(a, b, name, hollow=True),
    )


@given(columns)
def test_any_numbers_give_well_formed_finite_paths(values):
    picture = drawn(*every_mark(*values))
    read(picture)
    for said in re.findall(r' (?:d|x|y|cx|cy|width|height)="([^"]*)"', picture):
        assert not re.search("nan|inf|e[+-]", said.lower()), said


@given(st.text(), st.text(), st.text())
def test_any_text_is_escaped(title, about, name):
    x = np.arange(3.0)
    read(drawn(*every_mark(x, x, x, name), title=title, about=about))


def test_hostile_names_stay_text():
    x = np.arange(3.0)
    picture = drawn(LineMark(x, x, HOSTILE), title=HOSTILE, about=HOSTILE)
    tree = read(picture)
    assert not list(tree.iter(f"{NS}script"))
    assert 'alert("1")' in tree.findtext(f"{NS}title")
    assert "\x1b" not in picture


def test_a_chart_says_what_it_shows():
    tree = read(drawn(title="Decay", about="It falls."))
    assert tree.get("role") == "img"
    title, desc = tree.find(f"{NS}title"), tree.find(f"{NS}desc")
    assert (title.text, desc.text) == ("Decay", "It falls.")
    assert tree.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]


def test_values_stand_where_the_axes_say():
    tree = read(drawn(Points(np.array([0.0, 10.0]), np.array([0.0, 1.0]))))
    first, last = tree.iter(f"{NS}circle")
    assert float(first.get("cx")) == svg.LEFT
    assert float(last.get("cx")) == svg.WIDTH - svg.RIGHT
    assert float(first.get("cy")) - float(last.get("cy")) == pytest.approx(
        svg.HEIGHT - svg.TOP - svg.BOTTOM - svg.LEGEND_LINE
    )


def test_what_is_not_a_number_leaves_a_hole():
    y = np.array([0.1, np.nan, 0.3, 0.4])
    picture = drawn(LineMark(np.arange(4.0), y))
    path = re.search(r'class="line t0 d0" d="([^"]*)"', picture)[1]
    assert path.count("M") == 2
    assert path.count("L") == 1


def test_steps_hold_until_the_next_value():
    picture = drawn(LineMark(np.array([0.0, 10.0]), np.array([1.0, 0.0]), steps=True))
    path = re.search(r'class="line t0 d0" d="M([^"]*)"', picture)[1]
    corners = [tuple(map(float, p.split())) for p in path.split("L")]
    assert len(corners) == 3
    assert corners[0][1] == corners[1][1]
    assert corners[1][0] == corners[2][0]


def test_a_long_legend_takes_several_lines_and_none_is_lost():
    x = np.arange(2.0)
    names = [f"a category with a long name {k}" for k in range(7)]
    tree = read(drawn(*(LineMark(x, x, n, k) for k, n in enumerate(names))))
    words = {t.text: t for t in tree.iter(f"{NS}text")}
    assert set(names) <= set(words)
    assert len({words[n].get("y") for n in names}) > 1
    assert all(float(words[n].get("x")) < svg.WIDTH - 60 for n in names)


def _contrast(one, other):
    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        line = [
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return 0.2126 * line[0] + 0.7152 * line[1] + 0.0722 * line[2]

    a, b = sorted((light(one), light(other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


@pytest.mark.parametrize(
    ("tones", "ground"), [(svg.LIGHT, "#ffffff"), (svg.DARK, "#0f141a")]
)
def test_every_tone_stands_out_from_the_ground(tones, ground):
    assert min(_contrast(tone, ground) for tone in tones) >= 3.0  # WCAG 2.2, 1.4.11


def test_the_largest_of_nothing_is_the_least():
    assert svg.highest(np.array([]), np.array([np.nan]), least=2.0) == 2.0
    assert svg.highest(np.array([1.0, np.inf, 5.0])) == 5.0


def test_dots_at_the_edge_are_seen_whole_and_those_beyond_it_not_at_all():
    x = np.array([0.0, 5.0, 10.0, 11.0])
    y = np.array([0.0, 0.5, 1.0, 0.5])
    tree = read(drawn(Points(x, y)))
    assert len(tree.findall(f"{NS}circle")) == 3  # not within what is cut off
    assert tree.findall(f".//{NS}g//{NS}circle") == []


def test_a_label_stands_on_the_side_where_there_is_room():
    x, y = np.array([1.0, 10.0]), np.array([0.5, 0.5])
    tree = read(drawn(Points(x, y, labels=("12", HOSTILE))))
    first = tree.findall(f".//{NS}text[@class='count']")
    (last,) = tree.findall(f".//{NS}text[@class='count end']")
    assert first[0].text == "12"
    dots = [float(dot.get("cx")) for dot in tree.findall(f"{NS}circle")]
    assert float(first[0].get("x")) > dots[0]
    assert float(last.get("x")) < dots[1]


@pytest.mark.parametrize("wide", [320.0, 640.0])
def test_a_chart_is_drawn_as_wide_as_it_is_asked_for(wide):
    x = np.arange(11.0)
    chart = svg.Chart(
        "t", "d", linear("x", 0, 10), percent("y"), (LineMark(x, x / 10),)
    )
    tree = read(svg.chart(chart, "c", size=(wide, 300.0)))
    assert tree.get("width") == f"{wide:g}"
    for line in tree.iter(f"{NS}path"):
        assert max(map(float, re.findall(r"[\d.]+", line.get("d")))) <= wide
