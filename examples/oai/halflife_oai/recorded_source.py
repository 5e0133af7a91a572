"""A recorded repository: it answers harvests as it did at a moment of the past."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from halflife.config import SourceConfig
from halflife.core.object_store import Attributes
from halflife.kinds.listing.recorded_source import RecordedListing
from halflife.recordings.registers import relation_of
from halflife.replay.world import RecordedAnswer, RecordedRequest
from halflife.stores import Store
from halflife_oai.harvest import GOES_ON, SECONDS

HEADER = ("datestamp", "setSpec")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stamp(day: float) -> str:
    """Return a moment as repositories write it.

    >>> stamp(20000.5)
    '2024-10-04T12:00:00Z'
    """
    return (_EPOCH + timedelta(days=day)).strftime(SECONDS)


def envelope(now: float, inner: str) -> RecordedAnswer:
    """Return an answer of a repository."""
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
        f"<responseDate>{stamp(now)}</responseDate>{inner}</OAI-PMH>"
    )
    return RecordedAnswer(
        200, text.encode(), {"Content-Type": "text/xml; charset=utf-8"}
    )


def error(now: float, code: str) -> RecordedAnswer:
    """Return an answer that says what was wrong with the question."""
    return envelope(now, f"<error code={quoteattr(code)}>{code}</error>")


def record(name: str, changed: float, attributes: Attributes | None) -> str:
    """Return a record; one without attributes was deleted."""
    sets = (attributes or {}).get("setSpec")
    spec = "".join(f"<setSpec>{escape(s)}</setSpec>" for s in str(sets).split("; "))
    status = "" if attributes is not None else ' status="deleted"'
    head = (
        f"<header{status}><identifier>{escape(name)}</identifier>"
        f"<datestamp>{stamp(changed)}</datestamp>{spec if sets else ''}</header>"
    )
    if attributes is None:
        return f"<record>{head}</record>"
    told = "".join(
        f"<{field}>{escape(str(value))}</{field}>"
        for field, value in attributes.items()
        if value is not None and field not in HEADER
    )
    return f"<record>{head}<metadata><dc>{told}</dc></metadata></record>"


@dataclass(frozen=True)
class RecordedRepository(RecordedListing):
    """A repository whose records come, change and go as a relation says.

    Attributes:
        deletions: Whether it tells of deletions: ``persistent`` or ``no``.

    """

    kind: str = "oai"
    deletions: str = "persistent"

    def answer(self, asked: RecordedRequest, now: float) -> RecordedAnswer:
        """Return what the repository answered to a request at a time."""
        query = asked.url.query
        if query.get("verb") == "Identify":
            rules = (
                f"<deletedRecord>{self.deletions}</deletedRecord>"
                "<granularity>YYYY-MM-DDThh:mm:ssZ</granularity>"
            )
            return envelope(now, f"<Identify>{rules}</Identify>")
        begin, _, since = query.get("resumptionToken", "0 ").partition(" ")
        since = since or query.get("from", "")
        rows = [row for row in self._records(now) if stamp(row[1]) >= since]
        if not rows:
            return error(now, "noRecordsMatch")
        first, end = int(begin), int(begin) + self.per_page
        token = f"{end} {since}" if end < len(rows) else ""
        told = "".join(record(*row) for row in rows[first:end])
        more = f"<resumptionToken>{token}</resumptionToken>"
        return envelope(now, f"<ListRecords>{told}{more}</ListRecords>")

    def settings(self, origin: str) -> str:
        """Return where the repository is."""
        return f'kind = "oai"\nurl = "{origin}/oai"\nmax_pages = 10000'

    def _records(self, now: float) -> Sequence[tuple[str, float, Attributes | None]]:
        """Return records, when each changed, and its attributes if it is there."""
        there, relation = self.present(now), self.relation
        look, rows = relation.last_observation(now), relation.rows(now)
        names = (relation.keys[i] for i in relation.spell[rows].tolist())
        changed = dict(zip(names, relation.since[rows].tolist(), strict=True))
        found = [(name, changed[name], there[name]) for name in there]
        if self.deletions == "no":
            return found
        return [*found, *((k, at, None) for k, at in self._gone(look, there).items())]

    def _gone(self, look: float, there: Mapping[str, Attributes]) -> dict[str, float]:
        """Return what was there once, and the look that lacked it first."""
        relation = self.relation
        place = np.searchsorted(relation.looks, relation.last_seen, side="right")
        ended = np.append(relation.looks, np.inf)[place].tolist()
        pairs = zip(relation.keys, ended, strict=True)
        return {k: at for k, at in pairs if at <= look and k not in there}


def recorded(store: Store, source: SourceConfig) -> RecordedRepository | None:
    """Return what a store knows of a repository; None if nothing was harvested."""
    if source.name not in store.collections():
        return None
    register = store.register(source.name)
    told = any(GOES_ON.match(s.note) for s in register.snapshots)
    relation, name = relation_of(register, source.name), source.name
    deletions = "persistent" if told else "no"
    return RecordedRepository(name, relation, deletions=deletions)
