"""A recorded site: its pages as they were at a moment."""

from collections.abc import Callable

from halflife.replay.world import Asked, Recorded, Told, html


def site(text: Callable[[str, float], str | None]) -> Recorded:
    """Return a site; ``text`` says what a path shows at a time, None if nothing."""

    def answer(asked: Asked, now: float) -> Told:
        said = text(asked.url.path.removeprefix("/"), now)
        if said is None:
            return html("<!DOCTYPE html><p>there is no such page</p>", 404)
        return html(f"<!DOCTYPE html><title>A page</title><main><p>{said}</p></main>")

    return answer
