"""A form's first crawl goes on however few requests there are for a turn."""

from collections import Counter

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.forms import Attribute, Interface
from halflife.engine.service import ServiceRhythm
from halflife.kinds.form import recorded_source, runner
from halflife.kinds.form.recorded_pages import snippet
from halflife.kinds.listing.recorded_source import listing
from halflife.queries.table_form import TableForm
from halflife.replay.play import Play, play_recorded
from halflife.stores.memory import MemoryStore

BEGAN, PAGE, PAGES = 20_000.0, 3, 6
COLORS = ("red", "green", "blue")
ROWS = {f"car{i}": {"color": COLORS[i % 3], "price": i} for i in range(PAGE * PAGES)}
URL = "http://desk.invalid"
SELDOM = ServiceRhythm(*(7200.0,) * 5)
DAILY = ServiceRhythm(*(86400.0,) * 5)


def played(requests, per_page, counts, days):
    """Return the copy and the requests of a form that shows all of it at once."""
    shape = Interface(
        (Attribute("color", "select", COLORS),),
        page_size=PAGE,
        everything=True,
        counts=counts,
    )
    table = TableForm(shape, ROWS, rng=np.random.default_rng(0))
    text = snippet(URL, shape, name="desk").replace(
        f"per_page = {PAGE}\n", f"per_page = {per_page}\nrobots = false\n"
    )
    config = Config.parse(
        f"[budget]\nrequests = {requests}\n[fetch]\ndelay = 0\n{text}"
    )
    store, play = MemoryStore(), Play(BEGAN, days, rhythm=SELDOM)
    sent = play_recorded(
        config, store, {URL: recorded_source.form(lambda _: table)}, play
    )
    return runner.load_copy(store, config.source[0]), sent


@pytest.mark.parametrize("counts", ["exact", "none"])
@pytest.mark.parametrize(("requests", "days"), [(1, 7.5), (2, 4.0), (4, 2.5)])
def test_a_first_crawl_that_is_dearer_than_the_budget_goes_on(requests, days, counts):
    copy, sent = played(requests, PAGE, counts, days)
    assert copy.records.keys() == ROWS.keys()
    assert copy.begun
    assert len(sent) <= requests * days + 1


@pytest.mark.parametrize("counts", ["exact", "none"])
def test_a_page_size_that_was_learned_is_not_learned_again_each_turn(counts):
    """The settings promise less on a page than there is, which the first one shows."""
    copy, sent = played(1, PAGE - 1, counts, 7.5)
    assert copy.records.keys() == ROWS.keys()
    pages = [str(one.url) for one in sent]
    assert pages.count(pages[0]) <= 2


def lists(names, requests):
    """Return the settings of listings that share a budget."""
    lines = [f"[budget]\nrequests = {requests}\n[fetch]\ndelay = 0"]
    for name in names:
        lines.append(f'[[source]]\nname = "{name}"\nkind = "listing"\nrobots = false')
        lines.append(f'url = "http://{name}.invalid/objects"\nformat = "json"')
        lines.append('records = "objects"\nkey = "_key"\nnext = "next"')
    return Config.parse("\n".join(lines))


def growing(now):
    """Return the objects of a day: two more than the day before."""
    return {f"o{i}": {"price": i} for i in range(10 + 2 * int(now - BEGAN))}


def test_what_comes_in_is_spent_also_if_the_service_turns_once_a_day():
    """Else what is dear waits behind what is cheap: an hour's requests a turn."""
    names = [f"list{i}" for i in range(6)]
    config = lists(names, 60)
    world = {f"http://{name}.invalid": listing(growing, 5) for name in names}
    store, play = MemoryStore(), Play(BEGAN, 8.9, rhythm=DAILY)
    sent = play_recorded(config, store, world, play)
    late = (str(one.url) for one in sent if one.at > BEGAN + 5.5)
    begun = Counter(url.split("/")[2] for url in late if url.endswith("/objects"))
    assert len(begun) == len(names)
    assert min(begun.values()) >= 3
