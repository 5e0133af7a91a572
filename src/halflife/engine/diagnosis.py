"""Checks of everything that could be wrong, with advice, for ``halflife doctor``."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from halflife.config import Config, SourceConfig
from halflife.config.sinks import extra_of
from halflife.core import wording
from halflife.core.errors import ConfigError, StoreError, TooNew
from halflife.core.store_address import is_address
from halflife.engine import (
    breakers,
    deliveries,
    faults,
    held_answers,
    ownership,
    redirects,
    state_record,
    targets,
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
QUIET = 7.0  # days without a finished run that are reported
LATE = 1.0  # days that a message may wait
FAILED = 3  # failures in a row with which a host is in trouble
MOST = 5  # names listed of many
FEW = 2000  # items of a source up to which all methods of its kind are quick


@dataclass(frozen=True, slots=True)
class Complaint:
    """A finding that may need action.

    Attributes:
        level: ``problem``, ``warning`` or ``note``.
        about: What was checked.
        text: The finding.
        advice: What to do.

    """

    level: str
    about: str
    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The input of a check."""

    config: Config
    store: Store
    now: float


def examine(config: Config, now: float) -> list[Complaint]:
    """Check settings, disk, clock and store; return the findings, worst first."""
    found = [*_settings(config), *_place(config), *_time(now)]
    try:
        if location.is_there(config.store_place):
            found += _stored(config, now)
        lost = state_record.missing(config)
    except StoreError as error:
        found.append(_unreadable(config, error))
        lost = ""
    if lost:
        advice = "put the file back, or sync to start again"
        found.append(Complaint(WARNING, config.store_name, lost, advice))
    order = (PROBLEM, WARNING, NOTE)
    return sorted(found, key=lambda finding: order.index(finding.level))


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
        module, _ = sink.requires
        if module and find_spec(module) is None:
            text = f"sink {sink.name} needs {module}, which is not installed"
            advice = f'pip install "{extra_of(sink)}"'
            yield Complaint(PROBLEM, about, text, advice)


def _place(config: Config) -> Iterator[Complaint]:
    """Check the disk of the state file; a database has its own administrators."""
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
        text = f"{free >> 20} MiB are free on its disk, and it uses {size >> 20}"
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
    left = [p.name for p in path.parent.glob(f"{path.name}.*") if _is_copy(path, p)]
    if left:
        advice = "remove them when you are sure that all is well"
        text = f"older copies lie beside it: {_listed(sorted(left))}"
        yield Complaint(NOTE, about, text, advice)


def _is_copy(path: Path, other: Path) -> bool:
    ending = other.name.removeprefix(f"{path.name}.")
    return ending.startswith(("backup-v", "before-restore-", "part"))


def _time(now: float) -> Iterator[Complaint]:
    if now < EARLIEST:
        text = "this machine's clock is years behind"
        yield Complaint(PROBLEM, "clock", text, "set the clock, then sync again")


def _stored(config: Config, now: float) -> list[Complaint]:
    """Check the contents of the state file, if it can be read."""
    about = config.store_name
    advice = "see docs/postgres.md" if is_address(config.store) else RESTORE
    try:
        with location.open_store(config.store_place, readonly=True) as store:
            wrong = store.verify()
            found = [Complaint(PROBLEM, about, text, advice) for text in wrong]
            if not wrong:
                context = CheckContext(config, store, now)
                found += [finding for check in _CHECKS for finding in check(context)]
    except StoreError as error:
        return [_unreadable(config, error)]
    return found


def _unreadable(config: Config, error: StoreError) -> Complaint:
    advice = "see docs/postgres.md" if is_address(config.store) else RESTORE
    if isinstance(error, TooNew):  # nothing is wrong with the state itself
        advice = "upgrade halflife on this machine"
    return Complaint(PROBLEM, config.store_name, str(error), advice)


def _made_anew(context: CheckContext) -> Iterator[Complaint]:
    words = state_record.made_anew(context.store, QUIET)
    if words:
        advice = "nothing, if that is what you want"
        yield Complaint(NOTE, context.config.store_name, words, advice)


def _ahead(context: CheckContext) -> Iterator[Complaint]:
    late = context.now + HOUR
    for table, count in context.store.reports.ahead_of(late).items():
        if count:
            rows = wording.count(count, "row")
            text = f"{rows} of {table} lie in the future: the clock was set back"
            advice = "check the clock; what lies ahead counts until its time is past"
            yield Complaint(WARNING, "clock", text, advice)


def _runs(context: CheckContext) -> Iterator[Complaint]:
    last = context.store.reports.last_finished()
    if last is not None and context.now - last > QUIET:
        text = f"nothing was synced for {wording.span(context.now - last)}"
        advice = "run `halflife sync`, or keep `halflife run` running"
        yield Complaint(WARNING, "runs", text, advice)
    here = Owner.here()
    for held in context.store.reports.holders():
        if held.expires < context.now or held.owner.is_gone(here):
            text = f"{held.source} is held by process {held.owner.pid}, which is gone"
            advice = "nothing: the next sync takes over"
            yield Complaint(NOTE, "leases", text, advice)


def _hosts(context: CheckContext) -> Iterator[Complaint]:
    for state in context.store.reports.failing_hosts(FAILED, context.now + HOUR):
        wait = max(state.not_before - context.now, 0.0) * 24.0
        text = (
            f"{state.name}: {wording.count(state.failures, 'failure')} in a "
            f"row, not fetched for another {wait:.1f} h"
        )
        advice = "open it in a browser; if it has gone, remove its source"
        yield Complaint(WARNING, "hosts", text, advice)
    closed = context.store.reports.hosts_without_robots()
    if closed:
        text = f"robots.txt cannot be read, so nothing is fetched: {_listed(closed)}"
        advice = "wait; if the host is yours, set robots = false for its source"
        yield Complaint(WARNING, "hosts", text, advice)


