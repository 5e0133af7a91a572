"""Ownership of pages by sources: taking over, renaming, removal, and overlaps.

The settings say which addresses a source wants; the state file says which source owns
them. They differ when a source was renamed or removed in the settings by hand, or when
two sources name the same address. An owner that the settings no longer name is an
orphan: a source that names its addresses takes them over, history included.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from halflife.config import Config, SourceConfig, edit
from halflife.core.errors import AlreadyRunning, UsageError
from halflife.core.item import Item
from halflife.engine import bootstrap
from halflife.stores import Store, location, ownership
from halflife.stores.ownership import SourceHoldings

MOST = 3  # addresses named of many


@dataclass(frozen=True, slots=True)
class Overlap:
    """Addresses that one source wants and another owns.

    Attributes:
        wants: The source whose settings name them.
        owner: The source that owns them.
        keys: The addresses.
        orphan: Whether the settings no longer name the owner.

    """

    wants: str
    owner: str
    keys: tuple[str, ...]
    orphan: bool

    def words(self) -> str:
        """Return it in a line."""
        keys = ", ".join(self.keys[:MOST])
        more = f" and {len(self.keys) - MOST} more" if len(self.keys) > MOST else ""
        what = "address" if len(self.keys) == 1 else "addresses"
        return (
            f"source {self.wants} names {len(self.keys)} {what} that belong to source "
            f"{self.owner} and are kept there: {keys}{more}"
        )

    @property
    def advice(self) -> str:
        """What to do about it."""
        return (
            f"take them out of {self.wants}, or join both sources: "
            f"`halflife source rename {self.owner} {self.wants}`"
        )


@dataclass(frozen=True, slots=True)
class TakenPages:
    """Pages that another source owns now.

    Attributes:
        source: The source that owns them now.
        owner: The source that owned them.
        pages: How many.

    """

    source: str
    owner: str
    pages: int

    def words(self) -> str:
        """Return it in a line."""
        what = "page" if self.pages == 1 else "pages"
        return (
            f"source {self.source} took over {self.pages} {what} of source "
            f"{self.owner}, with all that is known of them"
        )


def overlaps(
    config: Config, store: Store, claims: Sequence[Item] | None = None
) -> list[Overlap]:
    """Return where sources want addresses that other sources own.

    ``claims`` are the items that the settings name, if the caller has them already.
    """
    names = {source.name for source in config.source}
    wanted = named_items(config.source) if claims is None else claims
    found = store.reports.foreign((i.key, i.source) for i in wanted)
    by_pair: dict[tuple[str, str], list[str]] = {}
    for key, owner, wants in found:
        by_pair.setdefault((wants, owner), []).append(key)
    return [
        Overlap(wants, owner, tuple(keys), owner not in names)
        for (wants, owner), keys in by_pair.items()
    ]


def named_items(sources: Iterable[SourceConfig]) -> list[Item]:
    """Return the items that each source's settings name; one may be named twice."""
    return [item for source in sources for item in bootstrap.items([source])]


def orphans(config: Config, store: Store) -> list[SourceHoldings]:
    """Return the sources that own items and that the settings do not name."""
    names = {source.name for source in config.source}
    return [owner for owner in store.reports.owners() if owner.name not in names]


def take_over(
    config: Config, store: Store, claims: Sequence[Item], now: float
) -> list[TakenPages]:
    """Give sources the pages that the settings assign to them; return these changes.

    The addresses of an orphan go to the source that names them. So do the pages that
    the orphan discovered, if it did so from a map or a start that is moved. The start
    of a site always goes to that site, which cannot be crawled without it. Other pages
    stay with their owner.
    """
    done = []
    for overlap in overlaps(config, store, claims):
        keys = overlap.keys
        if not overlap.orphan:
            root = config.named([overlap.wants])[0].root
            start = bootstrap.keys([root] if root else [])
            keys = tuple(key for key in keys if key in start)
        if not keys:
            continue
        try:
            done.append(_take(config, store, overlap, keys, now))
        except AlreadyRunning:
            continue  # another process keeps it; the next sync takes it
    return done


def _take(
    config: Config, store: Store, overlap: Overlap, keys: Sequence[str], now: float
) -> TakenPages:
    wants, owner = overlap.wants, overlap.owner
    landmarks = bootstrap.keys(config.named([wants])[0].landmarks)
    with ownership.reassigning(store, (owner, wants), now) as db:
        before = {owned.name: owned for owned in ownership.owners(db)}
        if overlap.orphan and wants not in before:
            pages = before[owner].items
            ownership.rename(db, owner, wants)
            return TakenPages(wants, owner, pages)
        pages = ownership.move(db, keys, wants, now)
        if overlap.orphan and not landmarks.isdisjoint(keys):
            pages += ownership.move_found(db, owner, wants, now)
    return TakenPages(wants, owner, pages)


def rename(config: Config, old: str, new: str, now: float) -> TakenPages:
    """Rename a source, in the settings and in the state file.

    If a source of the new name exists already, both become one. Called again after a
    crash, it finishes the rest.
    """
    names = {source.name for source in config.source}
    if old == new:
        raise UsageError(f"{old} has that name already")
    text = edit.with_renamed(config.path, old, new) if old in names else None
    pages = 0
    with location.open_store(config.store_place, create=True) as store:
        known = {one.name: one for one in store.reports.owners()}
        if old not in known and old not in names:
            raise _unknown(config, old, known)
        with ownership.reassigning(store, (old, new), now) as db:
            if old in known:
                pages = known[old].items
                ownership.rename(db, old, new)
            if text is not None:  # the last step: if it fails, all is rolled back
                edit.replace(config.path, text)
    return TakenPages(new, old, pages)


def remove(config: Config, name: str, now: float, *, data: bool) -> SourceHoldings:
    """Remove a source from the settings; with ``data`` also from the state file."""
    names = {source.name for source in config.source}
    with location.open_store(config.store_place, create=True) as store:
        known = {one.name: one for one in store.reports.owners()}
        if name not in known and name not in names:
            raise _unknown(config, name, known)
        with ownership.reassigning(store, (name,), now) as db:
            if data and name in known:
                ownership.forget(db, name)
            if name in names:
                text = edit.without(config.path, name)
                edit.replace(config.path, text)
    return known.get(name, SourceHoldings(name))


def reset(config: Config, name: str, now: float) -> SourceHoldings:
    """Remove the data of a source; its settings stay as they are."""
    with location.open_store(config.store_place, create=True) as store:
        known = {one.name: one for one in store.reports.owners()}
        if name not in known:
            config.named([name])  # raises if there is no such source
            return SourceHoldings(name)
        with ownership.reassigning(store, (name,), now) as db:
            ownership.forget(db, name)
    return known[name]


def _unknown(config: Config, name: str, known: Iterable[str]) -> UsageError:
    existing = sorted({*known, *(source.name for source in config.source)})
    return UsageError(
        f"no source is named {name!r} in {config.path} or in the state file; "
        f"there are: {', '.join(existing) or 'none'}"
    )
