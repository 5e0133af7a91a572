"""The web page of a source of pages."""

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
MOST = 2000  # pages whose observations are plotted
FEW = 5  # observations below which a page's rate comes mostly from its site
QUICK = 200_000  # most pages for which the chance of a change is computed for each
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


def page(request: PageRequest[PagesConfig]) -> PageView:
    """Return the pages that are most likely out of date, and their observations."""
    panorama = request.panorama
    if not isinstance(panorama, PagesPanorama):
        return PageView()
    rows = panorama.rows_of(request.source.name)
    if not rows.size:
        return PageView()
    view, evidence = panorama.outlook.view, panorama.outlook.evidence
    stale, rate = _stale(panorama, rows), view.rate[rows]
    order = np.argsort(-np.where(np.isnan(stale), rate, stale), kind="stable")
    pages = max(1, -(-rows.size // PAGE))
    number = min(max(request.number, 1), pages)
    shown = order[(number - 1) * PAGE : number * PAGE]
    is_small = rows.size <= item_groups.MANY
    keys = [view.keys[int(row)] for row in rows] if is_small else []
    failing = panorama.standings[request.source.name].failing
    fetches, changes = view.looks[rows], view.changes[rows]
    return PageView(
        card=_card(rate, fetches, changes, failing),
        columns=COLUMNS,
        items=_items(request.reading.store, panorama, rows[shown], stale[shown]),
        number=number,
        pages=pages,
        parts=LinkedParts(
            "folder", GROUP_COLUMNS, item_groups.of_pages(keys, rate, stale)
        ),
        timelines=_observed(request.reading.store, evidence.number[rows], view.now),
        failures=_failures(request.reading.store, evidence.number[rows], view.now),
    )


def _stale(panorama: PagesPanorama, rows: Ints) -> Floats:
    """Return the chance that each page has changed; nan if there are too many pages."""
    view = panorama.outlook.view
    held = view.held[rows]
    if len(view) > QUICK:
        return np.where(held, np.nan, 1.0)
    alive = view.survival.alive(np.where(view.held, view.exposure, 0.0))[rows]
    return np.where(held, 1.0 - alive, 1.0)


def _items(
    store: Store, panorama: PagesPanorama, rows: Ints, stale: Floats
) -> list[Row]:
    view, evidence = panorama.outlook.view, panorama.outlook.evidence
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


def _card(rate: Floats, fetches: Ints, changes: Ints, failing: int) -> list[str]:
    """Describe the belief about pages in plain sentences."""
    if not fetches.sum() and failing:
        pages = count(failing, "page")
        return [f"No fetch has succeeded yet: the last one failed for {pages}."]
    if not fetches.sum():
        return ["No page was fetched yet, so nothing is known about their changes."]
    low, middle, high = np.quantile(rate, [0.1, 0.5, 0.9]).tolist()
    quiet = int(np.count_nonzero(changes == 0))
    rare = int(np.count_nonzero(fetches < FEW))
    sentences = [
        (
            f"A typical page changes about every {span(1.0 / middle)}: "
            f"{count(int(changes.sum()), 'change')} found in "
            f"{count(int(fetches.sum()), 'observation')} of "
            f"{count(rate.size, 'page')}."
        ),
    ]
    if rate.size >= FEW:
        sentences.append(
            f"One page in ten changes more often than every {span(1.0 / high)}, one in "
            f"ten less often than every {span(1.0 / low)}."
        )
    if rare:
        sentences.append(
            f"Prior: {count(rare, 'page')} had fewer than {FEW} observations; "
            "how often such a page changes is mostly taken from the other pages of its "
            "site."
        )
    if quiet:
        sentences.append(
            f"Prior: {count(quiet, 'page')} never changed while observed; that the "
            "rate is small and not 0 is an assumption."
        )
    if failing:
        sentences.append(
            f"The last fetch failed for {count(failing, 'page')}; these are "
            "tried less often."
        )
    return sentences


def _failures(store: Store, numbers: Ints, now: float) -> list[RunFailure]:
    """Return the failures in runs of the last days, with their number."""
    sample = numbers[numbers >= 0][:MOST].tolist()
    failures: dict[tuple[int, str], RunFailure] = {}
    for failure in store.reports.failures(sample, now - DAYS):
        before = failures.get((failure.run, failure.note))
        times = 1 if before is None else before.times + 1
        failures[failure.run, failure.note] = RunFailure(
            failure.run, failure.at, failure.note, times
        )
    return list(failures.values())


def _observed(store: Store, numbers: Ints, now: float) -> list[Timeline]:
    """Return the fetches and changes of each of the last days."""
    sample = numbers[numbers >= 0][:MOST]
    observations = store.reports.observations(
        sample.tolist(), math.floor(now) - DAYS + 1.0
    )
    if not observations:
        return []
    at = np.array([moment for _, moment, _ in observations])
    changed = np.array([change for *_, change in observations])
    days = last_days(float(at.min()), now)
    fetches, changes = daily(at, days), daily(at[changed], days)
    title = "Fetches and changes found"
    if numbers.size > MOST:
        title += f" (of {MOST} pages)"
    counts = {"fetches without a change": fetches - changes, "changes found": changes}
    return [Timeline(title, counts, days)]
