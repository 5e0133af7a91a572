"""A recorded listing: the objects that it listed at a time, page by page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, overload

import numpy as np

from halflife.core.object_store import NEVER, Attributes, group_text
from halflife.kinds.listing.recorded_pagination import PAGINGS
from halflife.recordings.pages import Recording
from halflife.recordings.relations import Relation, items_of
from halflife.replay.world import RecordedAnswer, RecordedRequest, Responder, as_json
from halflife.stores import Store

ONLY = "only"  # the parameter that requests one group of objects
PER_PAGE = 50  # objects on a page of a listing whose real page size is unknown


class _Rows(Sequence[dict[str, object]]):
    """The objects in their order, each converted on access."""

    def __init__(self, there: Mapping[str, Attributes]) -> None:
        self._there, self._keys = there, list(there)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> dict[str, object]: ...
    @overload
    def __getitem__(self, at: slice) -> list[dict[str, object]]: ...
    def __getitem__(
        self, at: int | slice
    ) -> dict[str, object] | list[dict[str, object]]:
        if isinstance(at, slice):
            return [{**self._there[k], "_key": k} for k in self._keys[at]]
        return {**self._there[self._keys[at]], "_key": self._keys[at]}


def listing(
    present: Callable[[float], Mapping[str, Attributes]],
    per_page: int,
    paging: str = "link",
    group: str = "",
) -> Responder:
    """Return a listing at ``/objects`` of all objects present at a time.

    With ``group`` the parameter ``only`` limits it to the objects with one value of
    that attribute.
    """
    style = PAGINGS[paging]

    def answer(request: RecordedRequest, now: float) -> RecordedAnswer:
        if request.url.path != "/objects":
            return as_json({"error": "no such page"}, 404)
        objects, only = present(now), request.url.query.get(ONLY)
        if group and only is not None:
            rows = objects.items()
            objects = {k: v for k, v in rows if group_text(v.get(group)) == only}
        return style.answer(request, _Rows(objects), per_page)

    return answer


@dataclass(frozen=True)
class RecordedListing:
    """A listing whose objects come, change and go as in a relation.

    Attributes:
        name: The name of the source.
        relation: What it listed at each fetch.
        per_page: Objects on a page.
        paging: The way of paging; one of ``PAGINGS``.
        group: The attribute by which groups of its objects can be requested; empty if
            it can only be read whole.

    """

    name: str
    relation: Relation
    per_page: int = PER_PAGE
    paging: str = "link"
    group: str = ""
    kind: str = "listing"
    measure: str = "recall"
    _cache: dict[float, dict[str, Attributes]] = field(default_factory=dict)

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last fetch."""
        return float(self.relation.looks[0]), float(self.relation.looks[-1])

    def items(self, now: float) -> int:
        """Return how many objects were listed."""
        return len(self.present(now))

    def moved(self, days: float) -> Self:
        """Return the same listing, shifted ``days`` later."""
        return replace(self, relation=self.relation.moved(days), _cache={})

    def present(self, now: float) -> dict[str, Attributes]:
        """Return the objects by key that the last fetch until then showed."""
        at = self.relation.last_observation(now)
        if at not in self._cache:
            self._cache.clear()  # time moves on: earlier fetches are not needed again
            self._cache[at] = self.relation.at(at)
        return self._cache[at]

    def answer(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Return a page of the listing at a time."""
        how = self.per_page, self.paging, self.group
        return listing(self.present, *how)(request, now)

    def truth(self) -> Recording:
        """Return when its objects arrived, changed and departed."""
        return items_of(self.relation)

    def settings(self, origin: str) -> str:
        """Return the settings to read it."""
        apart = f'\ngroup = "{self.group}"\ngroup_request = "{ONLY}={{group}}"'
        return (
            f'kind = "listing"\nurl = "{origin}/objects"\nformat = "json"\n'
            f'key = "_key"\nmax_pages = 10000\n{PAGINGS[self.paging].settings}'
            f"{apart if self.group else ''}"
        )

    def quality(self, store: Store, now: float) -> float:
        """Return the share of present objects that the copy has."""
        objects = self.present(now)
        if not objects:
            return 1.0
        if self.name not in store.collections():
            return 0.0
        lives = store.collection(self.name).lives
        rows = np.flatnonzero(lives.gone_by == NEVER).tolist()
        held = {lives.keys[row] for row in rows}
        return len(held & objects.keys()) / len(objects)
