"""What somebody decides about answers that were put aside, of any kind of source."""

from collections.abc import Iterable
from dataclasses import dataclass

from halflife.config import Config
from halflife.core.errors import HeldForDecision, UsageError
from halflife.engine import bootstrap
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
