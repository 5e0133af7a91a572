"""Policies for databases behind forms, by their names in settings.

A policy does one of two jobs: it finds records that the copy lacks (``new``), or it
refreshes those that the copy holds (``known``). It is a description and a factory of
the rule that decides; what a rule must remember between turns is stored with the copy,
so every turn makes a new rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from halflife.queries.fresh import FreshPolicy
from halflife.queries.fresh.expected_gain import ExpectedGainRule
from halflife.queries.fresh.records import SampleGuidedRule
from halflife.queries.fresh.rotation import Rotation, RotationRule
from halflife.queries.fresh.simple import Exhaustive, GammaPoissonRule, Newest
from halflife.queries.known.guess import Coverage
from halflife.queries.known.query_loop import PacedLoop
from halflife.queries.known.rules import (
    GreedyRounds,
    KnownIndex,
    KnownRule,
    LookupIndex,
    Naive,
    Timetable,
)
from halflife.queries.sampling import Sampling

Job: TypeAlias = Literal["new", "known"]
Need: TypeAlias = Literal["newest", "choices", "lookup"]

GROUP = "halflife.policies.form"
LIU = "Liu, Xiao, Yang, sample-guided incremental crawling"
YANG = "Yang, Wang, Lim, Wang, SIGMOD 2010"
SHARP = 100.0  # the power of Eq. 4 by which ``sharpened`` draws
SHARE = 0.15  # share of the records in the sample, as in the paper
SURE = 2  # pages without new records that end the newest-first read
KEYWORDS = 5  # of each attribute; with five the paper's figures 3 and 4 are best


@runtime_checkable
class FormPolicy(Protocol):
    """The description of a policy for a form, of either job."""

    @property
    def name(self) -> str:
        """Its name in settings."""
        ...

    @property
    def job(self) -> Job:
        """Whether it finds new records or refreshes known ones."""
        ...

    @property
    def about(self) -> str:
        """What it does, in one line."""
        ...

    @property
    def paper(self) -> str:
        """Where it was published; empty if it is ours."""
        ...

    @property
    def needs(self) -> frozenset[Need]:
        """What a form must be able to do for it."""
        ...


def _no_values() -> Rotation:
    raise ValueError("no values of choices are known")


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The input of a rule for new records.

    Attributes:
        since: Records that came after this day are recent; infinite if unknown.
        now: The time, in days.
        gap: The mean of the days since the records of the copy were seen.
        date: The attribute that newest-first order sorts by; empty if unknown.
        unfound: Records that the form reports and does not show.
        values: Returns what each value of a choice is likely to bring.

    """

    since: float = inf
    now: float = 0.0
    gap: float = 0.0
    date: str = ""
    unfound: int = 0
    values: Callable[[], Rotation] = _no_values


@dataclass(frozen=True, slots=True)
class NewPolicy:
    """A way to find the records that the copy lacks.

    Attributes:
        name: Its name in settings.
        about: What it does, in one line.
        make: Makes its rule for a round.
        paper: Where it was published; empty if it is ours.
        needs: What a form must be able to do for it.
        newest: Whether a form that can sort newest first is read in that order
            ``first``, or in no other (``only``).
        in_turn: Whether values are read one after the other, by ``Rotation``, if the
            budget does not cover all of them.
        sample: The method of the sample that it needs first; None if it needs none.
        share: The share of the database in that sample.
        rounds: Whether the next turn continues an unfinished round.

    """

    name: str
    about: str
    make: Callable[[RuleContext], FreshPolicy]
    paper: str = ""
    needs: frozenset[Need] = frozenset()
    newest: Literal["first", "only", "no"] = "no"
    in_turn: bool = False
    sample: Sampling | None = None
    share: float = SHARE
    rounds: bool = False
    job: ClassVar[Job] = "new"


@dataclass(frozen=True, slots=True)
class KnownPolicy:
    """A way to refresh the records of the copy.

    Attributes:
        name: Its name in settings.
        about: What it does, in one line.
        make: Makes its rule, given the relative staleness that is allowed.
        paper: Where it was published; empty if it is ours.
        needs: What a form must be able to do for it.
        coverage: How the hits of unsent queries are estimated: from the records
            ``held``, a reference ``corpus`` times a factor, or the co-occurrence of
            terms in a ``sample``.
        weighs: Whether its gains are records put right times days.
        rounds: Whether it works in rounds, at most one a turn.

    """

    name: str
    about: str
    make: Callable[[float], KnownRule]
    paper: str = ""
    needs: frozenset[Need] = frozenset()
    coverage: Coverage = "held"
    weighs: bool = False
    rounds: bool = False
    job: ClassVar[Job] = "known"


LOOKUP: frozenset[Need] = frozenset({"lookup"})

