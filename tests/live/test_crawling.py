"""Sites crawled over real HTTP on loopback."""

import shutil
from collections import Counter

import numpy as np
import pytest

from halflife.core.observation import Seen
from halflife.kinds.pages import crawl as pages_crawl
from halflife.kinds.pages.validators import MOST_CHECKS
from halflife.stores.sqlite import SqliteStore
from site_parts import BEGAN, html, running, settings, sync, town

FEW = "variants = 6"
REAL = 60  # pages of the town besides its calendar


@pytest.fixture(scope="module")
def served():
    with running(town()) as site:
        yield site


@pytest.fixture
def site(served):
    """The town as it was built."""
    served.pages, served.asked, served.answered = town(), [], []
    return served


@pytest.fixture(scope="module")
def first(served, tmp_path_factory):
    """What the first sync of the town did, and what it left behind."""
    served.pages, served.asked, served.answered = town(), [], []
    config = settings(served, tmp_path_factory.mktemp("first"), FEW)
    outcome = sync(config)
    return outcome, list(served.asked), config.store_path


@pytest.fixture
def config(first, site, tmp_path):
    """Settings, with a store in which the whole town was seen once."""
    shutil.copy(first[2], tmp_path / "halflife.db")
    return settings(site, tmp_path, FEW)


def opened(config):
    return SqliteStore.open(config.store_path, readonly=True)


def known(config, site):
    """Return the paths known, and whether each was ever seen."""
    with opened(config) as store:
        evidence = store.evidence(["town"])
    paths = [key.removeprefix(site.url) for key in evidence.keys]
    return dict(zip(paths, (evidence.looks > 0).tolist(), strict=True))


def links(config, site):
    with opened(config) as store:
        graph = store.links(["town"])
    paths = [key.removeprefix(site.url) for key in graph.keys]
    return {
        path: {paths[i] for i in graph.out(row)}
        for row, path in enumerate(paths)
        if graph.under[row]
    }


def test_a_whole_site_is_found_once_and_nothing_else(first, config, site):
    outcome, asked, _ = first
    seen = known(config, site)
    folders = {f"/f{i}/" for i in range(5)}
    pages = {f"/f{i}/p{j}" for i in range(5) for j in range(10)}
    assert folders | pages | {"/", "/moved", "/f2/p0?print=1"} <= set(seen)
    assert not {"/unwanted", "/hidden", "/picture.png"} & {*seen, *asked}
    assert all(path.startswith("/") for path in seen)
    assert seen["/private/x"] is False
    assert "/private/x" not in asked
    assert max(Counter(asked).values()) == 1
    months = [path for path in seen if path.startswith("/calendar")]
    assert len(months) == 12
    assert outcome.requests == len(asked) <= REAL + 20


def test_redirects_and_duplicates_are_told_apart(first, config, site):
    assert first[1].count("/f1/p1") == 1  # though two addresses lead to it
    sync(config, BEGAN + 1.0)  # the copies are known as such from here on
    with opened(config) as store:
        evidence, graph = store.evidence(["town"]), store.links(["town"])
    row = {key.removeprefix(site.url): i for i, key in enumerate(graph.keys)}
    assert graph.same[row["/moved"]] == row["/f1/p1"]
    assert graph.same[row["/f2/p0?print=1"]] == row["/f2/p0"]
    assert np.count_nonzero(graph.same >= 0) == 2
    assert evidence.weight[row["/f2/p0?print=1"]] == pytest.approx(0.01)
    assert np.count_nonzero(evidence.weight < 1) == 1


def test_pages_that_are_not_modified_keep_their_links(config, site):
    before = links(config, site)
    asked = len(site.asked)
    sync(config, BEGAN + 1.0, everything=True)
    statuses = Counter(status for _, status in site.answered[asked:])
    # Those that were checked had to send the page: so many, and a few by lot.
    assert statuses[304] >= REAL - MOST_CHECKS - 4
    assert links(config, site) == before
    assert before["/f0/p0"] == {"/f0/p1", "/", "/f0/"}


def test_a_page_that_appears_later_is_found_by_the_page_that_changed(config, site):
    site.pages["/f4/"] = html("folder 4, again", "/", "/f4/new")
    site.pages["/f4/new"] = html("new", "/f4/")
    outcome = sync(config, BEGAN + 1.0, everything=True)
    assert outcome.found == 1
    assert known(config, site)["/f4/new"]
    assert links(config, site)["/f4/"] == {"/", "/f4/new"}


