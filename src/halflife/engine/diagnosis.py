"""A look at everything that could be wrong, and what to do about each."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from halflife.config import Config, SourceConfig
from halflife.core import wording
from halflife.core.errors import ConfigError, StoreError
from halflife.core.store_address import is_address
from halflife.engine import (
    breakers,
    deliveries,
    faults,
    held_answers,
    ownership,
    redirects,
    state_record,
)
from halflife.engine.appraisal import Appraiser
from halflife.engine.quality_forecast import SURE, quality_now
from halflife.kinds.protocol import Reading
from halflife.kinds.registry import kind_of
from halflife.stores import Store, files, location
from halflife.stores.owner import Owner

PROBLEM, WARNING, NOTE = "problem", "warning", "note"
LEAST_SPACE = 64 << 20  # bytes free below which a sync may soon fail
HOUR = 1.0 / 24.0
RESTORE = "restore a backup: `halflife restore FILE`"
EARLIEST = 20_454.0  # 2026-01-01; a clock before that is wrong
QUIET = 7.0  # days without a finished run that are worth a word
LATE = 1.0  # days that a message may wait
FAILED = 3  # failures in a row with which a host is in trouble
MOST = 5  # names listed of many
FEW = 2000  # items of a source up to which all that its kind says is quick to ask


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something that a person may want to do something about.

    Attributes:
        level: ``problem``, ``warning`` or ``note``.
        about: What was looked at.
        text: What was found.
        advice: What to do.

    """

    level: str
    about: str
    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check has to go by."""

    config: Config
    store: Store
    now: float


def examine(config: Config, now: float) -> list[Complaint]:
    """Look at settings, disk, clock and store; return what was found, worst first."""
    found = [*_settings(config), *_place(config), *_time(now)]
    try:
        if location.is_there(config.store_place):
            found += _stored(config, now)
        lost = state_record.missing(config)
    except StoreError as error:
        advice = "see docs/postgres.md" if is_address(config.store) else RESTORE
        found.append(Complaint(PROBLEM, config.store_name, str(error), advice))
        lost = ""
    if lost:
        advice = "put the file back, or sync to begin anew"
        found.append(Complaint(WARNING, config.store_name, lost, advice))
    order = (PROBLEM, WARNING, NOTE)
    return sorted(found, key=lambda one: order.index(one.level))


def _settings(config: Config) -> Iterator[Complaint]:
    about = str(config.path)
    if not config.source:
        advice = "run `halflife add URL`"
        yield Complaint(WARNING, about, "there is nothing to keep yet", advice)
    if config.source and not config.fetch.contact:
        advice = "set [fetch] contact, so that sites can reach you"
        yield Complaint(NOTE, about, "no contact is given", advice)
    checks: list[Callable[[], object]] = [s.secrets for s in config.source]
    for alert in config.alert:
        checks += [alert.address, alert.secret_headers]
    checks += [sink.check_secrets for sink in config.sink]
    for check in checks:
        try:
            check()
        except ConfigError as error:
            yield Complaint(PROBLEM, about, str(error), "set the variable")
    for sink in config.sink:
        module, extra = sink.requires
        if module and find_spec(module) is None:
            text = f"sink {sink.name} needs {module}, which is not installed"
            advice = f'pip install "halflife[{extra}]"'
            yield Complaint(PROBLEM, about, text, advice)


def _place(config: Config) -> Iterator[Complaint]:
    """Look at the disk that the state file lies on; a database has its own keepers."""
    if is_address(config.store):
        return
    path = config.store_path
    about, folder = str(path), path.parent
    if not folder.is_dir():
        yield Complaint(PROBLEM, about, "its folder is missing", f"make {folder}")
        return
    kind = files.shared_disk(path)
    if kind:
        advice = "keep the state on a local disk"
        yield Complaint(PROBLEM, about, f"it lies on a network disk ({kind})", advice)
    size = path.stat().st_size if path.exists() else 0
    free = shutil.disk_usage(folder).free
    if free < max(LEAST_SPACE, size):
        text = f"{free >> 20} MiB are free on its disk, and it takes {size >> 20}"
        level = PROBLEM if free < LEAST_SPACE else WARNING
        advice = "free some space; `halflife gc --compact` may help"
        yield Complaint(level, about, text, advice)
    if not path.exists():
        advice = "run `halflife sync`"
        yield Complaint(NOTE, about, "there is no state file yet", advice)
        return
    yield from _permissions(path)


def _permissions(path: Path) -> Iterator[Complaint]:
    about = str(path)
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        advice = f"check who owns {path} and its folder"
        yield Complaint(PROBLEM, about, "it cannot be written", advice)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        advice = f"chmod 600 {path}"
        yield Complaint(NOTE, about, "others may read or write it", advice)
    left = [p.name for p in path.parent.glob(f"{path.name}.*") if _is_left(path, p)]
    if left:
        advice = "remove them when you are sure that all is well"
        text = f"older copies lie beside it: {_some(sorted(left))}"
        yield Complaint(NOTE, about, text, advice)


def _is_left(path: Path, other: Path) -> bool:
    ending = other.name.removeprefix(f"{path.name}.")
    return ending.startswith(("backup-v", "before-restore-", "part"))


def _time(now: float) -> Iterator[Complaint]:
    if now < EARLIEST:
        text = "this machine's clock is years behind"
        yield Complaint(PROBLEM, "clock", text, "set the clock, then sync again")


def _stored(config: Config, now: float) -> list[Complaint]:
    """Look into the state file; one that cannot be read is the only thing told."""
    about = config.store_name
    advice = "see docs/postgres.md" if is_address(config.store) else RESTORE
    try:
        with location.open_store(config.store_place, readonly=True) as store:
            wrong = store.verify()
            found = [Complaint(PROBLEM, about, text, advice) for text in wrong]
            if not wrong:
                visit = CheckContext(config, store, now)
                found += [one for check in _CHECKS for one in check(visit)]
    except StoreError as error:
        return [Complaint(PROBLEM, about, str(error), advice)]
    return found


def _made_anew(visit: CheckContext) -> Iterator[Complaint]:
    words = state_record.made_anew(visit.store, QUIET)
    if words:
        advice = "nothing, if that is what you want"
        yield Complaint(NOTE, visit.config.store_name, words, advice)


def _ahead(visit: CheckContext) -> Iterator[Complaint]:
    late = visit.now + HOUR
    for table, count in visit.store.reports.ahead_of(late).items():
        if count:
            rows = wording.count(count, "row")
            text = f"{rows} of {table} lie in the future: the clock was set back"
            advice = "check the clock; what lies ahead counts until its time is past"
            yield Complaint(WARNING, "clock", text, advice)


def _runs(visit: CheckContext) -> Iterator[Complaint]:
    last = visit.store.reports.last_finished()
    if last is not None and visit.now - last > QUIET:
        text = f"nothing was synced for {wording.span(visit.now - last)}"
        advice = "run `halflife sync`, or keep `halflife run` running"
        yield Complaint(WARNING, "runs", text, advice)
    here = Owner.here()
    for held in visit.store.reports.holders():
        if held.expires < visit.now or held.owner.is_gone(here):
            said = f"{held.source} is held by process {held.owner.pid}, which is gone"
            advice = "nothing: the next sync takes over"
            yield Complaint(NOTE, "leases", said, advice)


def _hosts(visit: CheckContext) -> Iterator[Complaint]:
    for state in visit.store.reports.failing_hosts(FAILED, visit.now + HOUR):
        wait = max(state.not_before - visit.now, 0.0) * 24.0
        text = (
            f"{state.name}: {wording.count(state.failures, 'failure')} in a "
            f"row, left alone {wait:.1f} h"
        )
        advice = "open it in a browser; if it has gone, remove its source"
        yield Complaint(WARNING, "hosts", text, advice)
    closed = visit.store.reports.hosts_without_robots()
    if closed:
        text = f"robots.txt cannot be read, so nothing is asked: {_some(closed)}"
        advice = "wait; if the host is yours, set robots = false for its source"
        yield Complaint(WARNING, "hosts", text, advice)


def _sources(visit: CheckContext) -> Iterator[Complaint]:
    reading = Reading(visit.config, visit.store, visit.now)
    for source in visit.config.source:
        kind = kind_of(source)
        if not kind.was_seen(reading, source):
            advice = f"run `halflife {kind.verb} {source.name}`"
            text = f"{source.name} was never seen"
            yield Complaint(WARNING, "sources", text, advice)


def _owners(visit: CheckContext) -> Iterator[Complaint]:
    """Look for orphans and overlaps: what settings and state file own differently."""
    for one in ownership.orphans(visit.config, visit.store):
        advice = (
            f"`halflife source remove {one.name} --data` to forget it, or "
            f"`halflife source rename {one.name} NEW`; nothing, if it was imported"
        )
        text = (
            f"the settings do not name {one.name}, of which "
            f"{wording.count(one.items, 'page')} and "
            f"{wording.count(one.objects, 'object')} are stored "
            "and no longer kept fresh"
        )
        yield Complaint(NOTE, "sources", text, advice)
    for two in ownership.overlaps(visit.config, visit.store):
        yield Complaint(WARNING, "sources", two.words(), two.advice)


def _changed(visit: CheckContext) -> Iterator[Complaint]:
    """Look for sources that have moved, or whose answers look different."""
    store = visit.store
    reading = Reading(visit.config, store, visit.now)
    for source in visit.config.source:
        name = source.name
        if place := redirects.where(store, source):
            advice = f"open it; if it is the same, write it into the settings of {name}"
            text = f"{name} has moved for good to {place}"
            yield Complaint(WARNING, "sources", text, advice)
        how = breakers.recall(store, name)
        lost, new = kind_of(source).drift(reading, source, how)
        for said in lost:
            text = f"{name}: its answers look different: {said}"
            yield Complaint(WARNING, "sources", text, _mend(source))
        for said in new:
            text = f"{name}: its answers look different, nothing is lost: {said}"
            yield Complaint(NOTE, "sources", text, "nothing has to be done")


def _incomplete(visit: CheckContext) -> Iterator[Complaint]:
    """Look for listings that were not read to their end."""
    for source in visit.config.source:
        if why := kind_of(source).incomplete(visit.store, source):
            advice = "until it is read whole, nothing that it lacks counts as gone"
            text = f"{source.name}: the last answer is incomplete: {why}"
            yield Complaint(WARNING, "sources", text, advice)


def _kinds(visit: CheckContext) -> Iterator[Complaint]:
    """Look for kinds that fail, or say what cannot be so, and ask each to be sure."""
    appraiser = Appraiser(visit.config, visit.store, visit.now)
    for source in visit.config.source:
        kind = kind_of(source)
        if (kind.count(visit.store, source) or 0) <= FEW:
            state = appraiser.state(source)
            kind.describe(state)
            kind.offers(state)
            kind.ages(state)
            kind.steps(state, 1)
            kind.worth(state, SURE)
            quality_now(appraiser, source)
    for fault in faults.found(visit.store, visit.config.source):
        advice = "report it to the author of its kind; other sources go on"
        yield Complaint(PROBLEM, "kinds", fault.words(), advice)


def _advice(visit: CheckContext) -> Iterator[Complaint]:
    for source in visit.config.source:
        for text, advice in kind_of(source).advice(visit.store, source):
            yield Complaint(NOTE, source.name, text, advice)


def _mend(source: SourceConfig) -> str:
    keys = kind_of(source).answer_keys
    return f"look at what it answers, then mend {keys} of {source.name} in the settings"


def _waiting(visit: CheckContext) -> Iterator[Complaint]:
    for held in held_answers.waiting(visit.store):
        text = f"{held.source}: an answer waits for a decision: {held.why}"
        yield Complaint(WARNING, "held", text, held.advice)
    outbox = visit.store.outbox
    dead = outbox.tally()["dead"]
    if dead:
        why = outbox.latest("dead", 1)[0]
        text = (
            f"{wording.count(dead, 'message')} given up; the last to "
            f"{why.target}: {why.trouble}"
        )
        advice = "run `halflife alerts --test`, then `halflife alerts --retry`"
        yield Complaint(WARNING, "messages", text, advice)
    late = len(outbox.due(visit.now - LATE))
    if late:
        advice = "run `halflife alerts --test` to see why"
        text = f"{wording.count(late, 'message')} waiting for more than a day"
        yield Complaint(WARNING, "messages", text, advice)


def _sinks(visit: CheckContext) -> Iterator[Complaint]:
    """Look for sinks that do not get what changed."""
    for one in deliveries.reports(visit.config, visit.store):
        if said := one.trouble():
            lost = one.state.halted or one.dead or one.state.missed
            text = f"{one.settings.name}: {said}"
            yield Complaint(PROBLEM if lost else WARNING, "sinks", text, one.advice)
    known = {sink.name for sink in visit.config.sink}
    for state in visit.store.sinks.states():
        if state.name not in known:
            text = f"the settings do not name {state.name}, which was delivered to"
            advice = "nothing; it goes on where it stopped if it is named again"
            yield Complaint(NOTE, "sinks", text, advice)


def _size(visit: CheckContext) -> Iterator[Complaint]:
    days = visit.config.keep.observations_days
    old = visit.store.reports.old_observations(visit.now - 2.0 * days)
    if old:
        text = (
            f"{wording.count(old, 'observation')} older than twice the "
            f"{wording.count(days, 'day')} they are kept"
        )
        yield Complaint(NOTE, "size", text, "run `halflife gc`")


_CHECKS = (
    _made_anew,
    _ahead,
    _runs,
    _hosts,
    _sources,
    _owners,
    _changed,
    _incomplete,
    _kinds,
    _advice,
    _waiting,
    _sinks,
    _size,
)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
