"""When to look at set sources again, and doing so until told to stop."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from halflife.config import Config
from halflife.core.errors import AlreadyRunning, BudgetSpent
from halflife.engine import bootstrap
from halflife.engine.loop import Clock
from halflife.engine.signals import Stop, until_stopped
from halflife.kinds.listing import runner
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.runner import LONGEST_NAP, SHORTEST_NAP
from halflife.market.stand import FIRST, LATEST, SOONEST
from halflife.policies.threshold import Threshold
from halflife.stores import Store

if TYPE_CHECKING:
    from halflife.kinds.listing.runner import Looked

AGAIN = 1.0 / 24.0  # days until a look that failed or was held is tried again


def wait(store: Store, source: ListingConfig, now: float) -> float:
    """Return the days until a set source is to be looked at again.

    That is just before the lower bound of its recall falls below what the settings
    ask for (papers/000, s. 6.2), but no further ahead than we have watched it so
    far; at once, if nobody has looked yet.
    """
    if source.name not in store.collections():
        return 0.0
    known = store.collection(source.name)
    if not known.looks.size:
        return 0.0
    first, last = float(known.looks[0]), float(known.looks[-1])
    holds = Threshold(source.recall, confidence=source.confidence).holds(known)
    watched = max(last - first, FIRST)
    return max(last + max(min(holds, watched, LATEST), SOONEST) - now, 0.0)


async def keep(
    config: Config,
    store: Store,
    sources: Sequence[ListingConfig],
    stop: Stop,
    told: Callable[["Looked"], None],
    *,
    clock: Clock = bootstrap.clock,
) -> None:
    """Look at each set source whenever it is due, until asked to stop."""
    due = {s.name: clock() + wait(store, s, clock()) for s in sources}
    while not stop.asked.is_set():
        for source in sources:
            if clock() < due[source.name]:
                continue
            looked = await _look(config, store, source, stop, clock)
            now = clock()
            well = looked is not None and not looked.trouble and not looked.held
            due[source.name] = now + (wait(store, source, now) if well else AGAIN)
            if looked is not None:
                told(looked)
        nap = (min(due.values()) - clock()) * 86400.0
        await stop.sleep(min(max(nap, SHORTEST_NAP), LONGEST_NAP))


async def _look(
    config: Config, store: Store, source: ListingConfig, stop: Stop, clock: Clock
) -> "Looked | None":
    """Look once; nothing if the budget is spent, or somebody else is looking."""
    work = runner.sync(config, store, source, clock=clock)
    try:
        return await until_stopped(work, stop, lambda: None)
    except (BudgetSpent, AlreadyRunning):
        return None
