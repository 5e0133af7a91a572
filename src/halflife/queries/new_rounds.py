"""A round for new records that may take several turns."""

from collections.abc import Mapping
from math import inf

from numpy.random import Generator

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Interface, Query
from halflife.core.object_store import Attributes
from halflife.queries.form_copy import FormCopy
from halflife.queries.fresh import Choice, FreshPolicy
from halflife.queries.fresh.harvest import HarvestRound
from halflife.queries.fresh.progress import NewRound, RemembersNew, open_reads
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.policies import NewPolicy
from halflife.queries.sampling import SampleDrawing
from halflife.queries.turn_result import PlannedQuery

FIRST_PART = 10  # requests of the first part of a round: one walk of a sample
PENDING = "pending"  # the stored name of a query that was not read to its end


class NewRounds:
    """A rule that works in rounds, and the progress of its round.

    Records that came in earlier turns of the round count as new, and those shown in
    them as shown, so the round continues as if it were one long turn.

    Args:
        policy: The policy.
        rule: Its rule.
        held: The copy, with the round so far.
        now: The time, in days.

    """

    def __init__(
        self, policy: NewPolicy, rule: FreshPolicy, held: FormCopy, now: float
    ) -> None:
        self._policy, self._rule, self._held = policy, rule, held
        self._before = held.new_round or NewRound(now)
        self._drawn = self._before.drawn
        self._choice: Choice | None = None
        self.over = False

    def local(self, interface: Interface) -> LocalRecords:
        """Return the copy as the rule sees it, and restore the state of the rule."""
        held, before = self._held, self._before
        old = {k: r for k, r in held.records.items() if held.came[k] < before.began}
        local, drawn = LocalRecords(interface, old, held.came), set(before.drawn.keys)
        for key, record in held.records.items():
            if key not in old:
                origin = Origin.SAMPLED if key in drawn else Origin.HARVESTED
                local.note(key, record, origin)
            elif held.seen[key] >= before.began:
                local.note(key, record, Origin.HISTORY)
        local.sampled = drawn & held.records.keys()
        local.reads = dict(before.reads)
        queries = {k: v for k, v in before.queries.items() if k != PENDING}
        if queries and isinstance(self._rule, RemembersNew):
            self._rule.go_on(queries)
        for query in before.queries.get(PENDING, ()):
            self._choice = _rest(local, query)
        return local

    @property
    def lacks_sample(self) -> bool:
        """Whether the policy needs a sample that is not drawn yet."""
        return self._policy.sample is not None and not self._drawn.complete

    def draw(
        self, turn: HarvestRound, ledger: Ledger, rng: Generator, share: float
    ) -> None:
        """Draw the sample, with at most this share of the requests left.

        Raise the error that ended it; what was drawn until then is kept.
        """
        assert self._policy.sample is not None
        most = inf if ledger.left is None else share * ledger.left
        records = {**self._held.records, **ledger.seen}
        drawing = SampleDrawing(
            ledger,
            self._policy.share,
            known=records,
            method=self._policy.sample,
            before=self._drawn,
        )
        errors: list[BudgetSpent | SourceError] = []

        def draw_walks(ledger: Ledger, rng: Generator) -> Mapping[str, Attributes]:
            before = ledger.requests
            try:
                while not drawing.over and ledger.requests - before < most:
                    ledger.check_stop()
                    drawing.walk(rng)
            except (BudgetSpent, SourceError) as error:
                errors.append(error)
            return drawing.records

        turn.sample(draw_walks, rng)
        self._drawn = drawing.so_far()
        for error in errors:
            raise error

    def next(
        self, local: LocalRecords, ledger: Ledger, rng: Generator
    ) -> Choice | None:
        """Return the next choice; the same again until it was carried out."""
        if self.lacks_sample:
            return None
        if self._choice is None and not self.over:
            self._choice = self._rule.next(local, ledger, rng)
            self.over = self._choice is None
        return self._choice

    def done(self, choice: Choice) -> None:
        """Note that a choice was carried out to its end."""
        if choice is self._choice:
            self._choice = None

    def so_far(self, local: LocalRecords) -> NewRound | None:
        """Return the progress of the round; None if it has ended."""
        if self.over:
            return None
        rule, queries = self._rule, dict[str, list[Query]]()
        if isinstance(rule, RemembersNew):
            queries = {name: list(each) for name, each in rule.so_far().items()}
        if self._choice is not None and self._choice.pages is None:
            queries[PENDING] = [self._choice.query]
        reads = open_reads(local)
        return NewRound(self._before.began, self._drawn, reads, queries)


def _rest(local: LocalRecords, query: Query) -> Choice | None:
    """Return the unread rest of a query."""
    reading = local.reads.get(query)
    if reading is None or reading.done:
        return None
    return Choice(query, reading.pages, None, why="the rest of it")


def round_ahead(
    name: str, coming: float, pages: int, gain: float
) -> list[PlannedQuery]:
    """Return the plan of a round of so many pages, whose queries are unknown.

    Its parts double in size, so that a budget may cover few or many requests of it.
    """
    why = f"{name}: about {coming:.1f} new records by now"
    steps: list[PlannedQuery] = []
    while pages > 0:
        size = min(pages, FIRST_PART * 2 ** len(steps))
        steps.append(PlannedQuery("new records", size, gain, why))
        pages -= size
    return steps


def sample_ahead(policy: NewPolicy, ledger: Ledger, gain: float) -> PlannedQuery:
    """Return the drawing of a sample as reports show it."""
    why = f"{policy.name}: it chooses records by a sample ({policy.sample} sampling)"
    what = f"a random sample of {policy.share:.0%}"
    return PlannedQuery(what, max(ledger.left or FIRST_PART, 1), gain, why)
