"""Schedules of a listing, replayed on columns, have it due when the service fetches."""

from math import ceil

import numpy as np
import pytest

from halflife import plugins
from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing.recorded_source import listing
from halflife.kinds.listing.settings import ListingConfig
from halflife.policies.listings import ListingPolicy, ListingTerms
from halflife.replay.listings import SetReplay
from halflife.replay.play import Play, play_recorded
from halflife.stores.memory import MemoryStore
from replay.worlds import BEGAN, lot

DAYS, LONGEST = 6.0, 2.5
EARLIER = [BEGAN + day for day in range(30)]  # looks that were made before
SOON = 0.1 / 24.0  # days: turns are hourly, what is due is punctual to a tenth of that
URL = "http://cars.invalid"
HOURLY = ServiceRhythm(*(3600.0,) * 5)
GROUP = ListingConfig.policy_group
POLICIES = sorted(
    name
    for name in plugins.policies(GROUP)
    if plugins.load(GROUP, name, ListingPolicy).schedule is not None
)


def present(now):
    """Return the objects of a day: each comes and goes on days of its own."""
    day, found = round(now - BEGAN), {}
    for i in range(150):
        came = ceil(80.0 * lot("came", i)) - 30
        if came <= day < came + 1 + ceil(60.0 * lot("life", i)):
            found[f"car{i}"] = {"color": "red" if i % 2 else "blue"}
    return found


def looked(moments):
    """Return a store that knows the looks of these moments."""
    store, tracker = MemoryStore(), Tracker()
    for now in moments:
        tracker.take(Listing(now, present(now)))
    run = store.begin(["cars"], BEGAN, lease=1e9)
    store.save_register(run, "cars", tracker.register())
    store.finish(run, moments[-1])
    return store


def live(policy):
    """Return when the service fetches a listing that was known before."""
    text = (
        "[budget]\nrequests = 1000\n[fetch]\ndelay = 0\n[[source]]\n"
        f'name = "cars"\nkind = "listing"\nrobots = false\nurl = "{URL}/objects"\n'
        'format = "json"\nrecords = "objects"\nkey = "_key"\nnext = "next"\n'
        f'policy = "{policy}"\nmax_interval = "{LONGEST:g} d"\ngroup = "color"\n'
    )
    config, store = Config.parse(text), looked(EARLIER)
    play = Play(EARLIER[-1] + 0.1, DAYS, rhythm=HOURLY)
    sent = play_recorded(config, store, {URL: listing(present, 500)}, play)
    return sorted({one.at for one in sent})


@pytest.mark.parametrize("policy", POLICIES)
def test_the_service_fetches_a_listing_when_the_policy_of_replays_has_it_due(policy):
    fetched = live(policy)
    assert len(fetched) >= 2
    terms = ListingTerms(group="color", longest=LONGEST)
    due = plugins.load(GROUP, policy, ListingPolicy).due
    known = (looked([*EARLIER, *fetched[:k]]) for k in range(len(fetched)))
    asked = [due(store.collection("cars"), terms) for store in known]
    assert asked == pytest.approx(fetched, abs=SOON)


def test_a_replay_knows_what_the_service_knows_of_a_listing():
    """But one thing: what one fetch misses, the service believes gone after two."""
    later = [EARLIER[-1] + days for days in (0.7, 2.4, 4.2, 6.0)]
    heard = []

    def every_look(known):
        heard.append(known)
        return 0.0

    history = looked([*EARLIER, *later]).collection("cars")
    SetReplay(history, EARLIER[-1]).syncs(0, every_look)
    assert len(heard) == len(later)
    waiting = 0
    for k, found in enumerate(heard):
        own = looked([*EARLIER, *later[:k]]).collection("cars")
        assert (own.looks == found.looks).all()
        for name in ("absent_before", "first_seen", "last_seen"):
            assert (getattr(own.lives, name) == getattr(found.lives, name)).all()
        differ = own.lives.gone_by != found.lives.gone_by
        assert np.isinf(own.lives.gone_by[differ]).all()
        assert (found.lives.gone_by[differ] == found.looks[-1]).all()
        waiting += np.count_nonzero(differ)
    assert waiting > 0
