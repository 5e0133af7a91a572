"""A search box that answers recorded requests."""

from collections.abc import Callable, Sequence

from halflife.kinds.search.recorded_source import results
from halflife.replay.world import RecordedAnswer, RecordedRequest, Responder


def search_box(
    find: Callable[[str, float], Sequence[str]], text: Callable[[str], str]
) -> Responder:
    """Return a search at ``/search``; ``find`` returns the hits of a word, in order."""

    def answer(request: RecordedRequest, now: float) -> RecordedAnswer:
        hits = find(request.url.query.get("q", "").lower(), now)
        return results(request, hits, lambda name: (name, text(name)))

    return answer
