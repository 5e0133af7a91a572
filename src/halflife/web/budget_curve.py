"""The curve of quality against the budget: on the page, and as a picture to share."""

import math

import numpy as np

from halflife.core.arrays import Floats
from halflife.study import svg
from halflife.study.axes import logarithmic, percent
from halflife.study.marks import LineMark, Mark, Points
from halflife.study.svg import Chart
from halflife.web import words

HEAD = 54.0  # px above a standalone chart, for its title
LINE = 88  # characters of the line under its title


def draw(
    budgets: Floats, total: Floats, now: tuple[float, float], then: tuple[float, float]
) -> Chart:
    """Return the total quality against the requests a day, with two budgets marked.

    The axis of requests is logarithmic, so that the knee shows: the budget above which
    more requests buy little.
    """
    floor = min(0.1 * math.floor(10.0 * float(total.min())), 0.9)
    marks: list[Mark] = [
        LineMark(budgets, total, "best quality in all"),
        Points(np.array([now[0]]), np.array([now[1]]), "budget now", 6),
    ]
    about = (
        f"{words.count(now[0])} requests a day buy a quality of {words.share(now[1])}"
    )
    if then[0] != now[0]:
        imagined = np.array([then[0]]), np.array([then[1]])
        marks.append(Points(*imagined, "budget to try", 1))
        about += f"; {words.count(then[0])} would buy {words.share(then[1])}"
    low = min(float(budgets[0]), now[0], then[0])
    return Chart(
        "What a budget buys",
        f"{about}.",
        logarithmic("requests a day", low, float(budgets[-1])),
        percent("mean quality", floor, 1.0),
        tuple(marks),
    )


def picture(chart: Chart) -> str:
    """Return a chart as a standalone SVG file, with its title above it."""
    inner = svg.chart(chart, "shared")
    box = inner.split('viewBox="0 0 ')[1].split('"')[0]
    wide, high = (float(side) for side in box.split())
    parts = (
        (
            f'<rect width="{svg.number(wide)}" height="{svg.number(high + HEAD)}" '
            'fill="var(--ground)"/>'
        ),
        f'<text x="12" y="24" font-weight="650">{svg.text(chart.title)}</text>',
        f'<text x="12" y="44">{svg.text(chart.about[:LINE])}</text>',
        inner.replace("<svg ", f'<svg y="{svg.number(HEAD)}" ', 1),
    )
    return svg.element(
        "picture",
        chart.title,
        chart.about,
        parts,
        size=(wide, high + HEAD),
        styled=True,
    )
