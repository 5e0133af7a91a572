"""Audits of listings and forms on recorded histories, beside the truth.

A listing is looked at every day, and every look tells what was forecast of the copy. A
form is kept by upkeep on few requests, and a share of them goes to records drawn at
random. Each also in a world that changes faster from a day on: what was learned until
then does not hold any more.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Interface
from halflife.core.lifetimes import Collection
from halflife.core.object_store import Attributes, Listing
from halflife.core.tracker import Tracker
from halflife.engine import audit_report
from halflife.kinds.form.audit import Audit
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing.audit import audit_set
from halflife.kinds.pages.audit import due_at, issue, outcome
from halflife.models.audit import pooled_share
from halflife.models.calibration import coverage, interval_score
from halflife.models.setquality import forecast as set_forecast
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.ledger import Ledger
from halflife.queries.random_check import CHECKED, Draws, draw
from halflife.queries.table_form import TableForm
from halflife.queries.upkeep import maintain
from halflife.queries.value_reads import FormReads
from halflife.recordings.objects import load_parquet
from halflife.recordings.relations import Relation
from halflife.replay.listings import thin
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.sqlite import SqliteStore
from lab.tables import tables

OBJECTS, KEYS = 400, 1000  # of listings, and of forms; not all are there at once
DAYS, MIDDLE, FASTER = 80.0, 50.0, 3.0
FIRST = 20.0  # days from which forecasts count: there must be a past to go by
LEVELS = (0.9, 0.95)
REQUESTS, CHECKS = 12, 2  # of a form, a day
NAME = "one"


@dataclass
class AuditScores:
    """The errors of forecasts.

    Attributes:
        made: When each was made.
        ahead: Its horizon in days.
        score: Its error in standard deviations, by the bounds for 90 % and by those
            for 95 %.
        trust: The trust factor when it was made.
        bounds: Mean, low and high at 95 %, and the truth.
        found: Quality found by audits, and the truth: day, quality, truth, sample size.

    """

    made: list[float] = field(default_factory=list)
    ahead: list[float] = field(default_factory=list)
    score: list[tuple[float, float]] = field(default_factory=list)
    trust: list[float] = field(default_factory=list)
    bounds: list[tuple[float, float, float, float]] = field(default_factory=list)
    found: list[tuple[float, float, float, float]] = field(default_factory=list)

    def note(
        self,
        one: IssuedForecast,
        narrow: tuple[float, float],
        truth: float,
        trust: float,
    ) -> None:
        """Note a forecast that was made, its bounds for 90 %, and what came of it."""
        low, high = narrow
        inner = replace(one, low=low, high=high, confidence=LEVELS[0])
        self.made.append(one.made)
        self.ahead.append(one.ahead)
        self.score.append((far_off(inner, truth), far_off(one, truth)))
        self.trust.append(trust)
        self.bounds.append((one.mean, one.low, one.high, truth))


def covered(told: list[AuditScores], begin: float, end: float) -> list[dict[str, Any]]:
    """Return how often forecasts made between two days came true, by horizon."""
    made, ahead, score, trust, bounds = (
        np.concatenate([np.array(getattr(one, name)) for one in told])
        for name in ("made", "ahead", "score", "trust", "bounds")
    )
    some = (made >= begin) & (made < end)
    rows = []
    for days in np.unique(ahead[some]).tolist():
        mine = some & (ahead == days)
        row: dict[str, Any] = {"ahead": days, "forecasts": int(mine.sum())}
        for level, off in zip(LEVELS, score[mine].T, strict=True):
            stated = coverage(off, confidence=level)
            doubted = coverage(off / trust[mine], confidence=level)
            row[f"{level:g}"] = {"stated": stated.mean, "with_trust": doubted.mean}
        row |= worth(bounds[mine], trust[mine])
        rows.append({**row, "trust": float(np.mean(trust[mine]))})
    return rows


def worth(bounds: Floats, trust: Floats) -> dict[str, Any]:
    """Return the mean error, width and interval score of bounds for 95 %.

    ``bounds`` has the mean, low, high and the truth of each forecast as a row.
    """
    mean, low, high, truth = bounds.T
    row: dict[str, Any] = {"error": float(np.mean(mean - truth))}
    for name, factor in (("stated", np.ones(1)), ("with_trust", trust)):
        below = np.clip(mean - factor * (mean - low), 0.0, 1.0)
        above = np.clip(mean + factor * (high - mean), 0.0, 1.0)
        row[f"width_{name}"] = float(np.mean(above - below))
        row[f"score_{name}"] = float(np.mean(interval_score(below, above, truth)))
    return row


def far_off(one: IssuedForecast, truth: float) -> float:
    """Return how far off a forecast was, in standard deviations, without a limit."""
    off = truth - one.mean
    side = one.mean - one.low if off < 0 else one.high - one.mean
    if abs(off) < 1e-12:
        return 0.0
    z = float(lazy_scipy.ndtri(0.5 + one.confidence / 2.0))
    return z * off / side if side > 0 else float(np.copysign(np.inf, off))


def hurried(source: Collection, begin: float) -> Collection:
    """Return a listing in which all after the middle happens faster."""
    middle = begin + MIDDLE

    def sooner(at: Floats) -> Floats:
        return np.where(at > middle, middle + (at - middle) / FASTER, at)

    lives = source.lives
    lives = replace(
        lives,
        absent_before=sooner(lives.absent_before),
        first_seen=sooner(lives.first_seen),
        last_seen=sooner(lives.last_seen),
        gone_by=sooner(lives.gone_by),
    )
    changed, looks = sooner(source.changed_at), sooner(source.looks)
    return replace(source, lives=lives, looks=looks, changed_at=changed)


def listing(folder: Path, seed: int, *, faster: bool) -> AuditScores:
    """Look at a recorded listing every day; return what was forecast and came true."""
    whole = load_parquet(folder, NAME)
    rng = np.random.default_rng(seed)
    begin = float(whole.looks[0])
    if faster:
        whole = hurried(whole, begin)
    objects = rng.permutation(int(whole.lives.object.max()) + 1)[:OBJECTS]
    whole = whole.select(np.isin(whole.lives.object, objects))
    looks = begin + np.arange(1.0, DAYS)
    seen, told = thin(whole, looks), AuditScores()
    with _opened() as store:
        for at in looks.tolist():
            run = store.begin([NAME], at, lease=1e9)
            store.save_collection(run, seen.until(at))
            store.finish(run, at)
            audit_set(store, NAME, run.id)
            trust = audit_report.trust(store, NAME, at).factor
            made = [f for f in Forecasts(store).made(NAME, at) if f.due <= looks[-1]]
            ahead = [one.ahead for one in made]
            inner = set_forecast(seen.until(at), at, ahead, LEVELS[0]).recall
            for one, *narrow in zip(made, inner.low, inner.high, strict=True):
                _, recall = whole.quality(at, one.due)
                since = replace(one, made=at - begin)
                told.note(since, (narrow[0], narrow[1]), recall, trust)
    return told


@contextmanager
def _opened() -> Iterator[SqliteStore]:
    with (
        tempfile.TemporaryDirectory() as place,
        SqliteStore.open(Path(place) / "state.db", create=True) as store,
    ):
        yield store


def listings(folder: Path, seed: int = 22) -> dict[str, Any]:
    """Return how forecasts of recorded listings came true."""
    there = [table for table in tables(folder) if table.length >= DAYS]
    calm = [listing(table.folder, seed, faster=False) for table in there]
    busy = [listing(table.folder, seed, faster=True) for table in there]
    return {
        "sources": [table.name for table in there],
        "as_recorded": covered(calm, FIRST, DAYS),
        "before_the_change": covered(busy, FIRST, MIDDLE),
        "after_the_change": covered(busy, MIDDLE, DAYS),
    }


class Clocked:
    """A recorded relation, the time of which runs faster from the middle on."""

    def __init__(self, relation: Relation, rng_seed: int, *, faster: bool) -> None:
        self._relation = relation
        self._begin = float(relation.looks[0])
        self._faster = faster
        rng = np.random.default_rng(rng_seed)
        keys = sorted(set(relation.keys))
        self._only = set(rng.permutation(keys)[:KEYS].tolist())

    def at(self, day: float) -> dict[str, Attributes]:
        """Return the records that are there on a day."""
        if self._faster and day > MIDDLE:
            day = MIDDLE + (day - MIDDLE) * FASTER
        found = self._relation.at(self._begin + day)
        return {key: record for key, record in found.items() if key in self._only}


@dataclass
class _Desk:
    """A form that is kept by upkeep and audited, day by day."""

    source: FormConfig
    interface: Interface
    store: SqliteStore
    told: AuditScores = field(default_factory=AuditScores)
    tracker: Tracker = field(default_factory=Tracker)
    reads: FormReads = field(default_factory=FormReads)

    @property
    def copy(self) -> FormCopy:
        """The present copy."""
        return replace(FormCopy.of(self.tracker.register()), reads=self.reads)

    def day(self, world: Clocked, day: float, rng: np.random.Generator) -> None:
        """Audit the copy before or after its turn, by a coin; and keep it."""
        first = rng.random() < 0.5
        if first:
            self._audit(world, day, rng)
        form = TableForm(self.interface, world.at(day), rng=rng)
        copy = self.copy
        most = None if not copy.records else REQUESTS - CHECKS
        ledger = Ledger(form, most)
        kept = maintain(ledger, copy, FormWish(), day, rng)
        self.reads = self.reads.after(ledger, copy, day)
        note = kept.stop or "asked"
        records = dict(kept.records)
        self._take(day, Listing(day, records, kept.complete, note, kept.absent))
        if not first:
            self._audit(world, day + 1e-6, rng)

    def _take(self, day: float, listing: Listing) -> None:
        at = max(day, np.nextafter(self.tracker.last, np.inf))
        self.tracker.take(replace(listing, at=at))

    def _audit(self, world: Clocked, day: float, rng: np.random.Generator) -> None:
        register = self.tracker.register()
        copy = self.copy
        if not copy.records:
            return
        there = world.at(day)
        ledger = Ledger(TableForm(self.interface, there, rng=rng), 200)
        asked = Audit(self.source, copy, register, FormWish(), day)
        draws = draw(ledger, copy.records, rng, CHECKS, known=False)
        self._score(world, asked, draws, rng)
        self.reads = self.reads.after(ledger, copy, day)
        listing = Listing(day, dict(ledger.seen), complete=False, note=CHECKED)
        self._take(day, listing)

    def _score(
        self, world: Clocked, asked: Audit, draws: Draws, rng: np.random.Generator
    ) -> None:
        book, day = Forecasts(self.store), asked.now
        trust = audit_report.trust(self.store, NAME, day).factor
        made, inner = asked.forecasts(), asked.forecasts(sure=0.5 + LEVELS[0] / 2.0)
        for one, less in zip(made, inner, strict=True):
            if one.due <= DAYS:
                truth = share_true(asked.copy.records, world.at(one.due))
                self.told.note(one, (less.low, less.high), truth, trust)
        issue(book, NAME, made)
        due, missed = due_at(book, NAME, day)
        done = []
        for cast in due:
            found, looks = asked.quality(draws, cast.made)
            if looks <= 0:
                continue
            done.append(outcome(cast, day, found, looks, rng))
            if cast.ahead == 0.0:
                truth = share_true(asked.copy.records, world.at(day))
                self.told.found.append((day, found, truth, looks))
        book.settle(done)
        book.drop(missed)


def share_true(
    held: Mapping[str, Attributes], there: Mapping[str, Attributes]
) -> float:
    """Return the true quality of a copy: what it has as it is, of what it should."""
    right = sum(there.get(key) == record for key, record in held.items())
    return right / max(len(held) + len(there.keys() - held.keys()), 1)


def form(
    relation: Relation, seed: int, *, counted: bool, faster: bool, by: str = "company"
) -> AuditScores:
    """Keep a recorded relation behind a form, asked for ``by``, and audit the copy."""
    world = Clocked(relation, seed, faster=faster)
    values = {str(r.get(by)) for d in (0.0, MIDDLE, DAYS) for r in world.at(d).values()}
    interface = Interface(
        (Attribute(by, "select", tuple(sorted(values))),),
        page_size=25,
        counts="exact" if counted else "none",
        everything=counted,
        lookup=counted,
    )
    source = FormConfig.model_construct(name=NAME, kind="form", purpose="both")
    rng = np.random.default_rng(seed)
    with _opened() as store:
        desk = _Desk(source, interface, store)
        for day in np.arange(1.0, DAYS).tolist():
            desk.day(world, day, rng)
        return desk.told


def quality(told: list[AuditScores], period: float = 20.0) -> dict[str, Any]:
    """Return how often the quality found in a period had the truth in its interval."""
    inside, error, width = [], [], []
    for one in told:
        day, found, truth, looks = np.array(one.found).T
        for begin in np.arange(0.0, DAYS, period):
            some = (day >= begin) & (day < begin + period)
            mean, low, high = pooled_share(found[some], looks[some], alike=True)
            true = float(truth[some].mean())
            inside.append(low <= true <= high)
            error.append(mean - true)
            width.append(high - low)
    return {
        "periods": len(inside),
        "truth_inside": float(np.mean(inside)),
        "mean_error": float(np.mean(error)),
        "mean_width": float(np.mean(width)),
    }


def true_quality(told: AuditScores) -> float:
    """Return the mean true quality of the copy at its audits, from ``FIRST`` on."""
    return fmean(truth for day, _, truth, _ in told.found if day >= FIRST)


def formed(folder: Path) -> tuple[Relation, str]:
    """Return the largest table looked at daily, and what a form asks for to read it.

    Raises:
        UsageError: If no table has an attribute that is chosen from a list.

    """
    found = [
        table
        for table in tables(folder)
        if table.is_daily and table.length >= DAYS and table.choice
    ]
    if not found:
        raise UsageError(f"no table in {folder} can be asked for daily by a form")
    largest = max(found, key=lambda table: len(table.relation.keys))
    return largest.relation, largest.choice


def forms(folder: Path, seeds: tuple[int, ...] = (17, 18)) -> dict[str, Any]:
    """Return how audits and forecasts of recorded forms came true."""
    relation, by = formed(folder)
    out: dict[str, Any] = {}
    for name, counted in (("looked_up", True), ("drilled", False)):
        one = partial(form, relation, counted=counted, by=by)
        calm = [one(seed, faster=False) for seed in seeds]
        busy = [one(seed, faster=True) for seed in seeds]
        out[name] = {
            "quality": quality(calm + busy),
            "true_quality": [true_quality(one) for one in calm],
            "as_recorded": covered(calm, FIRST, DAYS),
            "before_the_change": covered(busy, FIRST, MIDDLE),
            "after_the_change": covered(busy, MIDDLE, DAYS),
        }
    return out
