"""Worked numbers of Liu, Xiao and Yang on incremental crawling."""

import numpy as np
import pytest

from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.fresh import Choice
from halflife.queries.fresh.harvest import GivenSample, Harvest, HarvestRound, harvest
from halflife.queries.fresh.metrics import scores
from halflife.queries.fresh.records import SampleGuidedRule, effectiveness
from halflife.queries.graph import distances, selection
from halflife.queries.incidence import Incidence
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords
from halflife.queries.table_form import TableForm

# Fig. 1, as far as the text tells it: r1 has b2 and r2 has a3; asking for b2 brings
# r5, and asking for a3 brings r4 and r5. History is r1, r2 and r3, which are joined.
WDB = {
    "r1": {"A": "a1", "B": "b2"},
    "r2": {"A": "a3", "B": "b1"},
    "r3": {"A": "a1", "B": "b1"},
    "r4": {"A": "a3", "B": "b3"},
    "r5": {"A": "a3", "B": "b2"},
}
HISTORY = {key: WDB[key] for key in ("r1", "r2", "r3")}
FORM = Interface((Attribute("A"), Attribute("B")))
EDGES = {"r1": {"r3", "r5"}, "r2": {"r3", "r4", "r5"}, "r4": {"r2", "r5"}}


class _Asks:
    samples = False

    def __init__(self, *queries: Query) -> None:
        self.queries = list(queries)

    def next(self, local, ledger, rng) -> Choice | None:
        return Choice(self.queries.pop(0), pages=None) if self.queries else None


def form() -> TableForm:
    return TableForm(FORM, WDB, rng=np.random.default_rng(0))


@pytest.mark.parametrize("key", EDGES)
def test_figure_1_records_are_neighbours_if_one_query_returns_both(key: str) -> None:
    incidence = Incidence.of(FORM, WDB)
    near = set()
    for i, other in enumerate(incidence.keys):
        alone = np.arange(len(WDB)) == i
        total = distances(incidence, alone).total[incidence.keys.index(key)]
        if total == 1:
            near.add(other)
    assert near == EDGES[key]


def test_figure_1_b2_brings_r5_and_a3_brings_r4_and_r5() -> None:
    local, rng = LocalRecords(FORM, HISTORY), np.random.default_rng(0)
    turn = HarvestRound(_Asks(Query.of(Term("B", "b2"))), local, Ledger(form()))
    turn.step(rng)
    assert set(turn.harvest.new) == {"r5"}
    fresh = LocalRecords(FORM, HISTORY)
    done = harvest(_Asks(Query.of(Term("A", "a3"))), fresh, Ledger(form()), rng)
    assert set(done.new) == {"r4", "r5"}
    assert done.returned == 3
    assert scores(done, HISTORY, WDB).pnr == pytest.approx(2 / 3)


def test_equation_4_by_hand() -> None:
    # From r1: r2 is two steps away (by r3) and r3 one, so 3/2 to the history; the
    # sample r2, r5 is two steps and one away, 3/2 as well. From r4: the history is
    # 1 (r2), 2 (r3 by r2) and 2 (r1 by r5) away, 5/3, and the sample 1 and 1.
    incidence = Incidence.of(FORM, WDB)
    history = np.array([key in HISTORY for key in incidence.keys])
    sample = np.array([key in ("r2", "r5") for key in incidence.keys])
    sel = dict(
        zip(incidence.keys, selection(incidence, history, sample).sel, strict=True)
    )
    assert sel["r1"] == pytest.approx(1.0)
    assert sel["r4"] == pytest.approx(5 / 3)


def test_equation_5_orders_as_its_finite_twin() -> None:
    local, ledger = LocalRecords(FORM, HISTORY), Ledger(form())
    for value in ("a1", "a3"):
        found = ledger.first(Query.of(Term("A", value)))
        local.reading(Query.of(Term("A", value))).total = found.total
    b3 = Query.of(Term("B", "b3"))
    local.reading(b3).total = ledger.first(b3).total
    r = {q.terms[0].value: effectiveness(local, q)[0] for q in local.reads}
    assert r == pytest.approx({"a1": 0.0, "a3": 2 / 3, "b3": 1.0})
    # Eq. 5 is 0 for a1, (3 - 1) / 1 = r / (1 - r) for a3, and infinite for b3.
    assert r["a3"] / (1 - r["a3"]) == pytest.approx(2.0)


def test_the_whole_algorithm_finds_both_new_records_of_figure_1() -> None:
    rng = np.random.default_rng(3)
    done = harvest(
        SampleGuidedRule(),
        LocalRecords(FORM, HISTORY),
        Ledger(form()),
        rng,
        GivenSample({"r2": WDB["r2"]}),
    )
    assert set(done.new) == {"r4", "r5"}
    assert scores(done, HISTORY, WDB).icr == 1.0


@pytest.mark.parametrize(
    ("ccr", "icr", "share"),
    [(0.979, 0.863, 0.1533), (0.972, 0.808, 0.1458), (0.962, 0.640, 0.1056)],
)
def test_table_2_fits_the_definition_of_ccr(ccr, icr, share) -> None:
    """CCR = 1 - (1 - ICR) s: the share s of new records that each column implies."""
    n, new = 100_000, round(100_000 * share)
    now = [str(i) for i in range(n)]
    found = {str(i): {} for i in range(n - new, n - new + round(icr * new))}
    done = Harvest(new=found, returned=n, unique=n)
    assert scores(done, now[: n - new], now).ccr == pytest.approx(ccr, abs=5e-4)


def test_pnr_of_the_paper_s_example() -> None:
    """II.D: 100 new records among 1000 returned make 0.1."""
    new = {str(i): {} for i in range(100)}
    done = Harvest(new=new, returned=1000, unique=900)
    assert scores(done, [], list(new)).pnr == pytest.approx(0.1)
