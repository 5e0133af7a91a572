"""A whole study: one page, and a table for each of its figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, overload
from zlib import crc32

import numpy as np

from halflife import __version__
from halflife.core import notebook
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection
from halflife.models.census import Census
from halflife.models.pool import Study
from halflife.models.setquality import days_until_below, forecast
from halflife.study import decays, empirical, flows, lifespans, svg, verdicts
from halflife.study.decays import ForecastBand
from halflife.study.figures import StudyFigure, as_csv
from halflife.study.page import StudyPage, html
from halflife.study.phrases import day, many, stretch

Advance: TypeAlias = Callable[[int, str], None]
STEPS = 7
CONFIDENCE = 0.95
LEVEL = 0.9  # of precision and recall, in the headline
PAGE = "index.html"


@dataclass(frozen=True, slots=True)
class StudyFiles(Sequence[tuple[Path, str]]):
    """The files of a study with their titles, the page first.

    Attributes:
        files: Their paths and titles.
        page: The content of the page.

    """

    files: tuple[tuple[Path, str], ...]
    page: StudyPage

    @overload
    def __getitem__(self, at: int) -> tuple[Path, str]: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[tuple[Path, str], ...]: ...
    def __getitem__(
        self, at: int | slice
    ) -> tuple[Path, str] | tuple[tuple[Path, str], ...]:
        return self.files[at]

    def __len__(self) -> int:
        return len(self.files)

    def plot(self, name: str = "decay") -> str:
        """Return the first chart of a figure as a self-contained SVG."""
        return self._drawn(name)[0]

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the facts, and how fast a copy decays."""
        head = f"<h3>{svg.text(self.page.title)}</h3><p>{svg.text(self.page.lead)}</p>"
        facts = notebook.table(["", "value", "remark"], self.page.facts)
        return head + facts + "".join(self._drawn("decay"))

    def _drawn(self, name: str) -> list[str]:
        figures = {figure.name: figure for figure in self.page.figures}
        if name not in figures:
            raise UsageError(
                f"the study has no figure {name!r}; it has {', '.join(figures)}"
            )
        # Other studies may be in the same notebook, so ids have a prefix of their own.
        own = f"s{crc32(self.page.lead.encode(errors='replace')):08x}"
        charts = figures[name].charts
        return [
            svg.alone(draw(f"{own}-{name}-{k + 1}"))
            for k, (_, draw) in enumerate(charts)
        ]


def study(
    collection: Collection,
    out: Path,
    *,
    by: str | None = None,
    advance: Advance = lambda _done, _step: None,
) -> StudyFiles:
    """Write the study of a set source into a folder; return its files.

    ``by`` is the attribute whose categories are compared; by default that whose
    categories differ most in their lifetimes. Raise ``UsageError`` if there is
    nothing to study.
    """
    if collection.looks.size < 3 or not len(collection.lives):
        raise UsageError(
            f"{collection.name}: a study needs three snapshots and an object"
        )
    figures = _figures(collection, _attribute(collection, by), advance)
    page = StudyPage(
        f"{collection.name}: how it changes",
        _lead(collection),
        _facts(collection),
        figures,
        _notes(),
    )
    out.mkdir(parents=True, exist_ok=True)
    files = [(PAGE, page.title, html(page))]
    files += [(f"{f.name}.csv", f.title, as_csv(f.table)) for f in figures if f.table]
    for name, _, body in files:
        (out / name).write_text(body, encoding="utf-8", errors="replace", newline="")
    return StudyFiles(tuple((out / name, title) for name, title, _ in files), page)


def _attribute(collection: Collection, by: str | None) -> str | None:
    known = collection.lives.attributes
    if by is not None and by not in known:
        names = ", ".join(known) or "none"
        raise UsageError(f"--by: objects have no attribute {by!r}; they have {names}")
    return by or empirical.attribute(collection)


def cast(collection: Collection, now: float, ahead: Floats) -> dict[str, ForecastBand]:
    """Return the forecast from the history until ``now``.

    Forecasts are made at some of the moments, denser at the beginning; between them
    the logarithm of the quality is interpolated.
    """
    rows = decays.knots(ahead)
    found = forecast(collection.until(now), now, ahead[rows].tolist(), CONFIDENCE)

    def between(values: Floats) -> Floats:
        logs = np.log(np.maximum(values, 1e-6))
        return np.exp(np.interp(ahead, ahead[rows], logs))

    return {
        metric: ForecastBand(*(between(bound) for bound in band))
        for metric, band in (("precision", found.precision), ("recall", found.recall))
    }


def _figures(
    collection: Collection, by: str | None, advance: Advance
) -> list[StudyFigure]:
    known = Study(Census.of(collection))
    steps: list[tuple[str, Callable[[], StudyFigure]]] = [
        ("decay", lambda: decays.by_source(collection, known)),
        ("dates", lambda: decays.by_date(collection, cast)),
        ("arrivals", lambda: flows.arrivals_figure(collection)),
        ("lifetimes", lambda: lifespans.survival_figure(collection)),
        ("groups", lambda: flows.groups_figure(collection, np.random.default_rng(0))),
        ("forecasts", lambda: verdicts.figure(collection, known, CONFIDENCE)),
    ]
    if by is not None:
        steps.insert(1, ("categories", lambda: decays.by_category(collection, by)))
    figures = []
    for step, make in steps:
        figures.append(make())
        advance(1, step)
    return figures


def _lead(collection: Collection) -> str:
    taken, lives = collection.looks, collection.lives
    objects = int(lives.object.max(initial=-1)) + 1
    gap = stretch(empirical.unit(collection))
    return (
        f"{many(objects)} objects, seen in {many(taken.size)} snapshots of the whole "
        f"source from {day(taken[0])} to {day(taken[-1])}, usually {gap} apart. The "
        "study shows how fast a copy of it goes out of date, why, and how well that "
        "can be predicted."
    )


def _facts(collection: Collection) -> list[tuple[str, str, str]]:
    taken, lives = collection.looks, collection.lives
    now, days = float(taken[-1]), float(taken[-1] - taken[0])
    came = int((~lives.truncated).sum())
    facts = [
        ("Objects now", many(collection.held(now).size), f"at {day(now)}"),
        ("Came", f"{came / days:.3g} a day", f"{many(came)} in all"),
        (
            "Went",
            f"{lives.ended.sum() / days:.3g} a day",
            f"{many(lives.ended.sum())} in all",
        ),
        ("Changed", f"{collection.changed.size / days:.3g} a day", "new versions seen"),
    ]
    for metric in ("precision", "recall"):
        wait = days_until_below(collection, now, metric, LEVEL, CONFIDENCE)
        when_due = "never" if wait is None else f"in {stretch(wait)}"
        remark = f"to keep {metric} ≥ 90 %, at 95 % confidence"
        facts.append(("Sync", when_due, remark))
    return facts


def _notes() -> list[str]:
    return [
        f"{line}."
        for line in (
            "Precision is the share of the copy that the source still has",
            "Recall is the share of the source that the copy has",
            "An object came between the last snapshot without it and the first with it",
            "Objects of the first snapshot did not come, those of the last did not go",
            f"Made by halflife {__version__}; this page loads nothing from other hosts",
        )
    ]
