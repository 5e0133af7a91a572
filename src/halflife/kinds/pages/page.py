"""What the page of a source of pages shows."""

import math

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.wording import count, span
from halflife.kinds import item_groups
from halflife.kinds.daily_counts import DAYS, daily, last_days
from halflife.kinds.page_view import (
    LinkedParts,
    PageRequest,
    PageView,
    Row,
    RunFailure,
    TableColumn,
    Timeline,
)
from halflife.kinds.pages.panorama import PagesPanorama
from halflife.kinds.pages.settings import PagesConfig
from halflife.stores import Store

PAGE = 25  # items at a time
MOST = 2000  # pages of which observations are drawn
FEW = 5  # observations of a page below which its site says more than it does
QUICK = 200_000  # pages up to which the chance of a change is computed for each
COLUMNS = (
    TableColumn("item", "page", "address"),
    TableColumn("changed", "chance it has changed", "share", "has changed"),
    TableColumn("rate", "changes a day", "number"),
    TableColumn("looks", "fetches", "number"),
    TableColumn("changes", "changes", "number"),
    TableColumn("last_look", "last fetch", "moment"),
    TableColumn("held", "copy", "copy"),
)
GROUP_COLUMNS = (
    TableColumn("rate", "changes a day", "number"),
    TableColumn("changed", "chance of a change since", "share", "changed"),
)


def page(asked: PageRequest[PagesConfig]) -> PageView:
    """Return the pages that are likeliest out of date, and what was seen of them."""
    wide = asked.panorama
    if not isinstance(wide, PagesPanorama):
        return PageView()
    rows = wide.rows_of(asked.source.name)
    if not rows.size:
        return PageView()
    view, evidence = wide.outlook.view, wide.outlook.evidence
    stale, rate = _stale(wide, rows), view.rate[rows]
    order = np.argsort(-np.where(np.isnan(stale), rate, stale), kind="stable")
    pages = max(1, -(-rows.size // PAGE))
    number = min(max(asked.number, 1), pages)
    shown = order[(number - 1) * PAGE : number * PAGE]
    few = rows.size <= item_groups.MANY
    keys = [view.keys[int(row)] for row in rows] if few else []
    failing = wide.standings[asked.source.name].failing
    looks, changes = view.looks[rows], view.changes[rows]
    return PageView(
        card=_card(rate, looks, changes, failing),
        columns=COLUMNS,
        items=_items(asked.reading.store, wide, rows[shown], stale[shown]),
        number=number,
        pages=pages,
        parts=LinkedParts(
            "folder", GROUP_COLUMNS, item_groups.of_pages(keys, rate, stale)
        ),
        timelines=_observed(asked.reading.store, evidence.number[rows], view.now),
        failures=_failures(asked.reading.store, evidence.number[rows], view.now),
    )


def _stale(wide: PagesPanorama, rows: Ints) -> Floats:
    """Return the chance that each page has changed; nan if that takes too long."""
    view = wide.outlook.view
    held = view.held[rows]
    if len(view) > QUICK:
        return np.where(held, np.nan, 1.0)
    alive = view.survival.alive(np.where(view.held, view.exposure, 0.0))[rows]
    return np.where(held, 1.0 - alive, 1.0)


def _items(store: Store, wide: PagesPanorama, rows: Ints, stale: Floats) -> list[Row]:
    view, evidence = wide.outlook.view, wide.outlook.evidence
    last = {
        row: store.failure_notes([(view.keys[row], float(evidence.tried_at[row]))])
        for row in rows[evidence.failures[rows] > 0].tolist()
    }
    return [
        {
            "item": view.keys[row],
            "changed": chance,
            "rate": float(view.rate[row]),
            "looks": int(view.looks[row]),
            "changes": int(view.changes[row]),
            "last_look": float(evidence.last_at[row]),
            "failing": row in last,
            "trouble": next(iter(last.get(row, ())), ""),
            "held": bool(view.held[row]),
        }
        for row, chance in zip(rows.tolist(), stale.tolist(), strict=True)
    ]


def _card(rate: Floats, looks: Ints, changes: Ints, failing: int) -> list[str]:
    """Say what is believed of pages, in plain sentences."""
    if not looks.sum() and failing:
        pages = count(failing, "page")
        return [f"No fetch has succeeded yet: the last one failed for {pages}."]
    if not looks.sum():
        return ["No page was fetched yet; nothing is believed of its pages."]
    low, middle, high = np.quantile(rate, [0.1, 0.5, 0.9]).tolist()
    quiet = int(np.count_nonzero(changes == 0))
    few = int(np.count_nonzero(looks < FEW))
    said = [
        (
            f"A typical page changes about every {span(1.0 / middle)}: "
            f"{count(int(changes.sum()), 'change')} found in "
            f"{count(int(looks.sum()), 'observation')} of "
            f"{count(rate.size, 'page')}."
        ),
    ]
    if rate.size >= FEW:
        said.append(
            f"One page in ten changes more often than every {span(1.0 / high)}, one in "
            f"ten less often than every {span(1.0 / low)}."
        )
    if few:
        said.append(
            f"Prior: {count(few, 'page')} had fewer than {FEW} observations; how often "
            "such a page changes is mostly taken from the other pages of its site."
        )
    if quiet:
        said.append(
            f"Prior: {count(quiet, 'page')} never changed while observed; that the "
            "rate is small and not 0 is an assumption."
        )
    if failing:
        said.append(
            f"The last fetch failed for {count(failing, 'page')}; these are "
            "tried less often."
        )
    return said


def _failures(store: Store, numbers: Ints, now: float) -> list[RunFailure]:
    """Return what failed in runs of the last days, and how often."""
    some = numbers[numbers >= 0][:MOST].tolist()
    found: dict[tuple[int, str], RunFailure] = {}
    for one in store.reports.failures(some, now - DAYS):
        before = found.get((one.run, one.note))
        times = 1 if before is None else before.times + 1
        found[one.run, one.note] = RunFailure(one.run, one.at, one.note, times)
    return list(found.values())


def _observed(store: Store, numbers: Ints, now: float) -> list[Timeline]:
    """Return fetches and changes on each of the last days."""
    some = numbers[numbers >= 0][:MOST]
    found = store.reports.observations(some.tolist(), math.floor(now) - DAYS + 1.0)
    if not found:
        return []
    at = np.array([moment for _, moment, _ in found])
    changed = np.array([change for *_, change in found])
    days = last_days(float(at.min()), now)
    looks, changes = daily(at, days), daily(at[changed], days)
    title = "Fetches, and changes that they found"
    if numbers.size > MOST:
        title += f" (of {MOST} pages)"
    counts = {"fetches without a change": looks - changes, "changes found": changes}
    return [Timeline(title, counts, days)]
