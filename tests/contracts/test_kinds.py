"""The laws of kinds of source, for every kind there is, ours or a plug-in's."""

from importlib.metadata import entry_points

import numpy as np
import pytest

from halflife.config import Config
from halflife.config.kinds import load_plugin
from halflife.core.value_curve import Offers
from halflife.engine import bootstrap
from halflife.engine.service import Rhythm
from halflife.kinds import laws
from halflife.kinds.protocol import Memo, Reading
from halflife.replay.play import Play, play_recorded
from plugin_folder import entry_points as of_example, install
from replay.worlds import BEGAN, KINDS, settings

HOURLY = Rhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
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
        type(store), "looking", lambda _: pytest.fail("the store was read")
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
