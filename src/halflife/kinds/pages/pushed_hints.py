"""Pushes of changed pages, as in IndexNow: a push is a hint.

A client with the token of the service may report changed pages. A report is a hint like
a sitemap's date: it is stored until the next turn, and trusted as far as earlier pushes
for its host proved true. Announcements of hubs are stored in the same way, and trusted
separately.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.observation import Observation, Observations, Seen
from halflife.kinds.pages.settings import PagesConfig
from halflife.stores import Run, Store
from halflife.stores.notes import NoteKind
from halflife.stores.notes.pushed_hints import HUB_HINTS, PUSHED_HINTS

MOST_URLS = 10_000  # in one push, as in IndexNow
MOST_WAITING = 10_000  # of a source, until its next turn
_KINDS = {"push": PUSHED_HINTS, "hub": HUB_HINTS}


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """The result of a push.

    Attributes:
        accepted: Pages with a stored hint.
        unknown: Addresses that no source keeps; they are ignored.
        full: Pages for which there was no room until the next turn.

    """

    accepted: int = 0
    unknown: int = 0
    full: int = 0


def push(store: Store, config: Config, urls: Sequence[str], now: float) -> PushOutcome:
    """Store hints that pages have changed; ignore pages that no source keeps."""
    from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

    if len(urls) > MOST_URLS:
        raise UsageError(f"a push has at most {MOST_URLS} addresses")
    own = {source.name for source in PagesConfig.among(config.source)}
    by_source: dict[str, dict[str, None]] = {}
    unknown = 0
    for url in dict.fromkeys(urls):
        try:
            key = canonical(url)
        except UsageError:
            key = ""
        owner = store.source_of(key) if key else None
        if owner in own and owner is not None:
            by_source.setdefault(owner, {})[key] = None
        else:
            unknown += 1
    accepted = full = 0
    for name, keys in by_source.items():
        taken = keep(store, name, keys, now)
        accepted, full = accepted + taken, full + len(keys) - taken
    return PushOutcome(accepted, unknown, full)


def keep(
    store: Store,
    source: str,
    keys: Iterable[str],
    now: float,
    note: NoteKind[dict[str, float]] = PUSHED_HINTS,
) -> int:
    """Store hints until the next turn of a source; return how many fit."""
    waiting = note.load(store, source) or {}
    taken = 0
    for key in keys:
        if key in waiting or len(waiting) < MOST_WAITING:
            waiting[key] = now
            taken += 1
    note.save(store, waiting, source)
    return taken


def take(store: Store, run: Run) -> int:
    """Append stored hints to the log of a run; return how many.

    They are removed after they were appended: a crash between the two appends them
    again, which changes nothing.
    """
    total = 0
    for source, (kind, note) in product(run.sources, _KINDS.items()):
        waiting = note.load(store, source)
        if not waiting:
            continue
        hints = (
            Observation(key, at, Seen.HINT, kind, modified=at)
            for key, at in waiting.items()
        )
        store.append(run, Observations.of(hints))
        note.remove(store, source)
        total += len(waiting)
    return total
