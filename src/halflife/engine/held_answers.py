"""Decisions on answers that are held, for any kind of source."""

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
from halflife.stores.notes.held_removals import HELD_REMOVALS

EXAMPLES = 5  # names that are shown of those that differ


@dataclass(frozen=True, slots=True)
class HeldDecision:
    """The result of a decision.

    Attributes:
        source: The source.
        row: The result as a JSON object.
        words: The result in a line.

    """

    source: str
    row: dict[str, object]
    words: str


@dataclass(frozen=True, slots=True)
class PendingAnswer:
    """A held answer that waits for a decision whether to believe it.

    Attributes:
        source: The source.
        run: The run that fetched it; its name in ``sync --accept``.
        why: Why it is held.
        since: When it was fetched, in days.
        todo: The command to use, for ``status``.
        advice: What to do, for ``doctor``.

    """

    source: str
    run: int
    why: str
    since: float
    todo: str
    advice: str


def pending_answers(store: Store) -> list[PendingAnswer]:
    """Return the answers that wait for a decision: lists first, then pages."""
    lists = [
        PendingAnswer(
            staged.source,
            staged.run,
            staged.why,
            staged.listing.at,
            f"believe it with `halflife sync --accept {staged.run}`",
            f"`halflife sync --accept {staged.run}` if it is true, else sync again",
        )
        for staged in store.staged()
    ]
    return lists + [
        PendingAnswer(
            held.source,
            held.run,
            held.why,
            held.since,
            f"believe them with `halflife sync --accept {held.run}`, or dismiss "
            f"them with `halflife sync --keep {held.run}`",
            f"open {held.examples[0]}; if that is right, "
            f"`halflife sync --accept {held.run}`, else "
            f"`halflife sync --keep {held.run}` to dismiss it",
        )
        for held in pages_guard.held(store)
    ]


def evidence(
    store: Store, source: SourceConfig, pending: PendingAnswer
) -> dict[str, Any]:
    """Return the differences of a held answer from the copy, with examples."""
    pages = _pages(store, pending.run)
    if pages is not None:
        return {"pages": pages.pages, "examples": pages.examples}
    staged = {held.run: held.listing for held in store.staged()}.get(pending.run)
    if staged is None:  # it was just decided
        return {"examples": []}
    tracked = listing_runner.tracker(store, source)
    there, gone, gap = tracked.losses(staged)
    lost = [key for key in tracked.held if key not in staged.records]
    waits = HELD_REMOVALS.load(store, pending.source)
    shown = waits is not None and waits.at == staged.at
    earlier = tracked.held_before(staged.at) if shown else tracked.held
    new = [key for key in staged.records if key not in earlier]
    return {
        "listed": len(staged.records),
        "held": there,
        "missing": gone,
        "gap": gap,
        "examples": lost[:EXAMPLES],
        "arrived": len(new),
        "arrived_examples": new[:EXAMPLES],
        "held_removals_only": shown,
    }


def undecided(store: Store, names: Iterable[str]) -> HeldForDecision | None:
    """Return the error about held items of sources, also those of earlier runs."""
    found = pages_guard.held(store, names)
    return pages_guard.held_error(found) if found else None


def held_error(reports: Iterable[Report]) -> HeldForDecision:
    """Return the error that names held answers and how to decide."""
    held = list(reports)
    names = ", ".join("+".join(report.group) for report in held)
    runs = ", ".join(f"`halflife sync --accept {report.run}`" for report in held)
    return HeldForDecision(
        f"nothing was removed from {names}, a decision is needed: if the answer is "
        f"true run {runs}, else sync again later"
    )


def accept(
    config: Config, store: Store, run: int, clock: Clock = bootstrap.clock
) -> HeldDecision:
    """Accept the held answers of a run; raise ``UsageError`` if there are none."""
    pages = _pages(store, run)
    if pages is None:
        result = listing_runner.accept(config, store, run, clock)
        breakers.note_decision(store, result.source, clock())
        return HeldDecision(result.source, result.row(), result.words())
    n = pages_guard.accept(store, pages, clock)
    row: dict[str, object] = {"source": pages.source, "run": run, "accepted": n}
    return HeldDecision(
        pages.source, row, f"{pages.source}: {n} answers are believed now"
    )


def keep(
    config: Config, store: Store, run: int, clock: Clock = bootstrap.clock
) -> HeldDecision:
    """Keep the copy as it is, and dismiss the held answers of a run."""
    pages = _pages(store, run)
    if pages is not None:
        n = pages_guard.keep(store, pages, clock)
        name = pages.source
    else:
        name, n = _keep_listing(config, store, run, clock), 1
        breakers.note_decision(store, name, clock())
    row: dict[str, object] = {"source": name, "run": run, "kept": n}
    return HeldDecision(name, row, f"{name}: the copy stays as it is")


def _pages(store: Store, run: int) -> pages_guard.HeldSource | None:
    return next((held for held in pages_guard.held(store) if held.run == run), None)


def _keep_listing(config: Config, store: Store, run: int, clock: Clock) -> str:
    """Record the held answer of a listing as a broken one."""
    staged = {answer.run: answer for answer in store.staged()}
    if run not in staged:
        raise UsageError(f"run {run} left nothing to decide")
    source = config.named([staged[run].source])[0]
    new = store.begin([source.name], clock(), lease=LEASE)
    try:
        tracked = listing_runner.tracker(store, source)
        tracked.reject(clock(), "it was not believed")
        with store.together():
            store.save_register(new, source.name, tracked.news())
            HELD_REMOVALS.remove(store, source.name)
            store.dismiss(run)
    finally:
        store.finish(new, clock())
    return source.name
