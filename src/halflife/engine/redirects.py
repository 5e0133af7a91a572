"""Sources that have moved: their addresses answer with permanent redirects.

A source has moved when most of it has: its one address, most of the addresses that the
settings name, most of its pages, or its own sitemap or robots.txt. Two fetches in a row
must show it. The state ends when an address answers again, or when the settings name
another.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

from halflife.config import SourceConfig
from halflife.kinds.registry import kind_of
from halflife.net.addresses import shown
from halflife.net.gate import Gate
from halflife.stores import NoteBook, Store
from halflife.stores.notes.redirect import REDIRECTS, Redirect

MOST = 32  # addresses of a source that are remembered
TWICE = 2  # fetches in a row that must show a redirect
_ROBOTS = "/robots.txt"


Memory: TypeAlias = dict[str, Redirect]


def note(store: NoteBook, gate: Gate, sources: Iterable[SourceConfig]) -> None:
    """Write down which addresses of sources have moved, as observed by the gate."""
    for source in sources:
        fresh = gate.moves.pop(source.name, {})
        before = recall(store, source.name)
        if not fresh or not (before or any(fresh.values())):
            continue  # nothing has moved: there is nothing to remember
        after = _updated(before, {_place(source, a): to for a, to in fresh.items()})
        if after != before:
            REDIRECTS.save(store, after, source.name)


def _updated(before: Memory, fresh: Mapping[str, str]) -> Memory:
    after = dict(before)
    for address, to in fresh.items():
        last = after.pop(address, Redirect("", 0))
        times = last.times + 1 if to and last.to else 1
        after[address] = Redirect(to, times if to else 0)
    latest = list(after.items())[-MOST:]
    return dict(latest) if any(redirect.to for _, redirect in latest) else {}


def recall(store: NoteBook, source: str) -> Memory:
    """Return the stored redirects of a source's addresses."""
    return REDIRECTS.load(store, source) or {}


def where(store: Store, source: SourceConfig) -> str:
    """Return where a source has moved permanently, as text; empty if it has not."""
    memory = recall(store, source.name)
    if not memory:
        return ""
    kept = {a: redirect for a, redirect in memory.items() if _counts(source, a)}
    for address in (*_landmarks(source), *(a for a in kept if a.endswith(_ROBOTS))):
        redirect = kept.get(address)
        if redirect and redirect.times >= TWICE and _away(source, address, redirect.to):
            return _shown(redirect.to)
    named = _named(source)
    found = _most(source, {a: o for a, o in kept.items() if a in named}, len(named))
    items = None if found else kind_of(source).count(store, source)
    if items is None:
        return found
    of_items = {a: to for a, to in kept.items() if not a.endswith(_ROBOTS)}
    return _most(source, of_items, items)


def _most(source: SourceConfig, memory: Memory, many: int) -> str:
    """Return where most of so many addresses have moved; empty if they have not."""
    gone = {a: move for a, move in memory.items() if _away(source, a, move.to)}
    enough = len(memory) >= min(many, MOST)
    times = sum(move.times for move in gone.values())
    if not enough or 2 * len(gone) <= len(memory) or times < TWICE:
        return ""
    places = [_shown(move.to) for move in gone.values()]
    if len(set(places)) == 1:
        return places[0]
    inside = _common(places) or f"{places[0]} and elsewhere"
    return f"{inside} ({len(gone)} of {len(memory)} addresses)"


def _common(places: Iterable[str]) -> str:
    """Return the folder that contains all addresses; empty if they share no host.

    >>> _common(["http://b/docs/x", "http://b/docs/y/z"])
    'http://b/docs/'
    """
    steps = zip(*(place.split("/") for place in places), strict=False)
    same = [step[0] for step in takewhile(lambda s: len(set(s)) == 1, steps)]
    return "/".join(same) + "/" if len(same) > 2 else ""


def _counts(source: SourceConfig, address: str) -> bool:
    """Say whether an address still belongs to a source as it is set now."""
    hosts = {urlsplit(one).netloc for one in source.addresses}
    return urlsplit(address).netloc in hosts


def _landmarks(source: SourceConfig) -> tuple[str, ...]:
    """Return the addresses that each locate the whole source."""
    return tuple(_place(source, address) for address in source.landmarks)


def _named(source: SourceConfig) -> set[str]:
    """Return the addresses that the settings name; of a query, its fixed part."""
    query = source.query_url
    return {query.partition("{")[0].partition("?")[0]} if query else {*source.addresses}


def _place(source: SourceConfig, address: str) -> str:
    """Return an address; of a query, only its fixed part."""
    if not source.query_url:
        return address
    (prefix,) = _named(source)
    return prefix if address.startswith(prefix) else address.partition("?")[0]


def _away(source: SourceConfig, address: str, to: str) -> bool:
    """Say whether a redirect leads to another host or tree of pages."""
    if not to:
        return False
    old, new = urlsplit(address), urlsplit(to)
    if address.endswith(_ROBOTS):
        return _host(old.netloc) != _host(new.netloc)
    covered = kind_of(source).covers(source, to)
    if covered is not None:
        return not covered
    same = (old.scheme, old.netloc) == (new.scheme, new.netloc)
    if same and source.query_url:
        return not new.path.startswith(old.path)
    if same and address not in _named(source):  # a page that was found may be renamed
        return _folder(old.path) != _folder(new.path)
    return not same or old.path.rstrip("/") != new.path.rstrip("/")


def _host(netloc: str) -> str:
    return netloc.lower().removeprefix("www.")


def _folder(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0]


def _shown(address: str) -> str:
    """Return an address for display, without its query, which may hold secrets."""
    parts = urlsplit(address)
    return shown(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))
