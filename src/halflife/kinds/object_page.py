"""The page of a source of objects: a listing or a form."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halflife.core.lifetimes import Collection
from halflife.core.wording import count, number, span
from halflife.kinds import item_groups
from halflife.kinds.daily_counts import DAYS, daily, last_days
from halflife.kinds.page_view import LinkedParts, PageView, Row, TableColumn, Timeline
from halflife.kinds.protocol import Description
from halflife.models.hindsight import past_recall

SHOWN = 25  # objects
DRAWN = 90  # gaps between full syncs that are drawn one by one
FEW = 5  # with fewer full syncs forecasts rest mostly on the prior
COLUMNS = (
    TableColumn("item", "object", "address"),
    TableColumn("about", "about"),
    TableColumn("last_look", "last seen", "moment"),
)
GROUP_COLUMNS = (
    TableColumn("gone", "gone so far", "number"),
    TableColumn("rate", "share gone a day", "number", "gone a day"),
)


def page(
    collection: Collection, about: Description, now: float, group: str, method: str
) -> PageView:
    """Return the page of its objects: present ones, arrivals, updates and departures.

    ``group`` is the attribute that groups objects, if the settings name one;
    ``method`` says how forecasts are made, in a sentence.
    """
    by, rows = item_groups.of_objects(collection, group)
    lives, reads = collection.lives, collection.looks
    seen = lives.present(float(reads[-1])) if reads.size else ~lives.ended
    there = np.flatnonzero(seen)[:SHOWN].tolist()
    view = PageView(
        columns=COLUMNS,
        items=_rows(collection, there),
        parts=LinkedParts(by, GROUP_COLUMNS, rows),
    )
    if not reads.size:  # without a full read no arrivals or departures are known
        return view
    came = lives.first_seen[lives.first_seen > reads[0]]
    gone = lives.gone_by[lives.ended]
    moments = {"arrived": came, "gone": gone, "updated": collection.changed_at}
    days = last_days(float(reads[0]), _end(float(reads[-1]), now))
    counts = {name: daily(at, days) for name, at in moments.items()}
    return replace(
        view,
        card=[*_card(collection, about), *([method] if method else ())],
        timelines=[Timeline("Objects that came and went", counts, days)],
        past=past_recall(
            reads, lives.first_seen, lives.last_seen, min(now, reads[-1]) - DAYS, DRAWN
        ),
    )


def _end(last: float, now: float) -> float:
    """Return the end of the timeline: the last fetch if it is long ago.

    >>> _end(7.5, 20.0), _end(7.5, 90.0)
    (20.0, 7.5)
    """
    return now if now - last < DAYS else last


def _rows(collection: Collection, rows: Sequence[int]) -> list[Row]:
    names = list(collection.lives.attributes)[:4]
    return [
        {
            "item": collection.lives.keys[i],
            "first_seen": float(collection.lives.first_seen[i]),
            "last_look": float(collection.lives.last_seen[i]),
            "about": ", ".join(
                f"{name}: {str(collection.lives.attributes[name][i])[:80]}"
                for name in names
            ),
        }
        for i in rows
    ]


def _card(collection: Collection, about: Description) -> list[str]:
    """Return sentences on the objects and their rates."""
    lives, reads = collection.lives, collection.looks
    days = float(reads[-1] - reads[0])
    ended = int(lives.ended.sum())
    spent = float(np.sum(np.minimum(lives.gone_by, reads[-1]) - lives.first_seen))
    lines = [
        (
            f"{count(about.items, 'object')} are there now, known from "
            f"{count(reads.size, 'full sync')} in {span(days)} that saw "
            f"{count(len(lives), 'object lifetime')}."
        ),
    ]
    if days > 0 and not math.isnan(about.rate):
        came = about.rate * days
        spread = 1.96 * math.sqrt(max(came, 1.0)) / days
        lines.append(
            f"Arrivals: {count(about.rate, 'object')} a day, give or take "
            f"{number(spread, 2)} (95 %)."
        )
    if ended and spent > 0:
        rate = ended / spent
        lines.append(
            f"Half of the objects are gone after {span(math.log(2.0) / rate)}; "
            f"{count(ended, 'object')} were seen to go."
        )
    elif days > 0:
        most = 3.0 / max(spent, 1e-9)
        lines.append(
            f"Prior: no object was seen to go in {span(days)}; an object is taken to "
            f"stay {span(1.0 / most)} or longer (95 % confidence)."
        )
    if reads.size < FEW:
        lines.append(
            f"Prior: {count(reads.size, 'full sync')} so far; until there are "
            f"{FEW} or more, forecasts rest on what is usual for such lists."
        )
    return lines
