"""Known tuples kept fresh through a form."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from form_worlds import behind, cars
from halflife.bench.contentfreshness import days_of, replay
from halflife.bench.knownworld import Differences, ServedRelation, topical
from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.incidence import Incidence
from halflife.queries.known.content import measure
from halflife.queries.known.copies import Copy
from halflife.queries.known.keywords import pool_for
from halflife.queries.known.refresh import Refresher
from halflife.queries.known.rules import KnownIndex, Timetable
from halflife.queries.known_rounds import KnownPlan, refresh
from halflife.queries.ledger import Ledger
from halflife.queries.policies import INDEX, KNOWN
from halflife.queries.table_form import TableForm
from halflife.recordings.relations import column, load_relation
from objects_folder import REAL, tables, write
from refreshers import refresher

RNG = np.random.default_rng
RULES = [*KNOWN, "oracle"]


def turn(worker, copy, ledger, now, rng, truth=None):
    """Refresh known records as a live form would."""
    return refresh(KnownPlan(INDEX, copy, now, truth), worker, ledger, rng)


def copy_of(records, said="price", weight=None):
    return Copy(records, measure=measure(said), weight=weight, now=0.0)


def one_turn(form, copy, name, *, budget, now=1.0, truth=None):
    """Return a turn of a new refresher, and its ledger."""
    ledger = Ledger(form, budget)
    worker = refresher(copy, form.interface, name)
    return turn(worker, copy, ledger, now, RNG(0), truth=truth), ledger


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("lookup", [True, False])
@pytest.mark.parametrize("counts", ["exact", "none"])
def test_every_rule_keeps_to_its_requests(name, lookup, counts):
    records = cars(60)
    form = behind(records, lookup=lookup, counts=counts)
    copy = copy_of(dict(list(records.items())[:30]))
    worker = refresher(copy, form.interface, name)
    truth = np.ones(30)
    for day in range(1, 6):
        ledger = Ledger(form, 7)
        done = turn(worker, copy, ledger, float(day), RNG(day), truth=truth)
        assert ledger.requests <= 7
        assert all(probe.why and probe.gain >= 0 for probe in done.probes)
        assert sum(done.refreshed) >= np.count_nonzero(copy.seen == day)
    alone = name in {"naive-1", "naive-2", "lookup-index"}
    assert np.any(copy.seen > 0) == (lookup or not alone)


@pytest.mark.parametrize(
    "name", sorted(set(RULES) - {"naive-2", "method-2", "order-interval"})
)
def test_with_requests_enough_all_is_refreshed_and_then_it_stops(name):
    records = cars(40)
    form = behind(records, lookup=True)
    copy = copy_of(records)
    done, ledger = one_turn(form, copy, name, budget=2000, truth=np.ones(40))
    if name == "cube-root":  # asks for what is due, and the rest another day
        assert ledger.requests > 0
    else:
        assert np.all(copy.seen == 1.0)
    again = Ledger(form, 50)
    worker = refresher(copy, form.interface, "index")
    assert name == "cube-root" or not turn(worker, copy, again, 1.0, RNG(0)).probes
    assert len(done.probes) == len(set(done.probes))


def test_all_that_an_answer_shows_is_refreshed():
    records = {
        "a": {"city": "Oslo", "title": "red", "price": 1.0},
        "b": {"city": "Oslo", "title": "blue", "price": 2.0},
    }
    form = behind({**records, "b": {**records["b"], "title": "red", "price": 9.0}})
    copy = copy_of(records)
    worker = refresher(copy, form.interface)
    numbers = range(len(worker.pool))
    red = next(i for i in numbers if worker.pool.name(i) == "title=red")
    probe = next(
        worker._probe(choice)
        for choice in KnownIndex()(worker.standing(copy, 1.0, 9.0), RNG(0))
    )._replace(number=red, query=worker.pool.query(red))
    assert worker.carry_out(probe, copy, Ledger(form), 1.0) == 2
    assert copy.held[1]["price"] == 9.0


def test_a_search_is_preferred_where_it_brings_many_and_a_look_up_where_it_is_dear():
    many = {f"m{i}": {"city": "Oslo", "title": f"t{i}", "price": 1.0} for i in range(5)}
    lone = {"x": {"city": "Rome", "title": "red", "price": 1.0}}
    romans = {
        f"r{i}": {"city": "Rome", "title": "red", "price": 1.0} for i in range(60)
    }
    form = behind({**many, **lone, **romans}, lookup=True)
    copy = copy_of({**many, **lone})
    worker = refresher(copy, form.interface)
    for number, name in enumerate(map(worker.pool.name, range(len(worker.pool)))):
        if worker.pool.query(number):
            dear = any(word in name for word in ("Rome", "red", "price"))
            worker.reported.note_hits(number, 61 if dear else 5)
    done = turn(worker, copy, Ledger(form, 2), 1.0, RNG(0)).probes
    assert [str(p.query or p.key) for p in done] == ["city=Oslo", "x"]


def test_a_query_that_turns_out_dear_is_thought_over():
    local = {
        f"m{i}": {"city": "Oslo", "title": f"t{i}", "price": 1.0} for i in range(3)
    }
    others = {f"o{i}": {"city": "Oslo", "title": "z", "price": 1.0} for i in range(97)}
    form = behind({**local, **others}, lookup=True)
    copy = copy_of(local)
    done, ledger = one_turn(form, copy, "index", budget=10)
    assert str(done.probes[0].query) == "city=Oslo"
    assert np.all(copy.seen == 1.0)
    assert ledger.requests <= 4  # a page of the twenty, and at most three look-ups


def test_what_a_whole_answer_lacks_is_looked_up_and_gone():
    records = cars(30)
    form = behind({k: r for k, r in records.items() if k != "car3"}, lookup=True)
    copy = copy_of(records)
    one_turn(form, copy, "index", budget=200)
    assert np.flatnonzero(copy.gone).tolist() == [3]


def test_what_cannot_be_looked_up_is_gone_when_a_whole_answer_lacks_it():
    records = cars(30)
    form = behind({k: r for k, r in records.items() if k != "car3"})
    copy = copy_of(records)
    one_turn(form, copy, "index", budget=200)
    assert np.flatnonzero(copy.gone).tolist() == [3]


def test_what_lies_beyond_the_cap_is_not_taken_for_gone():
    records = cars(60)
    form = behind(records, cap=5)
    copy = copy_of(records)
    one_turn(form, copy, "method-1", budget=300)
    assert not copy.gone.any()


def test_what_is_found_elsewhere_is_not_doubted_again():
    records = cars(30)
    moved = {**records, "car3": {**records["car3"], "city": "Bergen", "title": "zzz"}}
    form = behind(moved, lookup=True)
    copy = copy_of(records)
    one_turn(form, copy, "index", budget=200)
    assert not copy.gone.any()
    assert copy.strayed[3]
    assert copy.held[3]["city"] == "Bergen"


def test_method_2_reads_first_pages_only():
    records = cars(60)
    form = behind(records)
    copy = copy_of(records)
    done, ledger = one_turn(form, copy, "method-2", budget=500)
    asked = {probe.query for probe in done.probes}
    assert ledger.requests == len(asked)


def test_naive_rules_go_round_and_skip_what_is_known_to_be_fast():
    records = cars(10)
    copy = copy_of(records)
    worker = refresher(copy, behind(records, lookup=True).interface, "naive-2")
    fast = {"car4": {**records["car4"], "price": 1000.0}}
    form = behind({**records, **fast}, lookup=True)
    seen = []
    for day in range(1, 7):
        ledger = Ledger(form, 5)
        done = turn(worker, copy, ledger, float(day), RNG(0))
        seen += [probe.key for probe in done.probes]
    assert sorted(seen[:10]) == sorted(records)
    assert seen.count("car4") == 1


def test_a_round_is_sent_in_ascending_order():
    records = cars(40)
    form = behind(records)
    copy = copy_of(records)
    copy.weight[:] = RNG(0).pareto(1.0, 40) + 0.1
    worker = refresher(copy, form.interface, "page-greedy")
    plan = worker.next(copy, 1.0, 1e6, RNG(0))
    gain = [probe.gain for probe in plan]  # all rates and ages are alike
    assert gain == sorted(gain)


def test_fixed_frequencies_are_kept_to():
    records = {
        **{f"a{i}": {"city": "Oslo", "title": f"a{i}", "price": 1.0} for i in range(4)},
        **{f"b{i}": {"city": "Rome", "title": f"b{i}", "price": 1.0} for i in range(4)},
    }
    interface = Interface((Attribute("city"),), page_size=5)
    form = TableForm(interface, records, rng=RNG(0))
    copy = copy_of(records, weight=lambda r: 4.0 if r["city"] == "Rome" else 1.0)
    worker = Refresher(pool_for(interface, records), interface, Timetable())
    asked = []
    for day in range(1, 121):
        done = turn(worker, copy, Ledger(form, 1), float(day), RNG(0))
        asked += [str(probe.query) for probe in done.probes]
    # Staleness grows in line, so four times the weight is twice as often.
    assert asked.count("city=Rome") / len(asked) == pytest.approx(2 / 3, abs=0.05)


def test_the_server_is_guessed_from_what_it_reported():
    records = cars(200)
    form = behind(records)
    copy = copy_of(dict(list(records.items())[:50]))
    worker = refresher(copy, form.interface)
    assert worker.reported.factor == pytest.approx(1.0)
    for day in range(1, 4):
        turn(worker, copy, Ledger(form, 30), float(day), RNG(0))
    assert 2.0 < worker.reported.factor < 8.0
    told = np.isfinite(worker.reported.total)
    assert np.all(worker.reported.hits().count[told] == worker.reported.total[told])


def test_the_oracle_must_be_told():
    records = cars(5)
    with pytest.raises(ValueError, match="needs the true"):
        one_turn(behind(records), copy_of(records), "oracle", budget=5)


def drifting(name, seed, *, days=40, budget=3):
    """Return the mean staleness of a copy of cars whose prices go up."""
    rng = RNG(seed)
    records = cars(90, seed)
    rate = rng.pareto(2.0, 90)
    local = dict(list(records.items())[:45])
    copy, stale = copy_of(local), []
    form = behind(records, lookup=True)
    worker = refresher(copy, form.interface, name)
    for day in range(1, days + 1):
        up = rng.poisson(rate).tolist()
        records = {
            key: {**row, "price": row["price"] + more}
            for (key, row), more in zip(records.items(), up, strict=True)
        }
        form = behind(records, lookup=True)
        turn(worker, copy, Ledger(form, budget), float(day), RNG(day))
        held = [row["price"] for row in copy.held]
        there = [records[key]["price"] for key in local]
        stale.append(np.mean(np.array(there) - held))
    return np.mean(stale)


def test_the_index_beats_the_rounds_and_these_beat_look_ups():
    found = {
        name: np.mean([drifting(name, seed) for seed in range(3)])
        for name in ("naive-1", "page-greedy", "index")
    }
    assert found["index"] < found["page-greedy"] < found["naive-1"]


@pytest.fixture
def relation(tmp_path):
    return load_relation(write(tmp_path, tables()))


def test_a_served_relation_answers_like_a_table_of_the_day(relation):
    served = ServedRelation(relation, ["maker"], page_size=1, rng=RNG(0))
    for day in relation.looks.tolist():
        served.turn_to(day)
        table = TableForm(served.interface, relation.at(day), rng=RNG(0))
        for value in ("x", "y", "xx"):
            query = Query.of(Term("maker", value))
            rows = {table.incidence.keys[i] for i in table.matches(query)}
            found, page = {}, 0
            while (shown := served.ask(query, page)).records:
                found |= shown.records
                page += 1
            assert set(found) == rows
            assert shown.total == len(rows)
        for key in ("a", "b", "c"):
            mine, theirs = served.fetch(key).records, table.fetch(key).records
            assert mine == {k: {"object_id": k, **r} for k, r in theirs.items()}


@pytest.mark.parametrize(
    "said", ["price", "relative:price", "changed", "changed:price", "words:maker"]
)
def test_differences_over_many_are_those_of_one_by_one(relation, said):
    served = ServedRelation(relation, ["maker"], page_size=5, rng=RNG(0))
    how = measure(said)
    held, there = np.divmod(np.arange(25), 5)
    there[7] = -1
    found = Differences(served, how)(held, there)
    for i, (a, b) in enumerate(zip(held.tolist(), there.tolist(), strict=True)):
        one, two = served.record(a), served.record(b)
        if one["object_id"] == two["object_id"]:
            assert found[i] == (0.0 if b < 0 else how.differ(one, two))


@pytest.mark.parametrize("options", [{}, {"measure": "prices", "weight": "price"}])
def test_any_recorded_folder_can_be_replayed(relation, options):
    rows = replay(relation, ["makers"], budget=1, page_size=1, seeds=(0, 1), **options)
    assert [row["policy"] for row in rows][:3] == ["naive1", "naive2", "greedy"]
    for row in rows:
        assert 0.0 <= row["coverage"] <= 1.0
        assert row["staleness"]["mean"] >= 0.0
        assert row["requests"] <= 3
        assert len(row["curve"]) == 1


def test_a_replay_tells_what_it_does_not_know(relation):
    with pytest.raises(UsageError, match="there is no rule 'best'"):
        replay(relation, ["maker"], budget=1, policies=["best"])
    with pytest.raises(UsageError, match="there is no column 'title'; there is"):
        replay(relation, ["title"], budget=1)
    with pytest.raises(UsageError, match="at least 3"):
        days_of(relation, float(relation.looks[-1]), None)


def test_columns_are_found_by_a_part_of_their_name(relation):
    assert column(relation, "maker") == column(relation, "makers") == "maker"
    assert column(relation, "Prices") == "price"
    assert column(relation, "object_id") == "object_id"
    with pytest.raises(UsageError, match="object_id, maker, price"):
        column(relation, "e")


def test_what_is_known_is_about_some_words():
    records = cars(200)
    attributes = (Attribute("title", "keyword"), Attribute("price"))
    incidence = Incidence.of(Interface(attributes), records)
    known = topical(incidence, 0.3, RNG(0))
    assert 0.3 <= known.mean() < 0.4
    assert topical(incidence, 1.0, RNG(0)).all()


@pytest.mark.real
@pytest.mark.skipif(not REAL.exists(), reason="the recorded histories are absent")
def test_papers_are_refreshed_many_at_a_request_by_title_and_author():
    relation = load_relation(REAL / "cv_arxiv")
    rows = replay(
        relation,
        ["title", "authors"],
        budget=5,
        policies=["naive1", "index"],
        begin=float(relation.looks[-12]),
    )
    alone, chosen = rows
    assert alone["tuples_per_request"] == pytest.approx(1.0)
    assert chosen["tuples_per_request"] > 10.0
    assert chosen["coverage"] > 8 * alone["coverage"]


def test_a_tenth_of_a_turn_goes_to_tuples_in_doubt_however_often_it_is_asked():
    records = cars(60)
    form = behind(records, lookup=True)
    copy = copy_of(records)
    worker = refresher(copy, form.interface, "index")
    copy.doubted[:] = True
    budget, found = 40.0, []
    for _ in range(6):  # what was looked up for doubt in this turn counts
        probes = worker._doubted(copy, 1.0, budget)
        found += probes
        budget -= len(probes)
        for probe in probes:
            copy.doubted[copy.row[probe.key]] = False
    assert len(found) == len({probe.key for probe in found}) == 4
    assert all(probe.why == "was missing from an answer" for probe in found)
    assert len(worker._doubted(copy, 2.0, 40.0)) == 4  # another turn


def test_the_staleness_of_a_copy_is_the_mean_over_what_is_not_gone():
    records = cars(20)
    copy = copy_of(records)
    for day in (1.0, 2.0, 3.0):  # all prices move by 2 a day
        moved = {k: {**r, "price": r["price"] + 2 * day} for k, r in records.items()}
        copy.take(moved, day)
    whole = copy.staleness(5.0)
    for key in list(records)[:5]:
        copy.lose(key)
    part = copy.staleness(5.0)
    growth = copy.growth().mean(copy.age(5.0))
    assert whole.mean == pytest.approx(growth.mean())
    assert part.mean == pytest.approx(growth[5:].mean())
    assert part.low <= part.mean <= part.high
