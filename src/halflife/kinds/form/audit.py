"""Audit of the copies of databases behind forms, by randomly drawn records.

A turn of upkeep comes when a copy is worst and leaves it at its best. So chance decides
whether a turn's checks are made before or after it: over many turns they show the copy
as it is on average, if it decays evenly in between, or by the source's rhythm.
"""

import zlib
from dataclasses import dataclass, replace
from math import inf, nextafter

import numpy as np
from numpy.random import Generator

from halflife.core.errors import AlreadyRunning, BudgetSpent, SourceError
from halflife.core.object_store import NEVER, Attributes, Listing, Register
from halflife.engine import rhythms
from halflife.engine.quality_forecast import SURE
from halflife.kinds.form import runner
from halflife.kinds.form.client import FormClient, corrected
from halflife.kinds.form.quality import form_quality
from halflife.kinds.form.runner import FormOutcome
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.form.web_form import WebForm
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.pages.audit import (
    AHEAD,
    NOW,
    due_at,
    issue,
    issued_at,
    outcome,
    part,
)
from halflife.models.rhythm import FLAT, Rhythm
from halflife.queries.doubt import AbsenceTracker
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.known.content import measure
from halflife.queries.ledger import Ledger
from halflife.queries.random_check import CHECKED, Draws, draw
from halflife.queries.turn_result import TurnResult
from halflife.readers.containment import contained
from halflife.stores import Run, Store
from halflife.stores.forecasts import IssuedForecast
from halflife.stores.notes.form_reads import FORM_READS

OVER = 24  # requests by which the last draw may exceed the limit


@dataclass(frozen=True, slots=True)
class Audit:
    """The input of a check of a copy.

    Attributes:
        source: The form.
        copy: Its present copy.
        register: The stored history, before anything is drawn.
        wish: What the copy is kept for.
        now: The time, in days.
        rhythm: The hours at which the source changes.

    """

    source: FormConfig
    copy: FormCopy
    register: Register
    wish: FormWish
    now: float
    rhythm: Rhythm = FLAT

    @property
    def known(self) -> bool:
        """Whether only the records in the copy matter."""
        return self.wish.purpose == "known"

    def quality(self, draws: Draws, then: float) -> tuple[float, float]:
        """Return the quality of the copy at a past time, and the number of checks."""
        differ = _plain(self.wish).measure.differ
        held = held_at(self.register, then)
        tally = draws.tally(held, lambda a, b: not differ(a, b))
        lacks = 0.0 if self.known else tally.lacks
        true = tally.held if self.wish.purpose == "new" else tally.true
        whole = tally.held + lacks
        return (min(true / whole, 1.0), tally.looks) if whole > 0 else (1.0, 0.0)

    def forecasts(self, sure: float = SURE) -> list[IssuedForecast]:
        """Return forecasts of the copy's quality without further requests.

        ``sure`` is the confidence of each bound.
        """
        ahead = np.array([NOW, *AHEAD])
        state = self.copy, self.source, self.now
        cast = form_quality(*state, sure, ahead, rhythm=self.rhythm)
        if cast is None:
            return []
        bands = cast.mean, cast.low, cast.high
        return issued_at(self.source.name, cast.measure, self.now, ahead, bands)


def _plain(wish: FormWish) -> FormWish:
    """Return the wish with a measure by which a record is either right or wrong."""
    columns = ",".join(wish.measure.columns)
    return replace(
        wish, measure=measure(f"changed:{columns}" if columns else "changed")
    )


def held_at(register: Register, then: float) -> dict[str, Attributes]:
    """Return the records that were in the copy at a time, as they were then."""
    held: dict[tuple[str, int], Attributes] = {}
    for spell in register.spells:
        ended = min(spell.gone_by, spell.missing_since)
        if spell.first_seen <= then and (ended > then or ended == NEVER):
            held[spell.key, spell.spell] = spell.attributes
    for version in register.versions:
        place = version.key, version.spell
        if place in held and version.seen_from <= then:
            held[place] = version.attributes or {}
    return {key: record for (key, _), record in held.items()}


def prepare(store: Store, source: FormConfig, now: float) -> Audit | None:
    """Return the input of a check; None if there is nothing to check."""
    if source.name not in store.collections():
        return None
    register = store.register(source.name)
    copy = replace(FormCopy.of(register), reads=runner.load_reads(store, source))
    if not copy.records or not copy.begun:
        return None
    wish, rhythm = runner.wish(source), rhythms.rhythm(store, source.name)
    return Audit(source, copy, register, wish, now, rhythm)