def test_a_page_that_goes_away_leads_nowhere_and_is_kept_as_gone(config, site):
    del site.pages["/f0/p0"]
    sync(config, BEGAN + 1.0, everything=True)
    with opened(config) as store:
        evidence = store.evidence(["town"])
        assert evidence.seen[evidence.row(f"{site.url}/f0/p0")] == Seen.ABSENT
    assert links(config, site)["/f0/p0"] == set()


def test_what_was_left_out_is_found_when_limits_are_raised(site, tmp_path):
    config = settings(site, tmp_path, "variants = 6\nmost = 20")
    sync(config)
    assert len(known(config, site)) == 20
    with opened(config) as store:
        progress = pages_crawl.progress(store, config.source[0])
    assert progress.known == 20
    assert "the limit of 20 pages is reached" in progress.words()
    config = settings(site, tmp_path, "variants = 6")
    sync(config, BEGAN + 1.0, everything=True)
    assert len(known(config, site)) > REAL
    with opened(config) as store:
        assert pages_crawl.progress(store, config.source[0]).note == ""


def test_depth_is_kept(site, tmp_path):
    config = settings(site, tmp_path, "depth = 1")
    sync(config)
    assert "/f1/" in known(config, site)
    assert "/f1/p2" not in known(config, site)


def test_a_scope_is_never_left(site, tmp_path):
    more = f'scope = ["{site.url}/f1/*", "{site.url}/f3/p*"]'
    config = settings(site, tmp_path, more)
    sync(config)
    inside = {path for path in known(config, site) if path != "/"}
    assert len(inside) == 11
    assert all(path.startswith("/f1/") for path in inside)
    assert set(site.asked) == {"/", "/robots.txt", *inside}


def test_pages_known_before_they_were_a_site_are_asked_for_whole(site, tmp_path):
    text = settings(site, tmp_path).path.read_text()
    plain = text.replace('kind = "site"\nstart = ', "pages = [").replace(
        f'{site.url}/"\n', f'{site.url}/"]\n'
    )
    pages = type(settings(site, tmp_path)).parse(plain, tmp_path / "halflife.toml")
    sync(pages)
    assert known(pages, site) == {"/": True}
    config = settings(site, tmp_path, "variants = 6")
    sync(config, BEGAN + 1.0)
    assert len(known(config, site)) > REAL


# Finding and refreshing


def shares(site, config, days):
    """Sync daily; return how many first looks and how many others each day took."""
    before, taken = set(), []
    for day in range(days):
        start = len(site.asked)
        sync(config, BEGAN + day)
        paths = [p for p in site.asked[start:] if p != "/robots.txt"]
        new = {path for path in paths if path not in before}
        taken.append((len(new), len(paths) - len(new)))
        before |= new
    return taken


def test_a_small_budget_is_shared_between_finding_and_refreshing(site, tmp_path):
    config = settings(site, tmp_path, FEW, requests=24)
    taken = shares(site, config, 7)
    assert all(new + old <= 24 for new, old in taken)
    assert taken[0][1] == 0  # nothing is known yet: all goes to finding
    for new, old in taken[1:4]:  # as long as there are enough of both
        assert 8 <= new <= 14
        assert 8 <= old <= 14
    assert sum(new for new, _ in taken) > REAL  # in the end all were found
    assert taken[-1][0] <= 2
    assert taken[-1][1] >= 20  # and what there is goes to refreshing


@pytest.mark.parametrize(("discovery", "found"), [(0.0, 0), (1.0, 23)])
def test_the_share_of_discovery_can_be_set(site, tmp_path, discovery, found):
    more = f"{FEW}\ndiscovery = {discovery}"
    config = settings(site, tmp_path, more, requests=24)
    first, second = shares(site, config, 2)
    assert first[0] == pytest.approx(23, abs=1)
    assert second[0] == pytest.approx(found, abs=1)


def test_a_plan_says_which_link_led_to_a_page(site, tmp_path):
    config = settings(site, tmp_path, "variants = 6")
    sync(config, most=2)
    with opened(config) as store:
        found_by = pages_crawl.found_by(store, config.source)
    assert found_by[f"{site.url}/f0/"] == f"{site.url}/"
    assert f"{site.url}/" not in found_by
