"""A recorded search box: what a word found at a moment."""

from collections.abc import Callable, Sequence

from halflife.replay.world import Asked, Recorded, Told, as_json


def search_box(
    find: Callable[[str, float], Sequence[str]], text: Callable[[str], str]
) -> Recorded:
    """Return a search at ``/search``; ``find`` names what a word finds, in order."""

    def answer(asked: Asked, now: float) -> Told:
        if asked.url.path != "/search":
            return as_json({"error": "no such page"}, 404)
        query = asked.url.query
        found = find(query.get("q", "").lower(), now)
        skip, count = int(query.get("from", "0")), int(query.get("size", "10"))
        hits = [
            {"_id": name, "_source": {"body": text(name)}}
            for name in found[skip : skip + count]
        ]
        total = {"value": len(found), "relation": "eq"}
        return as_json({"took": 1, "hits": {"total": total, "hits": hits}})

    return answer