def _sources(context: CheckContext) -> Iterator[Complaint]:
    reading = Reading(context.config, context.store, context.now)
    for source in context.config.source:
        kind = kind_of(source)
        if not kind.was_seen(reading, source):
            advice = f"run `halflife {kind.verb} {source.name}`"
            text = f"{source.name} was never seen"
            yield Complaint(WARNING, "sources", text, advice)


def _owners(context: CheckContext) -> Iterator[Complaint]:
    """Find orphans and overlaps: where settings and state file differ on sources."""
    for orphan in ownership.orphans(context.config, context.store):
        advice = (
            f"`halflife source remove {orphan.name} --data` to forget it, or "
            f"`halflife source rename {orphan.name} NEW`; nothing, if it was imported"
        )
        text = (
            f"the settings do not name {orphan.name}, of which "
            f"{wording.count(orphan.items, 'page')} and "
            f"{wording.count(orphan.objects, 'object')} are stored "
            "and no longer kept fresh"
        )
        yield Complaint(NOTE, "sources", text, advice)
    for overlap in ownership.overlaps(context.config, context.store):
        yield Complaint(WARNING, "sources", overlap.words(), overlap.advice)


def _changed(context: CheckContext) -> Iterator[Complaint]:
    """Find sources that have moved, or whose answers have changed their schema."""
    store = context.store
    reading = Reading(context.config, store, context.now)
    for source in context.config.source:
        name = source.name
        if place := redirects.where(store, source):
            advice = f"open it; if it is the same, write it into the settings of {name}"
            text = f"{name} has moved for good to {place}"
            yield Complaint(WARNING, "sources", text, advice)
        breaker = breakers.recall(store, name)
        lost, new = kind_of(source).drift(reading, source, breaker)
        for difference in lost:
            text = f"{name}: its answers look different: {difference}"
            yield Complaint(WARNING, "sources", text, _repair_advice(source))
        for difference in new:
            text = f"{name}: its answers look different, nothing is lost: {difference}"
            yield Complaint(NOTE, "sources", text, "nothing has to be done")


def _incomplete(context: CheckContext) -> Iterator[Complaint]:
    """Find listings that were not read to their end."""
    for source in context.config.source:
        if why := kind_of(source).incomplete(context.store, source):
            advice = "until it is read whole, nothing that it lacks counts as gone"
            text = f"{source.name}: the last answer is incomplete: {why}"
            yield Complaint(WARNING, "sources", text, advice)


def _kinds(context: CheckContext) -> Iterator[Complaint]:
    """Find kinds that fail or return invalid values, by calling each of them."""
    appraiser = Appraiser(context.config, context.store, context.now)
    for source in context.config.source:
        kind = kind_of(source)
        if (kind.count(context.store, source) or 0) <= FEW:
            state = appraiser.state(source)
            kind.describe(state)
            kind.offers(state)
            kind.ages(state)
            kind.steps(state, 1)
            kind.worth(state, SURE)
            quality_now(appraiser, source)
    for fault in faults.found(context.store, context.config.source):
        advice = "report it to the author of its kind; other sources go on"
        yield Complaint(PROBLEM, "kinds", fault.words(), advice)


def _advice(context: CheckContext) -> Iterator[Complaint]:
    for source in context.config.source:
        for text, advice in kind_of(source).advice(context.store, source):
            yield Complaint(NOTE, source.name, text, advice)


def _repair_advice(source: SourceConfig) -> str:
    keys = kind_of(source).answer_keys
    return (
        f"check what it answers, then correct {keys} of {source.name} in the settings"
    )


def _waiting(context: CheckContext) -> Iterator[Complaint]:
    for held in held_answers.pending_answers(context.store):
        text = f"{held.source}: an answer waits for a decision: {held.why}"
        yield Complaint(WARNING, "held", text, held.advice)
    outbox = context.store.outbox
    dead = outbox.tally()["dead"]
    if dead:
        last = outbox.latest("dead", 1)[0]
        text = (
            f"{wording.count(dead, 'message')} given up; the last to "
            f"{last.target}: {last.trouble}"
        )
        advice = "run `halflife alerts --test`, then `halflife alerts --retry`"
        yield Complaint(WARNING, "messages", text, advice)
    late = len(outbox.due(context.now - LATE))
    if late:
        advice = "run `halflife alerts --test` to see why"
        text = f"{wording.count(late, 'message')} waiting for more than a day"
        yield Complaint(WARNING, "messages", text, advice)


def _targets(context: CheckContext) -> Iterator[Complaint]:
    for text in targets.out_of_reach(context.config, context.store):
        advice = "`halflife budget` names what can be kept, and what to lower"
        yield Complaint(WARNING, "targets", text, advice)


def _sinks(context: CheckContext) -> Iterator[Complaint]:
    """Find sinks that do not receive changes."""
    for report in deliveries.reports(context.config, context.store):
        if trouble := report.trouble():
            lost = report.state.halted or report.dead or report.state.missed
            level = PROBLEM if lost else WARNING
            text = f"{report.settings.name}: {trouble}"
            yield Complaint(level, "sinks", text, report.advice)
    named = {sink.name for sink in context.config.sink}
    for state in context.store.sinks.states():
        if state.name not in named:
            text = f"the settings no longer name the sink {state.name}"
            advice = (
                "nothing; deliveries continue where they stopped if it is named again"
            )
            yield Complaint(NOTE, "sinks", text, advice)


def _size(context: CheckContext) -> Iterator[Complaint]:
    days = context.config.keep.observations_days
    old = context.store.reports.old_observations(context.now - 2.0 * days)
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
    _targets,
    _sinks,
    _size,
)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
