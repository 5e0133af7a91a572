"""When the groups of a listing were fetched apart from the rest of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, finite, text


class GroupFetches(NamedTuple):
    """What is known of the fetches of single groups.

    Attributes:
        asked: What the settings say of them, shortened; other settings begin anew.
        at: When each group was fetched completely, in days, ascending.
        cost: Requests that the last fetch of each took.

    """

    asked: str
    at: Mapping[str, tuple[float, ...]]
    cost: Mapping[str, int]


def _write(known: GroupFetches) -> Mapping[str, Any]:
    rows = {name: list(times) for name, times in known.at.items()}
    return {"asked": known.asked, "at": rows, "cost": dict(known.cost)}


def _read(row: Mapping[str, Any]) -> GroupFetches:
    at = {text(name): tuple(map(finite, times)) for name, times in row["at"].items()}
    cost = {text(name): max(int(one), 1) for name, one in row["cost"].items()}
    return GroupFetches(text(row["asked"]), at, cost)


GROUP_FETCHES = NoteKind("group_fetches", 1, _write, _read)
