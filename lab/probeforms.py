"""What probing finds out about forms that do not do what they say.

``python -m lab.probeforms [SEEDS] [FOLDER]...`` measures forms over made-up
tables of several sizes, honest ones and ones with one fault each, and prints how often
the fault was found, how many requests that took, and how often an honest form was
accused. If folders with recorded histories are named, it is forms over what they held
last instead.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.core.forms import Attribute, Form, Interface, Term
from halflife.core.object_store import Attributes
from halflife.kinds.form.tables import form_attributes
from halflife.queries.faulty_form import FaultyForm, FormFaults
from halflife.queries.form_facts import FormFacts
from halflife.queries.form_probe import REQUESTS, measure
from halflife.queries.ledger import Ledger
from halflife.queries.table_form import TableFaults, TableForm
from halflife.recordings.relations import load_relation

SEEDS = 10
SIZES = (67, 613, 6_143)
PAGE = 10
CAP = 100
MAKES = tuple(f"make{i}" for i in range(12))
WORDS = tuple(f"word{i}" for i in range(60))
ATTRIBUTES = (
    Attribute("make", "select", MAKES),
    Attribute("title", "keyword"),
    Attribute("price", "range", cuts=tuple(range(100, 1000, 100))),
)
CLAIM = Interface(ATTRIBUTES, page_size=PAGE, everything=True, newest=True, lookup=True)


def table(n: int, rng: Generator) -> dict[str, Attributes]:
    """Return goods: common and rare makes, titles of three words, prices, days."""
    rank = 1.0 / np.arange(1, len(MAKES) + 1)
    makes = rng.choice(len(MAKES), n, p=rank / rank.sum())
    zipf = 1.0 / (np.arange(len(WORDS)) + 3.0)
    words = rng.choice(len(WORDS), (n, 3), p=zipf / zipf.sum())
    prices = rng.integers(0, 1000, n)
    return {
        f"k{i}": {
            "make": MAKES[makes[i]],
            "title": " ".join(WORDS[word] for word in words[i]),
            "price": int(prices[i]),
            "day": i,
        }
        for i in range(n)
    }


@dataclass(frozen=True)
class Case:
    """A fault, and how it is told that it was found.

    Attributes:
        found: Whether what was measured names it, given the true interface.
        truth: What the form does other than it claims.
        claim: What is claimed other than usual.
        faults: Of the table.
        troubles: Of the form around it.
        least: Records from which on the fault can be seen at all.

    """

    found: Callable[[FormFacts], bool]
    truth: Mapping[str, Any] = field(default_factory=dict)
    claim: Mapping[str, Any] = field(default_factory=dict)
    faults: TableFaults = TableFaults()  # noqa: RUF009  (frozen)
    troubles: FormFaults = FormFaults()  # noqa: RUF009  (frozen)
    least: int = 0

    def form(self, n: int, seed: int) -> Form:
        """Return a form with the fault over a table of so many records."""
        rng = np.random.default_rng([seed, n])
        records = table(n, rng)
        dates = {key: float(i) for i, key in enumerate(records)}
        return self.over(CLAIM, records, dates, rng)

    def over(
        self,
        usual: Interface,
        records: Mapping[str, Attributes],
        dates: Mapping[str, float],
        rng: Generator,
    ) -> Form:
        """Return a form with the fault over these records."""
        claimed = replace(usual, **self.claim)
        true = replace(claimed, everything=True, **self.truth)
        inner = TableForm(true, records, rng=rng, dates=dates, faults=self.faults)
        return FaultyForm(inner, self.troubles, claimed)


def accused(measured: FormFacts, claimed: Interface = CLAIM) -> list[str]:
    """Return what an honest form was accused of."""
    after = measured.interface(claimed)
    names = ("counts", "cap", "page_size", "together", "newest", "lookup", "everything")
    wrong = [n for n in names if getattr(after, n) != getattr(claimed, n)]
    if after.attributes != claimed.attributes:
        wrong.append("attributes")
    return [*wrong, "stable"] if measured.stable is False else wrong


HONEST: dict[str, dict[str, Any]] = {
    "exact counts": {},
    "exact counts, a known cap": {"cap": CAP},
    "no counts": {"counts": "none"},
    "no counts, a known cap": {"counts": "none", "cap": CAP},
    "no empty query, one term a query": {"everything": False, "together": 1},
    "large pages": {"page_size": 50},
}
FAULTS: dict[str, Case] = {
    **{
        f"counts off by up to {factor:g}": Case(
            lambda m: m.counts == "lying", faults=TableFaults(lies=factor)
        )
        for factor in (1.2, 1.5, 2.0, 5.0)
    },
    "rounded counts": Case(
        lambda m: m.counts == "rounded", {"counts": "rounded"}, least=6143
    ),
    "counts stop at the cap": Case(
        lambda m: m.counts == "capped", {"counts": "capped", "cap": CAP}, least=613
    ),
    "no counts": Case(lambda m: m.counts == "none", {"counts": "none"}),
    "a cap nobody told of": Case(lambda m: m.cap == CAP, {"cap": CAP}, least=613),
    "the same, without counts": Case(
        lambda m: m.cap == CAP,
        {"cap": CAP, "counts": "none"},
        {"counts": "none"},
        least=6143,
    ),
    "smaller pages": Case(
        lambda m: m.page_size == PAGE, {"page_size": PAGE}, {"page_size": 25}
    ),
    "unstable order": Case(
        lambda m: m.stable is False, faults=TableFaults(unstable=True)
    ),
    "pages overlap": Case(lambda m: m.stable is False, troubles=FormFaults(overlap=2)),
    "every page is the first": Case(
        lambda m: m.paged is False, troubles=FormFaults(stuck=True)
    ),
    "newest ignored": Case(
        lambda m: m.newest is False, troubles=FormFaults(unsorted=True)
    ),
    "look-up finds nothing": Case(
        lambda m: m.lookup is False, troubles=FormFaults(lost=True)
    ),
    "terms joined by or": Case(
        lambda m: m.conjunctive is False, troubles=FormFaults(either=True)
    ),
    "an attribute ignored": Case(
        lambda m: m.ignored == ("make",), troubles=FormFaults(deaf=frozenset({"make"}))
    ),
    "every fifth answer fails": Case(
        lambda m: m.failures > 0, troubles=FormFaults(fails=5)
    ),
}  # fmt: skip


REAL = (  # faults that need nothing of the records
    "counts off by up to 1.2", "counts off by up to 1.5", "counts off by up to 2",
    "counts stop at the cap", "no counts", "a cap nobody told of", "smaller pages",
    "unstable order", "pages overlap", "look-up finds nothing", "terms joined by or",
)  # fmt: skip


def probed(form: Form, seed: int) -> FormFacts:
    """Return what some requests find out about a form."""
    seeds = [Term("make", make) for make in MAKES]
    return measure(Ledger(form), seeds, np.random.default_rng(seed), date="day")


def run(seeds: int) -> Iterator[dict[str, Any]]:
    """Return a row for each fault and each honest form."""
    for name, case in FAULTS.items():
        tried = [
            probed(case.form(n, seed), seed)
            for n in SIZES
            for seed in range(seeds)
            if n >= case.least
        ]
        found = [case.found(measured) for measured in tried]
        yield {
            "fault": name,
            "tried": len(tried),
            "found": float(np.mean(found)),
            **_cost(tried),
        }
    for name, claim in HONEST.items():
        case = Case(lambda _: True, claim=claim)
        tried = [probed(case.form(n, s), s) for n in SIZES for s in range(seeds)]
        wrong = [what for m in tried for what in accused(m, replace(CLAIM, **claim))]
        yield {
            "honest": name,
            "tried": len(tried),
            "accused": sum(bool(accused(m, replace(CLAIM, **claim))) for m in tried)
            / len(tried),
            "of": sorted(set(wrong)),
            **_cost(tried),
        }


def _cost(tried: list[FormFacts]) -> dict[str, Any]:
    requests = [measured.requests for measured in tried]
    return {"requests": float(np.mean(requests)), "most_requests": max(requests)}


def recorded(folder: Path, seeds: int) -> Iterator[dict[str, Any]]:
    """Return a row for each fault of a form over what a history held last."""
    relation = load_relation(folder)
    at = float(relation.looks[-1])
    records, came = relation.at(at), relation.first_seen_times(at)
    usual = replace(CLAIM, attributes=form_attributes(records), page_size=2 * PAGE)
    cases = {
        "none": Case(lambda m: not accused(m, usual)),
        **{name: FAULTS[name] for name in REAL},
    }
    for name, case in cases.items():
        tried = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            ledger = Ledger(case.over(usual, records, came, rng))
            tried.append(measure(ledger, (), rng))
        found = float(np.mean([case.found(measured) for measured in tried]))
        head = {"history": folder.name, "records": len(records), "fault": name}
        yield {**head, "tried": len(tried), "found": found, **_cost(tried)}


def main() -> None:
    """Print the table that the arguments ask for."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    folders = [Path(word) for word in sys.argv[2:]]
    real = [row for folder in folders for row in recorded(folder, seeds)]
    rows = real or list(run(seeds))
    told = {"limit": REQUESTS, "sizes": SIZES, "results": rows}
    sys.stdout.write(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
