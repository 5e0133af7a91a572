"""When the groups of a listing were fetched by themselves."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, finite, text


class GroupFetches(NamedTuple):
    """The fetches of single groups.

    Attributes:
        asked: A digest of their settings; with other settings everything begins again.
        at: When each group was fetched completely, in days, ascending.
        cost: Requests of the last fetch of each group.

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
