"""Replay the search for new records: a table behind a form, and an old copy of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife import plugins
from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Counts, Interface, words_in
from halflife.core.object_store import Attributes
from halflife.queries.fresh import FreshPolicy
from halflife.queries.fresh.harvest import (
    DrilledSample,
    GivenSample,
    Harvest,
    Sampler,
    harvest,
)
from halflife.queries.fresh.metrics import requests_to, scores
from halflife.queries.fresh.rotation import Rotation
from halflife.queries.fresh.simple import FreshOracle
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords
from halflife.queries.policies import ALIASES, GROUP, NEW, SHARE, NewPolicy, RuleContext
from halflife.queries.sampling import Sampling
from halflife.queries.table_form import TableFaults, TableForm
from halflife.recordings.relations import Relation

POINTS = 40  # of a curve in the result
OFTEN = 20.0  # records for each value, from which on values are selected
LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Task:
    """An old copy, and the present records.

    Attributes:
        before: The copy.
        now: The present records.
        came: When the records of the copy were first seen, in days.
        dates: When the present records were first seen.
        since: Records that came after this day are recent.
        begin: The day of the copy.
        end: The day of the form.

    """

    before: Mapping[str, Attributes]
    now: Mapping[str, Attributes]
    came: Mapping[str, float]
    dates: Mapping[str, float]
    since: float
    begin: float = 0.0
    end: float = 0.0


@dataclass(frozen=True, slots=True)
class Game:
    """The setting of a replay.

    Attributes:
        page_size: Records on a page.
        cap: Results of a query that can be reached; None if all can.
        counts: How exact the form's counts are.
        share: Share of the records in the sample of policies that need one.
        biased: Sample records by the number of terms they meet, not evenly.
        drilled: Draw the sample through the form, by this method; else it is given, at
            the cost of its pages.
        lies: The factor by which counts are wrong.
        most: Requests at most.
        seeds: Seeds of the order of results, the sample and the policy's choices.
        insert_only: Leave deleted records out of the copy, as if none were deleted.

    """

    page_size: int = 20
    cap: int | None = None
    counts: Counts = "exact"
    share: float = SHARE
    biased: bool = False
    drilled: Sampling | None = None
    lies: float = 1.0
    most: int | None = None
    seeds: Sequence[int] = (0,)
    insert_only: bool = False


def task(
    relation: Relation, begin: float, end: float, *, insert_only: bool = False
) -> Task:
    """Return the task to bring the copy of a day to a later one.

    Args:
        relation: The history of the table.
        begin: The day of the copy.
        end: The day of the form.
        insert_only: Leave deleted records out of the copy, as if none were deleted.

    """
    before, now = relation.at(begin), relation.at(end)
    if insert_only:
        before = {key: now[key] for key in before if key in now}
    came, since = relation.first_seen_times(begin), 2.0 * begin - end
    return Task(before, now, came, relation.first_seen_times(end), since, begin, end)


POLICIES = (
    "default", "undated", "paper", "uniform", "sharpened", "exhaustive",
    "gamma-poisson", "newest", "oracle",
)  # fmt: skip


def policy(name: str, work: Task, interface: Interface) -> FreshPolicy:
    """Return a rule for new records by its name; raise ``UsageError`` if unknown.

    All are registered but the oracle, which needs the truth. Each rule runs alone here,
    while a live form combines ``expected`` with others.
    """
    if name == "oracle":
        return FreshOracle(work.now)
    registered = _registered(name)
    gap = work.end - work.begin

    def values() -> Rotation:
        came = {key for key, moment in work.came.items() if moment > work.since}
        seen = dict.fromkeys(work.before, work.begin)
        return Rotation(interface, work.before, seen, came, max(gap, 1.0))

    context = RuleContext(since=work.since, now=work.end, gap=gap, values=values)
    return registered.make(context)


def check(names: Sequence[str]) -> None:
    """Raise ``UsageError`` unless all of these are rules for new records."""
    for name in names:
        if name != "oracle":
            _registered(name)


def _registered(name: str) -> NewPolicy:
    try:
        return plugins.load(GROUP, ALIASES.get(name, name), NewPolicy)
    except UsageError:
        names = ", ".join(dict.fromkeys([*POLICIES, *NEW]))
        raise UsageError(
            f"--policies: no policy is named {name!r}; choose one of {names}"
        ) from None


def replay(
    relation: Relation,
    begin: float,
    end: float,
    attributes: Sequence[Attribute],
    policies: Sequence[str],
    game: Game | None = None,
) -> list[dict[str, Any]]:
    """Return how policies find the records that came between two days.

    Args:
        relation: The history of the table.
        begin: The day of the copy.
        end: The day of the form.
        attributes: The attributes that the form can query.
        policies: Names; see ``policy``.
        game: The setting.

    """
    game = game or Game()
    work = task(relation, begin, end, insert_only=game.insert_only)
    return play(work, attributes, policies, game)


def play(
    work: Task, attributes: Sequence[Attribute], policies: Sequence[str], game: Game
) -> list[dict[str, Any]]:
    """Return one row for each policy and seed: its scores and its cost.

    The curve has the share of the new records found, by requests.
    """
    can = {"everything": True, "newest": True} if "newest" in policies else {}
    interface = Interface(
        tuple(attributes), game.page_size, game.cap, game.counts, **can
    )
    return [
        {"policy": name, "seed": seed, **_one(work, interface, name, game, seed)}
        for seed in game.seeds
        for name in policies
    ]


def _one(
    work: Task, interface: Interface, name: str, game: Game, seed: int
) -> dict[str, Any]:
    form_rng, rng = np.random.default_rng(seed).spawn(2)
    form = TableForm(
        interface,
        work.now,
        rng=form_rng,
        dates=work.dates,
        faults=TableFaults(lies=game.lies),
    )
    sampler: Sampler = sample_of(form, game, rng)
    if game.drilled is not None:
        sampler = DrilledSample(work.before, game.share, game.drilled)
    local = LocalRecords(interface, work.before, work.came)
    ledger = Ledger(form, game.most)
    return _row(
        harvest(policy(name, work, interface), local, ledger, rng, sampler), work
    )


def sample_of(form: TableForm, game: Game, rng: Generator) -> Sampler:
    """Return a random sample of a table, at the cost of its pages."""
    keys = form.incidence.keys
    degree = np.diff(form.incidence.start).astype(np.float64)
    chance = degree / degree.sum() if game.biased else None
    rows = rng.choice(len(keys), round(game.share * len(keys)), replace=False, p=chance)
    return GivenSample({keys[i]: form.records[keys[i]] for i in rows.tolist()})


def _row(done: Harvest, work: Task) -> dict[str, Any]:
    fresh = len(work.now.keys() - work.before.keys())
    curve = np.array(done.curve, dtype=np.float64).reshape(-1, 2)
    rows = np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(np.intp))
    points = [[int(a), round(b / max(fresh, 1), 4)] for a, b in curve[rows].tolist()]
    needed = {str(x): requests_to(done.curve, x * fresh) for x in LEVELS}
    found = asdict(scores(done, work.before.keys(), work.now.keys()))
    return {
        **{name: None if isnan(value) else value for name, value in found.items()},
        "stop": done.stop,
        "requests_to": needed,
        "curve": points,
    }


def infer(records: Iterable[Attributes], names: Sequence[str]) -> list[Attribute]:
    """Return the attributes of a form, inferred from the values of its records.

    A name may include its kind, as in ``title:keyword``. Else numbers are queried by
    range, cut into tenths; values that repeat or have no more than two words are
    selected; texts are queried by word.
    """
    rows = list(records)
    return [_attribute(rows, *name.partition(":")[::2]) for name in names]


def _attribute(rows: Sequence[Attributes], name: str, kind: str) -> Attribute:
    values = [row.get(name) for row in rows]
    values = [value for value in values if value not in (None, "")]
    if not values:
        raise UsageError(f"no record has a value of {name!r}; see the table's columns")
    numbers = [v for v in values if isinstance(v, int | float)]
    if kind == "range" or (not kind and len(numbers) == len(values)):
        cuts = np.unique(np.quantile(numbers, np.arange(1, 10) / 10.0)).tolist()
        return Attribute(name, "range", cuts=tuple(cuts))
    if kind not in ("", "select", "keyword"):
        raise UsageError(f"{name}:{kind}: a kind is select, keyword or range")
    words = np.mean([len(words_in(str(value))) for value in values])
    repeated = len(values) / len(set(values))
    if kind == "select" or (not kind and (words <= 2.0 or repeated >= OFTEN)):
        return Attribute(name, "select")
    return Attribute(name, "keyword")
