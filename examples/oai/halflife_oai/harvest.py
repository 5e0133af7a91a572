"""Harvests: all that a repository lists, or what has changed since the last one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent, Mishandled, SourceError, Unreachable
from halflife.core.object_store import Attributes, Listing, Register
from halflife.core.wording import count
from halflife.engine import network
from halflife.kinds.listing import runner
from halflife.kinds.listing.client import ListingWalk
from halflife.net.addresses import parse_url
from halflife.net.gate import Gate
from halflife.net.troubles import with_address
from halflife.readers.containment import contained, read_in_thread
from halflife.readers.records import LARGEST, LONGEST_KEY, MOST, RecordPage
from halflife.readers.text import fingerprint
from halflife.stores import Store
from halflife_oai.answers import Answer, Record, read
from halflife_oai.settings import OaiConfig

RESTARTS = 2  # harvests that are begun again because their token expired, at most
SAID = 200  # characters of a repository's own words that are shown
SECONDS, DAYS = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"
NOTE = "harvested up to {} from {}"  # of a look; the next harvest goes on there
GOES_ON = re.compile(r"harvested up to (\S+) from (\w+)")


class ProtocolError(SourceError):
    """The repository answered with an error."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"it answered {answer.error}: {answer.said[:SAID]}")
        self.code = answer.error


@dataclass(slots=True)
class Harvest:
    """A harvest under way.

    Attributes:
        gate: The way out.
        purse: Pays for every request.
        source: The repository.
        since: From which date on records are listed; all of them if empty.
        date: When it began, by the repository's clock.
        reports_deletions: Whether the repository reports deletions for ever.
        found: Records by identifier; None stands for one that was deleted.
        unnamed: Records without an identifier.
        pages: Answers with records.

    """

    gate: Gate
    purse: Purse
    source: OaiConfig
    since: str = ""
    date: str = ""
    reports_deletions: bool = False
    found: dict[str, Record | None] = field(default_factory=dict)
    unnamed: int = 0
    pages: int = 0

    async def run(self, known: str) -> None:
        """List the changes since a date; all, if deletions are not reported."""
        rules = (await self._ask({"verb": "Identify"})).rules
        self.reports_deletions = rules.get("deletedRecord") == "persistent"
        if self.reports_deletions:
            day = rules.get("granularity") == "YYYY-MM-DD"
            self.since = _before(known, self.source.overlap_hours, day=day)
        for _ in range(RESTARTS + 1):
            self.found, self.unnamed, self.date = {}, 0, ""
            try:
                return await self._list()
            except ProtocolError as error:
                if error.code == "badArgument" and self.since:
                    self.since = ""  # it does not know such dates
                elif error.code != "badResumptionToken":
                    raise
        raise SourceError(f"its list expired {RESTARTS + 1} times while it was read")

    async def _list(self) -> None:
        asked = {"metadataPrefix": self.source.metadata_prefix}
        asked |= {"set": self.source.set} if self.source.set else {}
        asked |= {"from": self.since} if self.since else {}
        seen = set[str]()
        while True:
            if self.pages >= self.source.max_pages:
                raise SourceError(
                    f"it has more than {count(self.source.max_pages, 'page')}"
                )
            answer = await self._ask({"verb": "ListRecords", **asked})
            self.pages += 1
            self.date = self.date or answer.date
            self.found |= answer.records
            self.unnamed += answer.unnamed
            if len(self.found) > MOST:
                raise SourceError(f"it lists more than {MOST} records")
            if not answer.token:
                return
            if answer.token in seen:
                raise SourceError("its list goes on where it was before")
            seen.add(answer.token)
            asked = {"resumptionToken": answer.token}

    async def _ask(self, query: Mapping[str, str]) -> Answer:
        base = parse_url(str(self.source.url))
        access, url = network.access(self.source), base.update_query(query)
        try:
            got = await self.gate.get(url, self.purse, access=access)
            if got.status not in {200, 203}:
                raise Unreachable(f"it answered {got.status}")
            answer = await read_in_thread(str(base), read, got.body)
        except Mishandled:
            raise
        except SourceError as error:
            raise type(error)(with_address(str(error), str(base))) from None
        if answer.error not in {"", "noRecordsMatch"}:
            raise ProtocolError(answer)
        return answer


async def harvest(
    gate: Gate, purse: Purse, store: Store, source: OaiConfig
) -> tuple[Listing | None, str]:
    """Return what is there now, and what went wrong.

    A repository that tells of deletions for ever is asked only for what changed; with
    what is held that is a complete look. Raise ``BudgetSpent`` if nothing was listed.
    """
    at, trouble = gate.clock(), ""
    tracked = runner.tracker(store, source)
    job = Harvest(gate, purse, source)
    try:
        with contained(source.where):
            await job.run(_last(tracked.register(), source))
    except BudgetSpent as error:
        if not job.pages:
            raise
        trouble = str(error)
    except SourceError as error:
        trouble = str(error)
    if not job.pages:
        return None, trouble
    return _listing(job, at, trouble, tracked.held), trouble


def _listing(
    job: Harvest, at: float, trouble: str, held: Mapping[str, Attributes]
) -> Listing:
    walk = ListingWalk(trouble=trouble)
    walk.add(_page(job))
    seen = walk.listing(at, complete=True)
    gone = frozenset(name for name, record in job.found.items() if record is None)
    if not seen.complete:
        return replace(seen, absent=gone)
    records = {k: held[k] for k in held.keys() - gone} if job.since else {}
    note = NOTE.format(job.date, _mark(job.source)) if job.reports_deletions else ""
    note = "; ".join(filter(None, (note, seen.note)))
    return replace(seen, records={**records, **seen.records}, note=note)


def _page(job: Harvest) -> RecordPage:
    """Return what was found, without what cannot be kept."""
    page = RecordPage(refused=job.unnamed, keyless=job.unnamed)
    if job.unnamed:
        page.reasons.append("one has no identifier")
    for name, record in job.found.items():
        if record is None:
            continue
        if len(name) > LONGEST_KEY or sum(map(len, record.values())) > LARGEST:
            page.refuse(name[:SAID], "it is too large")
        else:
            page.records[name] = record
    return page


def _mark(source: OaiConfig) -> str:
    """Return what tells harvests apart that cannot go on from one another."""
    return fingerprint(repr(source.answer_reading).encode())[:12]


def _last(register: Register, source: OaiConfig) -> str:
    """Return when the last complete harvest began; empty if there was none."""
    looks = [s for s in register.snapshots if s.valid and s.complete]
    told = GOES_ON.match(looks[-1].note) if looks else None
    return told[1] if told and told[2] == _mark(source) else ""


def _before(date: str, hours: float, *, day: bool) -> str:
    """Return a date so many hours earlier, as the repository writes it.

    >>> _before("2026-03-01T00:30:00Z", 1.0, day=True)
    '2026-02-28'
    """
    try:
        moment = datetime.strptime(date, SECONDS).replace(tzinfo=UTC)
    except ValueError:
        return ""
    return (moment - timedelta(hours=hours)).strftime(DAYS if day else SECONDS)
