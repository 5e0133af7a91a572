"""Keeping the copies of databases behind forms: ask, doubt, and write down."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from halflife.config import SourceConfig
from halflife.errors import ConfigError
from halflife.live import forming, listings
from halflife.live.listings import Looked
from halflife.queries.known.content import measure, weigher
from halflife.queries.ledger import Ledger
from halflife.queries.upkeep import Asked, Held, Kept, Wish, ahead, keep
from halflife.register import Listing, Register
from halflife.sources.forms import Desk
from halflife.stores import Run, Store


@dataclass(frozen=True, slots=True)
class Turned:
    """What a turn at a form came to.

    Attributes:
        looked: What was seen, and what that changed.
        kept: What was asked, and why it ended.

    """

    looked: Looked
    kept: Kept

    @property
    def source(self) -> str:
        """The source."""
        return self.looked.source

    @property
    def run(self) -> int:
        """The run that looked."""
        return self.looked.run

    @property
    def requests(self) -> int:
        """Requests sent."""
        return self.looked.requests

    @property
    def held(self) -> str:
        """Why the answer waits for a decision; empty if it does not."""
        return self.looked.held

    @property
    def trouble(self) -> str:
        """What went wrong; empty if nothing did."""
        return self.looked.trouble

    def row(self) -> dict[str, object]:
        """Return what people and programs are told."""
        asked = [one._asdict() for one in self.kept.asked]
        told = {"refreshed": self.kept.refreshed, "stop": self.kept.stop}
        return {**self.looked.row(), **told, "asked": asked}

    def words(self) -> str:
        """Return the same in a line."""
        looked = self.looked
        if looked.held or (looked.trouble and not looked.listed):
            return looked.words()
        change = looked.change
        return (
            f"{looked.source}: {looked.requests} requests, {looked.listed} records "
            f"seen: {change.arrived} new, {change.updated} updated, "
            f"{change.missing} missing, {change.gone} gone; {self.kept.stop}"
        )


def wish(source: SourceConfig) -> Wish:
    """Return what a copy is kept for, as the settings say; or ``ConfigError``."""
    try:
        differs = measure(source.differs_by or "changed")
        weight = weigher(source.weight_by or None)
    except (ValueError, ImportError, AttributeError) as error:
        raise ConfigError(f"source {source.name}: {error}") from None
    return Wish(source.purpose, differs, weight)


def held(store: Store, source: SourceConfig) -> Held:
    """Return the copy of a form's database."""
    known = source.name in store.collections()
    return Held.of(store.register(source.name) if known else Register())


async def sync(
    former: forming.Former,
    source: SourceConfig,
    *,
    most: int | None = None,
    told: Callable[[Asked], None] = lambda _: None,
) -> Turned:
    """Ask a form for what puts most right, as far as the budget or ``most`` goes.

    An answer that lacks more than is credible is put aside: nothing is removed, and
    ``held`` says why. Raise ``BudgetSpent`` if nothing can be spent.
    """
    store, clock = former.store, former.clock
    wanted, copy = wish(source), held(store, source)
    how = forming.corrected(store, source)
    seen: list[Looked] = []

    def work(desk: Desk, run: Run) -> Kept:
        rng = np.random.default_rng(run.id)
        return keep(Ledger(desk, most), copy, wanted, clock(), rng, told)

    def write(kept: Kept, run: Run) -> None:
        if not kept.records and not kept.absent:
            seen.append(Looked(source.name, run.id, former.spent, trouble=kept.trouble))
            return
        records, absent = dict(kept.records), kept.absent
        listing = Listing(clock(), records, kept.complete, kept.stop, absent)
        spent, trouble = former.spent, kept.trouble
        seen.append(listings.write(store, run, source, listing, spent, trouble))

    kept = await former.asking(source, how, work, most=most, write=write)
    return Turned(seen[0], kept)


def plan(store: Store, source: SourceConfig, now: float, most: int) -> list[Asked]:
    """Return what a turn would ask first, best first; nothing is sent."""
    copy, how = held(store, source), forming.corrected(store, source)
    if not copy.records:
        first = "everything, query by query"
        return [Asked(first, most, 0.0, "there is no copy yet")]
    rng = np.random.default_rng(0)
    return ahead(copy, how.interface, wish(source), now, rng, most)
