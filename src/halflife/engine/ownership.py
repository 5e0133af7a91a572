"""Who owns which pages: taken over, moved, forgotten, and where sources overlap.

The settings say which addresses a source wants; the state file says which source owns
them. They differ when a source was renamed or removed in the settings by hand, or when
two sources name the same address. An owner that the settings no longer name is an
orphan: whoever names its addresses takes them over, history included.
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
        some = ", ".join(self.keys[:MOST])
        more = f" and {len(self.keys) - MOST} more" if len(self.keys) > MOST else ""
        what = "address" if len(self.keys) == 1 else "addresses"
        return (
            f"source {self.wants} names {len(self.keys)} {what} that belong to source "
            f"{self.owner} and are kept there: {some}{more}"
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
    """Pages that changed hands.

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

    ``claims`` are the items that the settings name, if they were made out already.
    """
    names = {source.name for source in config.source}
    wanted = claimed(config.source) if claims is None else claims
    found = store.reports.foreign((i.key, i.source) for i in wanted)
    by_pair: dict[tuple[str, str], list[str]] = {}
    for key, owner, wants in found:
        by_pair.setdefault((wants, owner), []).append(key)
    return [
        Overlap(wants, owner, tuple(keys), owner not in names)
        for (wants, owner), keys in by_pair.items()
    ]


def claimed(sources: Iterable[SourceConfig]) -> list[Item]:
    """Return the items that each source's settings name; one may be named twice."""
    return [item for source in sources for item in bootstrap.items([source])]


def orphans(config: Config, store: Store) -> list[SourceHoldings]:
    """Return the sources that own something and that the settings do not name."""
    names = {source.name for source in config.source}
    return [one for one in store.reports.owners() if one.name not in names]


def take_over(
    config: Config, store: Store, claims: Sequence[Item], now: float
) -> list[TakenPages]:
    """Let sources take what is theirs by the settings; return what changed hands.

    The addresses of an orphan go to the source that names them. So do the pages that
    the orphan found by itself, if they were found from a map or a start that goes. The
    start of a site goes to the site from whoever owns it: without its start a site
    cannot be crawled. All else stays with its owner.
    """
    done = []
    for one in overlaps(config, store, claims):
        keys = one.keys
        if not one.orphan:
            root = config.named([one.wants])[0].root
            start = bootstrap.keys([root] if root else [])
            keys = tuple(key for key in keys if key in start)
        if not keys:
            continue
        try:
            done.append(_take(config, store, one, keys, now))
        except AlreadyRunning:
            continue  # whoever keeps it now may finish; the next sync takes it
    return done


def _take(
    config: Config, store: Store, one: Overlap, keys: Sequence[str], now: float
) -> TakenPages:
    source = config.named([one.wants])[0]
    leads = bootstrap.keys(source.landmarks)
    with ownership.reassigning(store, (one.owner, one.wants), now) as db:
        before = {owned.name: owned for owned in ownership.owners(db)}
        if one.orphan and one.wants not in before:
            pages = before[one.owner].items
            ownership.rename(db, one.owner, one.wants)
            return TakenPages(one.wants, one.owner, pages)
        pages = ownership.move(db, keys, one.wants, now)
        if one.orphan and not leads.isdisjoint(keys):
            pages += ownership.move_found(db, one.owner, one.wants, now)
    return TakenPages(one.wants, one.owner, pages)


def rename(config: Config, old: str, new: str, now: float) -> TakenPages:
    """Rename a source, in the settings and in the state file.

    If a source of the new name is there already, both become one. Asked for again
    after a crash, it finishes what is left to do.
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
            if text is not None:  # the last step: if it fails, nothing has happened
                edit.replace(config.path, text)
    return TakenPages(new, old, pages)


def remove(config: Config, name: str, now: float, *, data: bool) -> SourceHoldings:
    """Take a source out of the settings; with ``data`` forget all it brought, too."""
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
    """Forget all that is known of a source; its settings stay as they are."""
    with location.open_store(config.store_place, create=True) as store:
        known = {one.name: one for one in store.reports.owners()}
        if name not in known:
            config.named([name])  # says so if there is no such source at all
            return SourceHoldings(name)
        with ownership.reassigning(store, (name,), now) as db:
            ownership.forget(db, name)
    return known[name]


def _unknown(config: Config, name: str, known: Iterable[str]) -> UsageError:
    there = sorted({*known, *(source.name for source in config.source)})
    said = ", ".join(there) or "none"
    return UsageError(
        f"no source is named {name!r} in {config.path} or in the state file; "
        f"there are: {said}"
    )
