"""Crawl all records of a database behind a form that caps the results of a query.

A query that overflows is divided until none does. Ranges are divided at the median of
the numbers shown (rank-shrink), selections into their values (lazy slice-cover), both
in turn (hybrid): Sheng, Zhang, Tao, Jin, "Optimal Algorithms for Crawling a Hidden
Database in the Web", VLDB 2012. Keywords come last and guarantee nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import pairwise
from math import inf, nextafter

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Attribute, Query, Term, within
from halflife.core.object_store import Attributes
from halflife.queries.completeness import QueryAnswer, QueryReader
from halflife.queries.frontier import CrawlPart, CrawlState
from halflife.queries.ledger import Ledger
from halflife.queries.unseen import PossibleLoss

MANY = 0.02  # share of records that may lack an attribute that divides queries first
CROWD = 0.25  # a number that so large a share has gets a query of its own


def crawl(
    ledger: Ledger,
    known: Iterable[Attributes] = (),
    *,
    sound: Collection[str] = (),
    resume: CrawlState | None = None,
) -> CrawlState:
    """Return all records of a database, and whether that is proven.

    It is proven if every query was read whole or divided without loss. Nothing is
    lost if as many records were found as the form counts, exactly, or if the attribute
    is sound. If something was lost, the query is divided again by the next attribute.
    Rank-shrink takes O(d n/k) queries for n records, d attributes and a cap of k
    results.

    Args:
        ledger: Where the requests are counted. When they are spent, or the form gives
            no answer, the crawl can be resumed.
        known: Records seen before; their values are queried, too.
        sound: Attributes that every record has, with all of their values known.
        resume: A crawl that was interrupted.

    """
    return CrawlRun(ledger, known, sound=sound, resume=resume).done()


class CrawlRun:
    """A crawl in progress: a stack holds the parts still to be queried.

    Its state changes only when an answer has come, so it may be saved (``so_far``) at
    any time while waiting for one, and resumed from there. See ``crawl`` for the
    arguments.
    """

    def __init__(
        self,
        ledger: Ledger,
        known: Iterable[Attributes] = (),
        *,
        sound: Collection[str] = (),
        resume: CrawlState | None = None,
    ) -> None:
        before = resume or CrawlState.of_nothing()
        self.ledger, self._since = ledger, ledger.requests
        self.reader = QueryReader(ledger, known=before.reads, begun=before.begun)
        self.interface = ledger.interface
        self._believed = not ledger.trust.refuted
        ledger.trust.recall(before.luck)
        self.sound = sound
        self.resumed = bool(before.records)
        self._kind = {a.name: a.kind for a in ledger.interface.attributes}
        self.records = dict(before.records)
        self.stack, self.unresolved = list(before.left), list(before.stuck)
        self.words, self.unproven = before.words, list(before.unproven)
        self.losses = list(before.losses)
        self._whole = before.whole
        self._total = before.total
        self._learned = 0
        self._without: Counter[str] = Counter()
        self._values = {
            a.name: dict.fromkeys(_offered(a)) for a in self.interface.attributes
        }
        for record in (*known, *self.records.values()):
            self._learn(record)

    def done(self) -> CrawlState:
        """Crawl until all is read, the budget is spent or the form fails."""
        why = ""
        try:
            self._finish()
        except (BudgetSpent, SourceError) as stop:
            why = str(stop) or type(stop).__name__
        return self.so_far(why)

    def so_far(self, why: str = "") -> CrawlState:
        """Return what was found and what is left, as of the last answer."""
        reads, begun = self.reader.reads.items(), self.reader.begun
        return CrawlState(
            {**self.records, **(begun.records if begun else {})},
            not (self.stack or self.unresolved or self.unproven),
            tuple(part.query for part in self.unresolved),
            tuple(self.unproven),
            self.ledger.requests - self._since,
            tuple(self.stack),
            tuple(self.unresolved),
            self.words,
            why,
            self.total,
            {query: read for query, read in reads if self._is_slice(query)},
            begun,
            self._whole,
            tuple(self.losses),
            self.ledger.trust.confirmed,
        )

    @property
    def total(self) -> int | None:
        """How many records there are, if the form counts exactly."""
        everything = self.reader.known(Query())
        return self._total if everything is None else everything.total

    def _is_slice(self, query: Query) -> bool:
        kinds = [self._kind[term.attribute] for term in query]
        return kinds == ["select"]

    def _attributes(self) -> list[Attribute]:
        """Return the attributes in the order in which they divide queries.

        Those that many records lack come late, because dividing by them loses these
        records; keywords come last.
        """
        return sorted(
            self.interface.attributes,
            key=lambda a: (
                a.kind == "keyword",
                self._without[a.name] > MANY * self._learned,
                a.kind != "range",
                len(self._values[a.name]),
            ),
        )

    def _learn(self, record: Attributes) -> None:
        self._learned += 1
        for attribute in self.interface.attributes:
            terms = attribute.terms(record.get(attribute.name))
            self._without[attribute.name] += not terms
            if attribute.kind != "range":
                self._values[attribute.name].update(dict.fromkeys(terms))

    def _finish(self) -> None:
        """Process parts until none is left, and then divide the rest by keywords."""
        self._empty()
        while self.unresolved and not self.words:
            self.words = True
            self.stack = [CrawlPart(part.query) for part in reversed(self.unresolved)]
            self.unresolved = []
            self._empty()
        total, found = self.total, len(self.records)
        if total is None or found < total:
            return
        if self._refutes(Query(), total, found):
            self._finish()
        elif self.ledger.trust.agrees:
            self.unresolved, self.unproven, self.losses = [], [], []

    def _refutes(self, query: Query, total: int, found: int) -> bool:
        """Return whether the records found of a query refute the hit counts."""
        trust = self.ledger.trust
        if found > total and self._believed:
            trust.weigh(query, total, found, "found in its parts")
            if trust.refuted:
                self.ledger.distrust()
        return self._misled

    @property
    def _misled(self) -> bool:
        """Whether counts that the crawl has used were refuted."""
        return self._believed and bool(self.ledger.trust.refuted)

    def _begin_anew(self) -> None:
        """Restart the crawl: refuted hit counts prove nothing. Records found stay."""
        self._believed, self._total = False, None
        self.interface = self.ledger.interface
        self.reader = QueryReader(self.ledger)
        self.stack, self.unresolved = [CrawlPart(Query())], []
        self.unproven, self.losses = [], []
        self.words, self._whole = False, True

    def _empty(self) -> None:
        while self.stack or self._misled:
            self.ledger.check_stop()
            if self._misled:
                self._begin_anew()
            part = self.stack[-1]  # it stays there if the crawl is interrupted
            if part.tried:
                self._check(part)
            elif part.above is not None and part.above.full and part.above.idle:
                self.stack.pop()
            else:
                self._ask(part)

    def _ask(self, part: CrawlPart) -> None:
        read = self._read(part.query)
        self._keep(read)
        part.keys.update(read.records)
        part.own.update(read.records)
        part.total = read.total
        if read.whole:
            self._close(part)
        else:
            part.failed = len(self.unresolved)
            self._divide(part, read)

    def _read(self, query: Query) -> QueryAnswer:
        """Return the answer to a query, taken from that to a single term if possible.

        Lazy slice-cover: before the terms of two selections are joined, each is
        queried alone, once; records of a complete slice need no other query.
        """
        for term in query:
            if len(query) == 1 or self._kind[term.attribute] != "select":
                continue
            alone = self.reader.read(Query.of(term))
            self._keep(alone)
            if alone.whole:
                return self._among(alone, query)
        return self.reader.read(query)

    def _among(self, read: QueryAnswer, query: Query) -> QueryAnswer:
        """Return the records of a complete answer that match a query."""
        rows = read.records.items()
        mine = {key: row for key, row in rows if self.interface.meets(row, query)}
        return QueryAnswer(mine, whole=True, total=len(mine))

    def _keep(self, read: QueryAnswer) -> None:
        for key, record in read.records.items():
            if key not in self.records:
                self._learn(record)
            self.records[key] = record

    def _close(self, part: CrawlPart) -> None:
        self.stack.pop()
        above = part.above
        if above is None:
            return
        was_full, before = above.full, len(above.keys)
        above.keys |= part.keys
        above.captures.update(part.keys)
        above.idle |= was_full and len(above.keys) == before
        if above.total is not None:
            self._refutes(above.query, above.total, len(above.keys))

    def _leave_unproven(self, part: CrawlPart) -> None:
        """Note that dividing a part may have lost records."""
        self.unproven.append(part.query)
        self.losses.append(self.loss_of(part))

    def loss_of(self, part: CrawlPart) -> PossibleLoss:
        """Return the evidence on records that a divided part may have lost."""
        words = any(self._kind[name] == "keyword" for name in part.tried)
        return part.loss(overlaps=words or len(part.tried) > 1)

    def _check(self, part: CrawlPart) -> None:
        """Close a part that was divided, or divide it again."""
        if part.full:
            del self.unresolved[part.failed :]
            self._close(part)
        elif self._proven(part):
            self._close(part)
        elif 0 < part.lacks <= sum(p.lacks for p in self.unresolved[part.failed :]):
            # The missing records are in its parts; several sets of these overlap.
            if len(part.tried) > 1:
                self._leave_unproven(part)
            self._close(part)
        elif self._grown(part):
            self._push(part, self._grown(part))
        elif part.total is None and not self._lacking(part):
            self._leave_unproven(part)
            self._close(part)
        else:
            self._divide(part, self.reader.read(part.query))

    def _proven(self, part: CrawlPart) -> bool:
        """Return whether a part was divided without loss.

        It was if its query already has a range of the attribute, which all its records
        then have, or if every record has the attribute.
        """
        ranged = {
            term.attribute
            for term in part.query
            if self._kind[term.attribute] == "range"
        }
        return any(name in ranged or name in self.sound for name in part.tried)

    def _grown(self, part: CrawlPart) -> list[Term]:
        """Return values discovered after a part was divided by an attribute."""
        attribute = self.interface.attribute(part.tried[-1])
        if attribute.kind == "range":
            return []
        words = attribute.kind == "keyword"
        known = self._words(attribute, part) if words else self._values[attribute.name]
        return [term for term in known if term not in part.terms]

    def _lacking(self, part: CrawlPart) -> bool:
        """Return whether dividing the part lost some record that was found."""
        attribute = self.interface.attribute(part.tried[-1])
        return attribute.kind == "keyword" or any(
            not attribute.terms(self.records[key].get(attribute.name))
            for key in part.keys
        )

    def _divide(self, part: CrawlPart, read: QueryAnswer) -> None:
        """Divide a part by the first suitable attribute, or give it up."""
        for attribute in self._attributes():
            late = attribute.kind == "keyword" and not self.words
            if late or attribute.name in part.tried:
                continue
            terms = self._terms(attribute, part, read)
            if terms:
                part.tried = (*part.tried, attribute.name)
                self._push(part, terms)
                return
        if self.words:  # nothing divides it, so only the records shown can be had
            rest = self.reader.reach(part.query)
            self._keep(rest)
            part.keys.update(rest.records)
            part.own.update(rest.records)
        self.unresolved.append(part)
        self._close(part)

    def _push(self, part: CrawlPart, terms: list[Term]) -> None:
        """Push the parts of a part on the stack."""
        part.terms.update(terms)
        name = terms[0].attribute
        wider = {name} if self._kind[name] == "range" else set()
        kept = [term for term in part.query if term.attribute not in wider]
        self.stack += [
            CrawlPart(Query.of(*kept, term), part) for term in reversed(terms)
        ]

    def _terms(
        self, attribute: Attribute, part: CrawlPart, read: QueryAnswer
    ) -> list[Term]:
        """Return the terms that divide a part by an attribute, if any do."""
        fixed = [term for term in part.query if term.attribute == attribute.name]
        if attribute.kind == "range" and (fixed or self._joins(part.query)):
            return _ranges(attribute, fixed, read)
        if not self._joins(part.query):
            return []
        if attribute.kind == "keyword":
            return self._words(attribute, part)
        return [] if fixed else list(self._values[attribute.name])

    def _joins(self, query: Query) -> bool:
        return len(query) < self.interface.together

    def _words(self, attribute: Attribute, part: CrawlPart) -> list[Term]:
        """Return keywords, the most frequent among the records of a part first."""
        rows = (self.records[key].get(attribute.name) for key in part.keys)
        count = Counter(term for value in rows for term in attribute.terms(value))
        frequent = sorted(count, key=lambda term: (-count[term], term))
        words = frequent or self._values[attribute.name]
        return [term for term in words if term not in part.query.terms]


def _offered(attribute: Attribute) -> Iterable[Term]:
    if attribute.kind == "range":
        return ()
    return (term for value in attribute.values for term in attribute.terms(value))


def _ranges(attribute: Attribute, fixed: list[Term], read: QueryAnswer) -> list[Term]:
    """Return the two or three ranges that rank-shrink divides a range into.

    It is divided at the median v of the numbers shown: below v, and from v on; if more
    than a quarter of them equal v, then v has a range of its own. A range is not
    divided once it has only one number.
    """
    low, high = fixed[0].bounds if fixed else (-inf, inf)
    shown = _numbers(attribute, read)
    if not shown.size:
        return _between(attribute, -inf, *attribute.cuts, inf) if not fixed else []
    middle = float(shown[shown.size // 2])
    crowd = np.count_nonzero(shown == middle) > CROWD * shown.size
    after = _after(middle, shown)
    points = [low, middle, *([after] if crowd else []), high]
    edges = sorted({point for point in points if low <= point <= high})
    if len(edges) < 3:
        return []
    return _between(attribute, *edges)


def _between(attribute: Attribute, *edges: float) -> list[Term]:
    return [within(attribute.name, *ends) for ends in pairwise(edges)]


def _numbers(attribute: Attribute, read: QueryAnswer) -> Floats:
    values = [record.get(attribute.name) for record in read.records.values()]
    held = [float(v) for v in values if v is not None and attribute.terms(v)]
    return np.sort(np.array(held, dtype=np.float64))


def _after(number: float, shown: Floats) -> float:
    """Return where the next number may begin: the next whole one if all are whole."""
    whole = bool((shown == np.floor(shown)).all())
    return number + 1.0 if whole else nextafter(number, inf)
