"""Sources that have moved: their addresses answer with redirects for good.

What counts is most of a source: its one address, most of the addresses that the
settings name, most of its pages, or a sitemap or robots.txt of its own. Two looks in a
row must say so. It is over when an address answers again, or when the settings name
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
TWICE = 2  # looks in a row that must say so
_ROBOTS = "/robots.txt"


Memory: TypeAlias = dict[str, Redirect]


def note(store: NoteBook, gate: Gate, sources: Iterable[SourceConfig]) -> None:
    """Write down which addresses of sources have moved, as the gate saw it."""
    for source in sources:
        fresh = gate.moves.pop(source.name, {})
        before = recall(store, source.name)
        if not fresh or not (before or any(fresh.values())):
            continue  # nothing has moved: there is nothing to remember
        after = _taken(before, {_place(source, a): to for a, to in fresh.items()})
        if after != before:
            REDIRECTS.save(store, after, source.name)


def _taken(before: Memory, fresh: Mapping[str, str]) -> Memory:
    after = dict(before)
    for address, to in fresh.items():
        last = after.pop(address, Redirect("", 0))
        times = last.times + 1 if to and last.to else 1
        after[address] = Redirect(to, times if to else 0)
    latest = list(after.items())[-MOST:]
    return dict(latest) if any(asked.to for _, asked in latest) else {}


def recall(store: NoteBook, source: str) -> Memory:
    """Return what is remembered of a source's addresses."""
    return REDIRECTS.load(store, source) or {}


def where(store: Store, source: SourceConfig) -> str:
    """Return where a source has moved for good, in words; empty if it has not."""
    memory = recall(store, source.name)
    if not memory:
        return ""
    kept = {a: asked for a, asked in memory.items() if _counts(source, a)}
    for address in (*_alone(source), *(a for a in kept if a.endswith(_ROBOTS))):
        asked = kept.get(address)
        if asked and asked.times >= TWICE and _away(source, address, asked.to):
            return _shown(asked.to)
    named = _named(source)
    found = _most(source, {a: o for a, o in kept.items() if a in named}, len(named))
    items = None if found else kind_of(source).count(store, source)
    if items is None:
        return found
    of_items = {a: one for a, one in kept.items() if not a.endswith(_ROBOTS)}
    return _most(source, of_items, items)


def _most(source: SourceConfig, asked: Memory, many: int) -> str:
    """Return where most of so many addresses have moved; empty if they have not."""
    gone = {a: one for a, one in asked.items() if _away(source, a, one.to)}
    enough = len(asked) >= min(many, MOST)
    looks = sum(one.times for one in gone.values())
    if not enough or 2 * len(gone) <= len(asked) or looks < TWICE:
        return ""
    places = [_shown(one.to) for one in gone.values()]
    if len(set(places)) == 1:
        return places[0]
    inside = _common(places) or f"{places[0]} and elsewhere"
    return f"{inside} ({len(gone)} of {len(asked)} addresses)"


def _common(places: Iterable[str]) -> str:
    """Return the folder that all addresses lie in; empty if they share no host.

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


def _alone(source: SourceConfig) -> tuple[str, ...]:
    """Return the addresses of which each by itself says where a source is."""
    return tuple(_place(source, address) for address in source.landmarks)


def _named(source: SourceConfig) -> set[str]:
    """Return the addresses that the settings name; of what is asked there, where."""
    asked = source.query_url
    return {asked.partition("{")[0].partition("?")[0]} if asked else {*source.addresses}


def _place(source: SourceConfig, address: str) -> str:
    """Return an address without what is asked there, if it is one that is asked."""
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
    """Return an address to be shown, without its query: that may hold secrets."""
    parts = urlsplit(address)
    return shown(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))
