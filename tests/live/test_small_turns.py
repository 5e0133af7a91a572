"""A form's first crawl goes on however few requests there are for a turn."""

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.forms import Attribute, Interface
from halflife.engine.service import ServiceRhythm
from halflife.kinds.form import recorded, runner
from halflife.kinds.form.recorded_pages import snippet
from halflife.queries.table_form import Tabled
from halflife.replay.play import Play, play_recorded
from halflife.stores.memory import MemoryStore

BEGAN, PAGE, PAGES = 20_000.0, 3, 6
COLORS = ("red", "green", "blue")
ROWS = {f"car{i}": {"color": COLORS[i % 3], "price": i} for i in range(PAGE * PAGES)}
URL = "http://desk.invalid"
SELDOM = ServiceRhythm(*(7200.0,) * 5)


def played(requests, per_page, counts, days):
    """Return the copy and the requests of a form that shows all of it at once."""
    shape = Interface(
        (Attribute("color", "select", COLORS),),
        page_size=PAGE,
        everything=True,
        counts=counts,
    )
    table = Tabled(shape, ROWS, rng=np.random.default_rng(0))
    text = snippet(URL, shape, name="desk").replace(
        f"per_page = {PAGE}\n", f"per_page = {per_page}\nrobots = false\n"
    )
    config = Config.parse(
        f"[budget]\nrequests = {requests}\n[fetch]\ndelay = 0\n{text}"
    )
    store, play = MemoryStore(), Play(BEGAN, days, rhythm=SELDOM)
    sent = play_recorded(config, store, {URL: recorded.form(lambda _: table)}, play)
    return runner.held(store, config.source[0]), sent


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