EXPECTED = NewPolicy(
    "expected",
    "the newest first where a form shows them, else the page that promises most",
    lambda outset: ExpectedGainRule(since=outset.since),
    newest="first",
    in_turn=True,
)
SAMPLE_GUIDED = NewPolicy(
    "sample-guided",
    "draw a random sample, choose a record by Sel, ask for its most effective value",
    lambda _: SampleGuidedRule(),
    paper=f"{LIU}, s. IV",
    sample="rejection",
    rounds=True,
)
UNIFORM = NewPolicy(
    "uniform",
    "as sample-guided, but records are drawn evenly",
    lambda _: SampleGuidedRule(sharp=0.0),
    paper=f"{LIU}, s. V",
    sample="rejection",
    rounds=True,
)
SHARPENED = NewPolicy(
    "sharpened",
    "as sample-guided, but records are drawn by a high power of Sel",
    lambda _: SampleGuidedRule(sharp=SHARP),
    sample="rejection",
    rounds=True,
)
EXHAUSTIVE = NewPolicy(
    "exhaustive",
    "read everything again by a greedy cover of one-term queries",
    lambda _: Exhaustive(),
    paper="Wu et al., ICDE 2006",
    rounds=True,
)
GAMMA_POISSON = NewPolicy(
    "gamma-poisson",
    "estimate the new records of each query from a sample, read the best per page",
    lambda _: GammaPoissonRule(),
    sample="weighted",
    rounds=True,
)
ROTATION = NewPolicy(
    "rotation",
    "read the values of choices one after the other, the most overdue first",
    lambda outset: RotationRule(outset.values(), outset.now, outset.gap),
    needs=frozenset({"choices"}),
)
NEWEST = NewPolicy(
    "newest",
    "read everything newest first, until nothing is new; nothing else is tried",
    lambda outset: Newest(margin=SURE, date=outset.date, unfound=outset.unfound),
    needs=frozenset({"newest"}),
    newest="only",
)
UNDATED = NewPolicy(
    "undated",
    "the page that promises most, whatever came lately and however forms are sorted",
    lambda _: ExpectedGainRule(),
)

INDEX = KnownPolicy(
    "index",
    "what buys most for a request now: searches and look-ups",
    lambda _: KnownIndex(),
    weighs=True,
)
LOOKUP_INDEX = KnownPolicy(
    "lookup-index", "the same with look-ups only", lambda _: LookupIndex(), needs=LOOKUP
)
CUBE_ROOT = KnownPolicy(
    "cube-root",
    "each query at the frequency that minimises the mean staleness in the long run",
    lambda _: Timetable(),
)
NAIVE_1 = KnownPolicy(
    "naive-1",
    "look every record up, the one seen longest ago first",
    lambda _: Naive(),
    paper=f"{YANG}, s. 5.2",
    needs=LOOKUP,
)
NAIVE_2 = KnownPolicy(
    "naive-2",
    "the same without records that change once a day or more",
    lambda _: Naive(below=1.0),
    paper=f"{YANG}, s. 5.2",
    needs=LOOKUP,
)
GREEDY_PROBES = KnownPolicy(
    "greedy-probes",
    "GreedyProbes over the five most frequent keywords of each attribute, all pages",
    lambda _: GreedyRounds(keywords=KEYWORDS),
    paper=f"{YANG}, s. 4.2, 5.3",
    rounds=True,
)
METHOD_1 = KnownPolicy(
    "method-1",
    "GreedyProbes over all keywords, all pages of each query, in ascending a_i",
    lambda _: GreedyRounds(),
    paper=f"{YANG}, s. 4.2, 5.1",
    rounds=True,
)
METHOD_2 = KnownPolicy(
    "method-2",
    "the same, only the first page of each query",
    lambda _: GreedyRounds(reading="first"),
    paper=f"{YANG}, s. 4.2, 5.1",
    rounds=True,
)
METHOD_1_CORPUS = replace(
    METHOD_1,
    name="method-1-corpus",
    about="as method-1; hits by the copy times a factor from queries that are counted",
    paper=f"{YANG}, s. 4.1, 4.2",
    coverage="corpus",
)
METHOD_1_SAMPLE = replace(
    METHOD_1,
    name="method-1-sample",
    about="as method-1; hits by how often terms go together in a random sample",
    paper="Li, Church, Computational Linguistics 2007",
    coverage="sample",
)
METHOD_2_CORPUS = replace(
    METHOD_1_CORPUS,
    name="method-2-corpus",
    about="as method-2; hits by the copy times a factor from queries that are counted",
    make=METHOD_2.make,
)
METHOD_2_SAMPLE = replace(
    METHOD_1_SAMPLE,
    name="method-2-sample",
    about="as method-2; hits by how often terms go together in a random sample",
    make=METHOD_2.make,
)
PAGE_GREEDY = KnownPolicy(
    "page-greedy",
    "as method-1, by requests in place of hits, look-ups allowed",
    lambda _: GreedyRounds(by_hits=False),
    rounds=True,
)
ORDER_INTERVAL = KnownPolicy(
    "order-interval",
    "as method-1, a query every I days, so that relative staleness is max_staleness",
    lambda alpha: PacedLoop(alpha=alpha),
    paper=f"{YANG}, s. 4.3, 4.4",
    rounds=True,
)

NEW: Mapping[str, NewPolicy] = {
    policy.name: policy
    for policy in (
        EXPECTED, UNDATED, SAMPLE_GUIDED, UNIFORM, SHARPENED, EXHAUSTIVE, GAMMA_POISSON,
        NEWEST, ROTATION,
    )
}  # fmt: skip
KNOWN: Mapping[str, KnownPolicy] = {
    policy.name: policy
    for policy in (
        NAIVE_1, NAIVE_2, GREEDY_PROBES, METHOD_1, METHOD_1_CORPUS, METHOD_1_SAMPLE,
        METHOD_2, METHOD_2_CORPUS, METHOD_2_SAMPLE, PAGE_GREEDY, ORDER_INTERVAL,
        CUBE_ROOT, INDEX, LOOKUP_INDEX,
    )
}  # fmt: skip
# Older names, which replays still accept.
ALIASES: Mapping[str, str] = {
    "default": "expected",
    "paper": "sample-guided",
    "naive1": "naive-1",
    "naive2": "naive-2",
    "greedy": "method-1",
}
