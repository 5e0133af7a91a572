"""The laws of kinds of source, for every kind there is, ours or a plug-in's."""

from importlib.metadata import entry_points
from math import inf

import numpy as np
import pytest

from halflife.config import Config
from halflife.config.kinds import load_plugin
from halflife.core.value_curve import Offers
from halflife.engine import bootstrap
from halflife.engine.breakers import Breaker
from halflife.engine.service import ServiceRhythm
from halflife.kinds import laws
from halflife.kinds.page_view import PageRequest
from halflife.kinds.protocol import Memo, Reading, Report
from halflife.replay.play import Play, play_recorded
from halflife.stores.notes.fault import FAULT
from plugin_folder import entry_points as of_example, install
from replay.worlds import BEGAN, KINDS, settings

HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
DAYS = 1.0
BUDGETS = {"library": 5000}  # a day; a first summary takes many queries
WORLDS = {"site": "pages"}  # a kind that is kept in the world of another
FOUND = sorted({*(p.name for p in entry_points(group="halflife.kinds")), *of_example()})
AHEAD = np.linspace(0.0, 10.0, 21)


@pytest.fixture(scope="module", params=FOUND)
def kept(request, tmp_path_factory):
    """A kind, a source of it that was kept for a while, and its state."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(install(tmp_path_factory.mktemp("site")))
        (part,) = (make() for make in KINDS[WORLDS.get(request.param, request.param)])
        url, path = "http://source.invalid", folder / "halflife.toml"
        path.write_text(settings([part], [url], BUDGETS.get(part.name, 240)))
        config, sent = Config.load(path), []
        with bootstrap.writing(config) as store:
            store.skip_disk_syncs()
            play = Play(BEGAN, DAYS, audits=True, rhythm=HOURLY)
            sent = play_recorded(config, store, {url: part.source}, play)
            (source,) = config.source
            kind = load_plugin(request.param)[1]
            groups = ((source,),)
            reading = Reading(config, store, BEGAN + DAYS, Memo(), groups)
            state = kind.states(reading, [source])[source.name]
            yield kind, source, state, reading, sent


def same(one, other):
    """Say whether two answers are the same, numbers that are none included."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if hasattr(one, "__dataclass_fields__"):
        names = one.__dataclass_fields__
        return all(same(getattr(one, n), getattr(other, n)) for n in names)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)  # noqa: PLR0124


def test_something_was_kept(kept):
    kind, source, state, reading, sent = kept
    assert kind.describe(state).items > 0
    assert kind.was_seen(reading, source)
    assert len(sent) > 10


def test_what_is_said_of_a_state_is_always_the_same(kept):
    kind, _, state, _, _ = kept
    calls = [
        lambda: kind.quality(state, 0.975, AHEAD, looks=False),
        lambda: kind.worth(state, 0.95),
        lambda: kind.offers(state),
        lambda: kind.describe(state),
        lambda: kind.steps(state, 5),
        lambda: kind.ages(state),
        lambda: kind.prospects(state),
        lambda: kind.looks(state),
        lambda: kind.least(state),
    ]
    assert all(same(call(), call()) for call in calls)


def test_nothing_reads_the_store_once_the_state_was_read(kept, monkeypatch):
    kind, source, _, reading, _ = kept
    store = reading.store
    state = kind.states(reading, [source])[source.name]
    if kind.together(source, "") is not None:
        # Items are many: they are read when something is first asked of them.
        kind.quality(state, 0.9, AHEAD, looks=False)
    monkeypatch.setattr(
        type(store), "reading", lambda _: pytest.fail("the store was read")
    )
    kind.quality(state, 0.9, AHEAD, looks=False)
    kind.worth(state, 0.9)
    kind.offers(state)
    kind.describe(state)
    kind.steps(state, 3)
    kind.ages(state)
    kind.prospects(state)
    kind.parts(state)
    kind.gaps(state)


def test_quality_is_a_share_within_its_bounds_and_falls_if_nobody_looks(kept):
    kind, source, state, _, _ = kept
    cast = kind.quality(state, 0.975, AHEAD, looks=False)
    if cast is None:
        pytest.skip("nothing is known of its quality yet")
    assert laws.bad_quality(cast, AHEAD) == ""
    assert cast.measure == kind.measure(source)
    assert np.all(cast.low <= cast.mean + 1e-9)
    assert np.all(cast.mean <= cast.high + 1e-9)
    assert np.all(np.diff(cast.mean) <= 1e-9)


def test_offers_cost_something_and_gain_no_less_than_nothing(kept):
    kind, source, state, _, _ = kept
    offers = kind.offers(state)
    assert isinstance(offers, Offers)
    assert laws.bad_offers(offers) == ""
    assert offers.sources == (source.name,)
    ages = kind.ages(state)
    assert ages.size in {1, len(offers)}
    assert laws.bad_column("ages", ages) == ""


def test_more_requests_never_buy_less(kept):
    kind, source, state, _, _ = kept
    known = kind.worth(state, 0.95)
    assert laws.bad_known(known) == ""
    assert known.source is source
    assert bool(known.why) == (known.worth is None)


