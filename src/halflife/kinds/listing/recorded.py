"""A recorded listing: the objects that it named at a moment, page by page."""

from collections.abc import Callable, Mapping

from halflife.core.object_store import Attributes
from halflife.replay.world import Asked, Recorded, Told, as_json


def listing(
    present: Callable[[float], Mapping[str, Attributes]], per_page: int
) -> Recorded:
    """Return a listing at ``/objects`` of all that is there at a time."""

    def answer(asked: Asked, now: float) -> Told:
        if asked.url.path != "/objects":
            return as_json({"error": "no such page"}, 404)
        there = present(now)
        begin = int(asked.url.query.get("from", "0"))
        some = list(there)[begin : begin + per_page]
        row: dict[str, object] = {"objects": [{"id": k, **there[k]} for k in some]}
        if begin + per_page < len(there):
            row["next"] = f"/objects?from={begin + per_page}"
        return as_json(row)

    return answer
