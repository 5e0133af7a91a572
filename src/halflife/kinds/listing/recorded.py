"""A recorded listing: the objects that it named at a moment, page by page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from halflife.core.object_store import NEVER, Attributes
from halflife.recordings.relations import Relation
from halflife.replay.world import Recorded, RecordedAnswer, RecordedRequest, as_json
from halflife.stores import Store

PER_PAGE = 50  # objects on a page of a listing whose real pages are not known


def listing(
    present: Callable[[float], Mapping[str, Attributes]], per_page: int
) -> Recorded:
    """Return a listing at ``/objects`` of all that is there at a time."""

    def answer(asked: RecordedRequest, now: float) -> RecordedAnswer:
        if asked.url.path != "/objects":
            return as_json({"error": "no such page"}, 404)
        there = present(now)
        begin = int(asked.url.query.get("from", "0"))
        some = list(there)[begin : begin + per_page]
        row: dict[str, object] = {"objects": [{**there[k], "_key": k} for k in some]}
        if begin + per_page < len(there):
            row["next"] = f"/objects?from={begin + per_page}"
        return as_json(row)

    return answer


@dataclass(frozen=True)
class RecordedListing:
    """A listing whose objects come, change and go as a relation says.

    Attributes:
        name: The name of the source.
        relation: What it listed at each look.
        per_page: Objects on a page.

    """

    name: str
    relation: Relation
    per_page: int = PER_PAGE
    kind: str = "listing"
    measure: str = "recall"
    _known: dict[float, dict[str, Attributes]] = field(default_factory=dict)

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last look."""
        return float(self.relation.looks[0]), float(self.relation.looks[-1])

    def items(self, now: float) -> int:
        """Return how many objects were listed."""
        return len(self.present(now))

    def moved(self, days: float) -> Self:
        """Return the same listing, with everything so many days later."""
        return replace(self, relation=self.relation.moved(days), _known={})

    def present(self, now: float) -> dict[str, Attributes]:
        """Return what was there, by key, as the last look until then showed it."""
        look = self.relation.look(now)
        if look not in self._known:
            self._known.clear()  # time goes on: what was before is not asked again
            self._known[look] = self.relation.at(look)
        return self._known[look]

    def answer(self, asked: RecordedRequest, now: float) -> RecordedAnswer:
        """Return a page of the listing of a moment."""
        return listing(self.present, self.per_page)(asked, now)

    def settings(self, origin: str) -> str:
        """Return where its objects are."""
        return (
            f'kind = "listing"\nurl = "{origin}/objects"\nformat = "json"\n'
            'records = "objects"\nkey = "_key"\nnext = "next"\nmax_pages = 10000'
        )

    def quality(self, store: Store, now: float) -> float:
        """Return the share of what is there that the copy holds."""
        there = self.present(now)
        if not there:
            return 1.0
        if self.name not in store.collections():
            return 0.0
        lives = store.collection(self.name).lives
        rows = np.flatnonzero(lives.gone_by == NEVER).tolist()
        held = {lives.keys[row] for row in rows}
        return len(held & there.keys()) / len(there)