def test_descriptions_and_steps_are_of_the_source_and_agree(kept):
    kind, source, state, _, _ = kept
    told = kind.describe(state)
    assert laws.bad_description(told) == ""
    assert told.measure == kind.measure(source)
    assert told.last <= BEGAN + DAYS + 1e-6
    steps = kind.steps(state, 5)
    assert laws.bad_steps(steps) == ""
    assert steps
    assert all(step.why and step.what for step in steps)


def test_sources_that_belong_together_are_of_the_same_kind(kept):
    kind, source, _, _, _ = kept
    other = source.model_copy(update={"name": "other"})
    found = kind.read_with(source, [source, other])
    assert laws.bad_sources(found, source, [source, other]) == ""
    # Who is worked at together is read together, and the same policy joins them.
    if (key := kind.together(source, "usual")) is not None:
        assert key == kind.together(other, "usual")
        assert other in found


def test_what_is_paid_back_is_never_more_than_was_paid(kept):
    terms = kept[0].terms
    for sent in (0, 3, 10):
        assert terms.refund(10.0, sent, offline=True) == 10.0 - sent
        assert terms.refund(10.0, sent, offline=False) in {0.0, 10.0 - sent}
    assert 0.0 <= terms.least_gain < 1e-6


def test_a_fault_that_is_kept_is_found_again(kept):
    kind, source, _, reading, _ = kept
    store = reading.store
    assert list(kind.faults(store, source)) == []
    said = "x: could not be handled"
    kind.keep_faults(store, [source], {source.name: said, "another": "y"})
    assert list(kind.faults(store, source)) in ([], [said])
    assert FAULT.load(store, "another") is None
    FAULT.remove(store, source.name)


def test_a_breaker_closes_after_failures_or_leaves_that_to_items(kept):
    kind, source, _, _, _ = kept
    old, trouble = Breaker(), Report((source.name,), trouble="it answered 500")
    new = kind.breaker(source, old, trouble, BEGAN)
    assert laws.bad_breaker(new) == ""
    assert new is old or new.closed_for(BEGAN) > 0
    fine = kind.breaker(source, new, Report((source.name,)), BEGAN + 1.0)
    assert fine.closed_for(BEGAN + 1.0) == 0


def test_items_that_are_counted_are_all_that_can_be_gone(kept):
    kind, source, state, reading, _ = kept
    many, gone = kind.count(reading.store, source), kind.gone(reading.store, source)
    assert many is None or many >= len(gone)
    assert bool(gone) <= (many is not None)
    if many is not None:
        assert len(gone) == kind.describe(state).gone


def test_a_sync_costs_what_its_steps_do_or_goes_on(kept):
    kind, _, state, _, _ = kept
    steps = kind.steps(state, 5)
    cost = kind.sync_cost(steps)
    assert laws.bad_number(cost) == ""
    assert cost in {0.0, float(sum(step.requests for step in steps)), inf}
    assert bool(kind.not_synced) == (cost == 0.0)


def test_a_page_shows_what_is_kept(kept):
    kind, source, state, reading, _ = kept
    wide = kind.panorama(reading, [source], AHEAD)
    assert laws.bad_panorama(wide, {source.name}) == ""
    about = kind.describe(state)
    view = kind.page(PageRequest(reading, source, about, wide))
    assert laws.bad_page(view) == ""
    assert view.items
    assert len(view.items) <= 100
    beyond = kind.page(PageRequest(reading, source, about, wide, number=10**6))
    assert beyond.number == beyond.pages
    if wide is not None:
        alone = kind.quality(state, 0.975, AHEAD, looks=False)
        standing = wide.standings[source.name]
        assert standing.about.items == about.items
        assert standing.forecast.mean == pytest.approx(alone.mean, abs=1e-6)
        assert all(one.source == source.name for one in wide.plan(5))
        assert [known.source for known in wide.worths()] == [source]


def test_a_table_of_its_own_has_a_row_for_each_source(kept):
    kind, source, _, reading, _ = kept
    table = kind.own_table(reading, [source])
    assert laws.bad_table(table) == ""
    assert table is None or len(table.rows) == 1


def test_what_is_asked_query_by_query_says_which_query_is_next(kept):
    kind, source, state, reading, _ = kept
    queries = kind.queries(reading, source, 3)
    assert laws.bad_steps(queries) == ""
    assert not queries or same(queries, kind.steps(state, 3))


def test_the_rest_is_as_its_description_says(kept):
    kind, _, state, reading, _ = kept
    assert laws.bad_prospects(kind.prospects(state)) == ""
    assert laws.bad_number(kind.least(state)) == ""
    assert laws.bad_column("looks", kind.looks(state)) == ""
    parts = kind.parts(state)
    assert laws.bad_column("parts", parts) == ""
    assert laws.bad_column("gaps", kind.gaps(state), parts.size) == ""
    room = reading.config.budget.requests
    first = kind.first_cost(reading, [kept[1]], room)
    assert laws.bad_number(first) == ""
