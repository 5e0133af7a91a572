"""Checking the copies of databases behind forms, by records drawn at random.

A turn of upkeep comes when a copy is worst and leaves it at its best. So a coin says
whether a turn's checks are made before or after it: over many turns they show the copy
as it is on average, if it falls evenly in between, or at the source's hours.
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
from halflife.kinds.form import client, runner
from halflife.kinds.form.client import Former
from halflife.kinds.form.quality import form_quality
from halflife.kinds.form.runner import Turned
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
from halflife.queries.doubt import Doubts
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.known.content import measure
from halflife.queries.ledger import Ledger
from halflife.queries.random_check import CHECKED, Draws, draw
from halflife.queries.turn_result import TurnResult
from halflife.readers.containment import contained
from halflife.stores import Run, Store
from halflife.stores.forecasts import Issued

OVER = 24  # requests by which the last draw may exceed what it was meant to take


@dataclass(frozen=True, slots=True)
class Audit:
    """What is needed to check a copy.

    Attributes:
        source: The form.
        copy: Its copy as it is held.
        register: All that is known of it, before anything is drawn.
        wish: What the copy is kept for.
        now: The time, in days.
        rhythm: When in the day the source changes.

    """

    source: FormConfig
    copy: FormCopy
    register: Register
    wish: FormWish
    now: float
    rhythm: Rhythm = FLAT

    @property
    def known(self) -> bool:
        """Whether only the records that are held matter."""
        return self.wish.purpose == "known"

    def quality(self, draws: Draws, then: float) -> tuple[float, float]:
        """Return the quality of the copy as it was held then, and by how many looks."""
        differ = _plain(self.wish).measure.differ
        held = held_at(self.register, then)
        tally = draws.tally(held, lambda a, b: not differ(a, b))
        lacks = 0.0 if self.known else tally.lacks
        true = tally.held if self.wish.purpose == "new" else tally.true
        whole = tally.held + lacks
        return (min(true / whole, 1.0), tally.looks) if whole > 0 else (1.0, 0.0)

    def believed(self, sure: float = SURE) -> list[Issued]:
        """Return what is believed of the copy, now and later if nothing is done.

        ``sure`` is the confidence of each bound.
        """
        ahead = np.array([NOW, *AHEAD])
        known = self.copy, self.source, self.now
        cast = form_quality(*known, sure, ahead, rhythm=self.rhythm)
        if cast is None:
            return []
        bands = cast.mean, cast.low, cast.high
        return issued_at(self.source.name, cast.measure, self.now, ahead, bands)


def _plain(wish: FormWish) -> FormWish:
    """Return a wish by which a record is right or wrong, and nothing in between."""
    said = ",".join(wish.measure.columns)
    return replace(wish, measure=measure(f"changed:{said}" if said else "changed"))


def held_at(register: Register, then: float) -> dict[str, Attributes]:
    """Return the records that were held at a moment, as they were known then."""
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


def ready(store: Store, source: FormConfig, now: float) -> Audit | None:
    """Return what is needed to check a copy; None if there is nothing to check."""
    if source.name not in store.collections():
        return None
    register = store.register(source.name)
    copy = FormCopy.of(register)
    if not copy.records or not copy.begun:
        return None
    wish, rhythm = runner.wish(source), rhythms.rhythm(store, source.name)
    return Audit(source, copy, register, wish, now, rhythm)


async def audit(
    former: Former, source: FormConfig, requests: int, rng: Generator
) -> int:
    """Draw records for so many requests, or some more; return how many it took.

    They are looks like any other, and refresh the copy. What is believed of it is
    written down, and forecasts made earlier get their outcomes.
    """
    asked = ready(former.store, source, former.clock())
    if asked is None or requests <= 0:
        return 0
    how = client.corrected(former.store, source)
    ledgers: list[Ledger] = []

    def work(desk: WebForm, run: Run) -> Draws:
        del run
        ledgers.append(Ledger(desk, requests + OVER))
        return draw(ledgers[0], asked.copy.records, rng, requests, known=asked.known)

    def write(draws: Draws, run: Run) -> None:
        _take(former, asked, ledgers[0], run)
        _score(former.store, asked, draws, rng)

    most = requests + OVER
    try:
        with contained(source.where):
            await former.asking(source, how, work, most=most, write=write)
    except (AlreadyRunning, BudgetSpent):  # then another time
        return 0
    except SourceError:  # logged; the copy is kept whether or not it can be checked
        return former.spent
    return former.spent


def _take(former: Former, asked: Audit, ledger: Ledger, run: Run) -> None:
    """Take what was shown into the copy."""
    store, source = former.store, asked.source
    doubts = Doubts(ledger.interface, asked.copy.records)
    doubts.hear(ledger)
    absent = doubts.absent()
    if not ledger.seen and not absent:
        return
    last = listing_runner.tracker(store, source).last
    at = max(former.clock(), nextafter(last, inf))
    listing = Listing(
        at, dict(ledger.seen), complete=False, note=CHECKED, absent=absent
    )
    listing_runner.write(store, run, source, listing, former.spent, ledger.trouble)


def _score(store: Store, asked: Audit, draws: Draws, rng: Generator) -> None:
    """Write down what is believed, and what the draws tell of what was."""
    kept, name, told = store.forecasts, asked.source.name, []
    with store.together():
        if made := asked.believed():
            issue(kept, name, made)
        due, missed = due_at(kept, name, asked.now)
        for cast in due:
            found, looks = asked.quality(draws, cast.made)
            if looks > 0:
                told.append(outcome(cast, asked.now, found, looks, rng))
        kept.settle(told)
        kept.drop(missed)


def usual(former: Former, source: FormConfig, most: int | None, share: float) -> int:
    """Return the audit's share of a turn that takes as much as the last one did."""
    tried = runner.tried(former.store, source)
    last = max((one.at for one in tried), default=0.0)
    taken = sum(one.requests for one in tried if one.at == last)
    some = taken if most is None else min(taken, most)
    return part(share, some, _chance(former, source))


async def turn(
    former: Former, source: FormConfig, most: int | None, checks: int
) -> tuple[Turned, int]:
    """Keep a copy for so many requests, some of which check it; see the module.

    Return what upkeep came to, the checks counted in, and what they took.
    """
    rng = _chance(former, source)
    asked = ready(former.store, source, former.clock())
    if checks <= 0 or asked is None:
        return await runner.sync(former, source, most=most), 0
    first = bool(rng.random() < late(asked))
    spent = await audit(former, source, checks, rng) if first else 0
    left = None if most is None else most - max(spent, checks)
    if left is None or left > 0:
        turned = await runner.sync(former, source, most=left)
    else:
        turned = Turned(ListingOutcome(source.name, 0), TurnResult({}, stop=CHECKED))
    if not first:
        spent = await audit(former, source, checks, rng)
    looked = replace(turned.looked, requests=turned.requests + spent)
    return replace(turned, looked=looked), spent


def late(asked: Audit) -> float:
    """Return the share of time since the last turn that its end stands for.

    Half of it if the copy falls evenly; less if it fell at an hour just before.
    """
    since = min(asked.copy.last, asked.now)
    if asked.rhythm.flat or not asked.now > since:
        return 0.5
    return float(asked.rhythm.late(*np.array([since, asked.now]))[0])


def _chance(former: Former, source: FormConfig) -> Generator:
    """Return a source of chance: the same state and moment draw the same records."""
    moment = max(int(former.clock() * 86400.0), 0)
    return np.random.default_rng([moment, zlib.crc32(source.name.encode())])
