"""What somebody decides about answers that were put aside, of any kind of source."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from halflife.config import Config, SourceConfig
from halflife.core.errors import HeldForDecision, UsageError
from halflife.engine import bootstrap, breakers
from halflife.engine.loop import LEASE, Clock
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.pages import guard as pages_guard
from halflife.kinds.protocol import Report
from halflife.stores import Store


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of a decision.

    Attributes:
        source: The source.
        row: The same for programs.
        words: The same in a line.

    """

    source: str
    row: dict[str, object]
    words: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """An answer that waits for somebody to decide whether to believe it.

    Attributes:
        source: The source.
        run: The run that brought it; its name in ``sync --accept``.
        why: What speaks against it, in words.
        since: When it was fetched, in days.
        todo: What to type, for somebody who reads ``status``.
        advice: What to do, for somebody who reads ``doctor``.

    """

    source: str
    run: int
    why: str
    since: float
    todo: str
    advice: str


def waiting(store: Store) -> list[Waiting]:
    """Return the answers that wait for a decision: lists first, then pages."""
    lists = [
        Waiting(
            one.source,
            one.run,
            one.why,
            one.listing.at,
            f"believe it with `halflife sync --accept {one.run}`",
            f"`halflife sync --accept {one.run}` if it is true, else sync again",
        )
        for one in store.staged()
    ]
    return lists + [
        Waiting(
            one.source,
            one.run,
            one.why,
            one.since,
            f"believe them with `halflife sync --accept {one.run}`, or dismiss "
            f"them with `halflife sync --keep {one.run}`",
            f"open {one.examples[0]}; if that is right, "
            f"`halflife sync --accept {one.run}`, else "
            f"`halflife sync --keep {one.run}` to dismiss it",
        )
        for one in pages_guard.held(store)
    ]


def evidence(
    store: Store, source: SourceConfig, one: Waiting, most: int = 5
) -> dict[str, Any]:
    """Return what an answer that waits differs in, with some examples."""
    pages = _pages(store, one.run)
    if pages is not None:
        return {"pages": pages.pages, "examples": pages.examples}
    staged = {held.run: held.listing for held in store.staged()}.get(one.run)
    if staged is None:  # somebody has just decided
        return {"examples": []}
    tracked = listing_runner.tracker(store, source)
    there, gone, gap = tracked.losses(staged)
    lost = [key for key in tracked.held if key not in staged.records]
    new = [key for key in staged.records if key not in tracked.held]
    return {
        "listed": len(staged.records),
        "held": there,
        "missing": gone,
        "gap": gap,
        "examples": lost[:most],
        "arrived": len(new),
        "arrived_examples": new[:most],
    }


def undecided(store: Store, names: Iterable[str]) -> HeldForDecision | None:
    """Return the error about items of sources that wait, also since earlier runs."""
    found = pages_guard.held(store, names)
    return pages_guard.held_error(found) if found else None


def accept_group(config: Config, store: Store, name: str, group: str) -> int:
    """Believe that a group of objects has gone; return how many are missing now."""
    return listing_runner.accept_group(config, store, name, group)


def held_error(reports: Iterable[Report]) -> HeldForDecision:
    """Return the error that says what waits and how to decide."""
    waiting = list(reports)
    names = ", ".join("+".join(one.group) for one in waiting)
    runs = ", ".join(f"`halflife sync --accept {one.run}`" for one in waiting)
    return HeldForDecision(
        f"nothing was removed from {names}, somebody has to decide: if the answer is "
        f"true run {runs}, else sync again later"
    )


def accept(
    config: Config, store: Store, run: int, clock: Clock = bootstrap.clock
) -> Decided:
    """Believe what a run put aside; raise ``UsageError`` if it did not."""
    pages = _pages(store, run)
    if pages is None:
        looked = listing_runner.accept(config, store, run, clock)
        breakers.decided(store, looked.source, clock())
        return Decided(looked.source, looked.row(), looked.words())
    n = pages_guard.accept(store, pages, clock)
    row: dict[str, object] = {"source": pages.source, "run": run, "accepted": n}
    return Decided(pages.source, row, f"{pages.source}: {n} answers are believed now")


def keep(
    config: Config, store: Store, run: int, clock: Clock = bootstrap.clock
) -> Decided:
    """Keep the copy as it is: what a run put aside is not believed."""
    pages = _pages(store, run)
    if pages is not None:
        n = pages_guard.keep(store, pages, clock)
        name = pages.source
    else:
        name, n = _keep_listing(config, store, run, clock), 1
        breakers.decided(store, name, clock())
    row: dict[str, object] = {"source": name, "run": run, "kept": n}
    return Decided(name, row, f"{name}: the copy stays as it is")


def _pages(store: Store, run: int) -> pages_guard.HeldSource | None:
    return next((one for one in pages_guard.held(store) if one.run == run), None)


def _keep_listing(config: Config, store: Store, run: int, clock: Clock) -> str:
    """Write the look of a set source down as one that was broken."""
    waiting = {one.run: one for one in store.staged()}
    if run not in waiting:
        raise UsageError(f"run {run} left nothing to decide")
    source = config.named([waiting[run].source])[0]
    mine = store.begin([source.name], clock(), lease=LEASE)
    try:
        tracked = listing_runner.tracker(store, source)
        tracked.reject(clock(), "somebody did not believe it")
        store.save_register(mine, source.name, tracked.news())
        store.dismiss(run)
    finally:
        store.finish(mine, clock())
    return source.name