async def audit(
    client: FormClient, source: FormConfig, requests: int, rng: Generator
) -> int:
    """Draw records for about ``requests`` requests; return the requests spent.

    The draws refresh the copy like other fetches. New forecasts are saved, and earlier
    ones get their outcomes.
    """
    check = prepare(client.store, source, client.clock())
    if check is None or requests <= 0:
        return 0
    how = corrected(client.store, source)
    ledgers: list[Ledger] = []

    def work(desk: WebForm, run: Run) -> Draws:
        del run
        ledgers.append(Ledger(desk, requests + OVER))
        return draw(ledgers[0], check.copy.records, rng, requests, known=check.known)

    def write(draws: Draws, run: Run) -> None:
        _take(client, check, ledgers[0], run)
        _score(client.store, check, draws, rng)

    most = requests + OVER
    try:
        with contained(source.where):
            await client.run(source, how, work, most=most, write=write)
    except (AlreadyRunning, BudgetSpent):  # then another time
        return 0
    except SourceError:  # logged; the copy is kept whether or not it can be checked
        return client.spent
    return client.spent


def _take(client: FormClient, check: Audit, ledger: Ledger, run: Run) -> None:
    """Save the drawn records in the copy."""
    store, source = client.store, check.source
    doubts = AbsenceTracker(ledger.interface, check.copy.records)
    doubts.update(ledger)
    absent = doubts.absent()
    reads = check.copy.reads.after(ledger, check.copy, client.clock())
    FORM_READS.save(store, reads, source.name)
    if not ledger.seen and not absent:
        return
    last = listing_runner.tracker(store, source).last
    at = max(client.clock(), nextafter(last, inf))
    listing = Listing(
        at, dict(ledger.seen), complete=False, note=CHECKED, absent=absent
    )
    listing_runner.write(store, run, source, listing, client.spent, ledger.trouble)


def _score(store: Store, check: Audit, draws: Draws, rng: Generator) -> None:
    """Save new forecasts, and settle those that are due by the draws."""
    forecasts, name, settled = store.forecasts, check.source.name, []
    with store.together():
        if made := check.forecasts():
            issue(forecasts, name, made)
        due, missed = due_at(forecasts, name, check.now)
        for cast in due:
            quality, looks = check.quality(draws, cast.made)
            if looks > 0:
                settled.append(outcome(cast, check.now, quality, looks, rng))
        forecasts.settle(settled)
        forecasts.drop(missed)


def usual_checks(
    client: FormClient, source: FormConfig, most: int | None, share: float
) -> int:
    """Return the requests for checks in a turn that costs as much as the last one."""
    tried = runner.latest_queries(client.store, source)
    last = max((query.at for query in tried), default=0.0)
    spent = sum(query.requests for query in tried if query.at == last)
    requests = spent if most is None else min(spent, most)
    return part(share, requests, _rng(client, source))


async def turn(
    client: FormClient, source: FormConfig, most: int | None, checks: int
) -> tuple[FormOutcome, int]:
    """Keep a copy with at most ``most`` requests, some of which check it.

    Return the outcome, checks included, and the requests of the checks.
    """
    rng = _rng(client, source)
    check = prepare(client.store, source, client.clock())
    if checks <= 0 or check is None:
        return await runner.sync(client, source, most=most), 0
    first = bool(rng.random() < late_share(check))
    spent = await audit(client, source, checks, rng) if first else 0
    left = None if most is None else most - max(spent, checks)
    if left is None or left > 0:
        outcome = await runner.sync(client, source, most=left)
    else:
        listed = ListingOutcome(source.name, 0)
        outcome = FormOutcome(listed, TurnResult({}, stop=CHECKED))
    # An answer that waits for a decision must not be replaced by that of the checks.
    if not first and not outcome.held:
        spent = await audit(client, source, checks, rng)
    looked = replace(outcome.looked, requests=outcome.requests + spent)
    return replace(outcome, looked=looked), spent


def late_share(check: Audit) -> float:
    """Return the share of the time since the last turn for which its end stands.

    Half of it if the copy decays evenly; less if it decayed at an hour just before.
    """
    since = min(check.copy.last, check.now)
    if check.rhythm.flat or not check.now > since:
        return 0.5
    return float(check.rhythm.share_after(*np.array([since, check.now]))[0])


def _rng(client: FormClient, source: FormConfig) -> Generator:
    """Return a generator: the same source and time draw the same records."""
    moment = max(int(client.clock() * 86400.0), 0)
    return np.random.default_rng([moment, zlib.crc32(source.name.encode())])
