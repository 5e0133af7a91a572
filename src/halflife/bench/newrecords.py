"""Find the new records of recorded tables through a form, by rival policies.

``python -m halflife.bench.newrecords FOLDER`` plays versions of the tables in a folder
(``crypto_jobs`` and ``ai_jobs`` month by month, ``cv_arxiv`` year by year) behind a
form and prints what each policy found for how many requests; ``--quick`` plays one
version of each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.forms import Attribute, Counts, Interface
from halflife.queries.fresh import Policy
from halflife.queries.fresh.expected import Expected
from halflife.queries.fresh.harvest import Given, Harvest, Sampler, harvest
from halflife.queries.fresh.metrics import requests_to, scores
from halflife.queries.fresh.records import ByRecord
from halflife.queries.fresh.simple import Exhaustive, GammaPoisson, Newest, Oracle
from halflife.queries.ledger import Ledger
from halflife.queries.local import Local
from halflife.queries.tabled import Faults, Tabled
from halflife.register import Attributes
from halflife.sources.relations import Relation

SHARE = 0.15  # of the records are in the sample
POINTS = 40  # of a curve that are told
LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Task:
    """A copy that has grown old, and what there is now.

    Attributes:
        before: The copy.
        now: What there is.
        came: When the records of the copy were first seen, in days.
        dates: When the records that are there now were first seen.
        since: What came after this day came lately.

    """

    before: Mapping[str, Attributes]
    now: Mapping[str, Attributes]
    came: Mapping[str, float]
    dates: Mapping[str, float]
    since: float


def task(
    relation: Relation, begin: float, end: float, *, insert_only: bool = False
) -> Task:
    """Return the task to bring the copy of a day to a later one.

    Args:
        relation: What the table held when.
        begin: The day of the copy.
        end: The day of the form.
        insert_only: Leave out of the copy what is gone by then, as if nothing ever
            went.

    """
    before, now = relation.at(begin), relation.at(end)
    if insert_only:
        before = {key: now[key] for key in before if key in now}
    came, since = relation.came(begin), 2.0 * begin - end
    return Task(before, now, came, relation.came(end), since)


def policy(name: str, work: Task) -> Policy:
    """Return a policy for new records by its name; raise ``KeyError`` if none is."""
    made: Mapping[str, Callable[[], Policy]] = {
        "default": lambda: Expected(since=work.since),
        "undated": Expected,
        "paper": ByRecord,
        "uniform": lambda: ByRecord(guided=False),
        "exhaustive": Exhaustive,
        "gamma-poisson": GammaPoisson,
        "newest": Newest,
        "oracle": lambda: Oracle(work.now),
    }
    return made[name]()


def replay(
    relation: Relation,
    begin: float,
    end: float,
    attributes: Sequence[Attribute],
    policies: Sequence[str],
    **setting: Any,
) -> list[dict[str, Any]]:
    """Return how policies find the records that came between two days.

    Args:
        relation: What the table held when.
        begin: The day of the copy.
        end: The day of the form.
        attributes: What the form asks for.
        policies: Names; see ``policy``.
        setting: See ``play``; also ``insert_only``.

    """
    work = task(relation, begin, end, insert_only=setting.pop("insert_only", False))
    return play(work, attributes, policies, **setting)


def play(
    work: Task,
    attributes: Sequence[Attribute],
    policies: Sequence[str],
    *,
    page_size: int = 20,
    cap: int | None = None,
    counts: Counts = "exact",
    share: float = SHARE,
    biased: bool = False,
    lies: float = 1.0,
    most: int | None = None,
    seeds: Sequence[int] = (0,),
) -> list[dict[str, Any]]:
    """Return one row for each policy and seed: what it found, and for how much.

    Args:
        work: The copy and what there is now.
        attributes: What the form asks for.
        policies: Names; see ``policy``.
        page_size: Records on a page.
        cap: Results of a query that can be reached; None if all can.
        counts: What the form's counts are worth.
        share: Of the records are in the sample of those that want one.
        biased: Sample records by how many terms they meet, not evenly.
        lies: The factor by which counts are off.
        most: Requests at most.
        seeds: Of the order of results, the sample and the policy's own chance.

    """
    can = {"everything": True, "newest": True} if "newest" in policies else {}
    interface = Interface(tuple(attributes), page_size, cap, counts, **can)
    rows = []
    for seed in seeds:
        for name in policies:
            form_rng, rng = np.random.default_rng(seed).spawn(2)
            form = Tabled(
                interface,
                work.now,
                rng=form_rng,
                dates=work.dates,
                faults=Faults(lies=lies),
            )
            sampler = _sample(form, share, rng, biased=biased)
            local = Local(interface, work.before, work.came)
            done = harvest(policy(name, work), local, Ledger(form, most), rng, sampler)
            rows.append({"policy": name, "seed": seed, **_told(done, work)})
    return rows


def _sample(form: Tabled, share: float, rng: Generator, *, biased: bool) -> Sampler:
    keys = form.incidence.keys
    degree = np.diff(form.incidence.start).astype(np.float64)
    chance = degree / degree.sum() if biased else None
    rows = rng.choice(len(keys), round(share * len(keys)), replace=False, p=chance)
    return Given({keys[i]: form.records[keys[i]] for i in rows.tolist()})


def _told(done: Harvest, work: Task) -> dict[str, Any]:
    fresh = len(work.now.keys() - work.before.keys())
    curve = np.array(done.curve, dtype=np.float64).reshape(-1, 2)
    some = np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(np.intp))
    points = [[int(a), round(b / max(fresh, 1), 4)] for a, b in curve[some].tolist()]
    needed = {str(x): requests_to(done.curve, x * fresh) for x in LEVELS}
    return {
        **asdict(scores(done, work.before.keys(), work.now.keys())),
        "stop": done.stop,
        "requests_to": needed,
        "curve": points,
    }
