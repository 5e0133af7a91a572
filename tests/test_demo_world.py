import json
import subprocess
import sys
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import SourceError
from halflife.demo.pages import feed, html, moment, sitemap
from halflife.demo.process import running
from halflife.demo.site import is_answered
from halflife.demo.world import build

BEGAN = 20_000.0


@pytest.fixture(scope="module")
def world():
    return build(seed=1, pages=300, days=40.0, began=BEGAN)


@pytest.fixture(scope="module")
def site(world):
    with running(world) as site:
        yield site


def get(site, path, **headers):
    request = urllib.request.Request(site.url + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


def first(world, t, where):
    """Return the first page for which ``where`` holds and that answers at ``t``."""
    return next(
        p
        for p in np.flatnonzero(where).tolist()
        if all(is_answered(world, world.paths[p], u) for u in np.atleast_1d(t).tolist())
    )


def test_the_same_seed_makes_the_same_world(world):
    again = build(seed=1, pages=300, days=40.0, began=BEGAN)
    assert np.array_equal(again.recording.at, world.recording.at)
    assert np.array_equal(again.recording.weight, world.recording.weight)
    other = build(seed=2, pages=300, days=40.0, began=BEGAN)
    assert not np.array_equal(other.recording.weight, world.recording.weight)


def test_moving_the_beginning_moves_everything_and_changes_nothing(world):
    early = build(seed=1, pages=300, days=40.0)
    assert early.recording.at + BEGAN == pytest.approx(world.recording.at)
    assert np.array_equal(early.truth(20.0)[0], world.truth(BEGAN + 20.0)[0])


def test_the_world_has_the_make_up_it_promises():
    world = build(seed=3, pages=4000, days=40.0)
    recording, n = world.recording, len(world)
    assert len(world.founders) == 4000
    calm = ~world.restless
    assert np.median(world.rate[calm]) == pytest.approx(0.1, rel=0.25)
    assert 1.4 < np.log(world.rate[calm]).std() < 1.9
    assert world.restless.mean() == pytest.approx(0.02, abs=0.001)
    assert np.isfinite(recording.died).mean() == pytest.approx(0.03, abs=0.002)
    assert np.isfinite(recording.born).sum() == n - 4000 == 120
    assert set(recording.weight.tolist()) <= set(range(1, 21))
    assert np.median(recording.weight) == 1
    assert recording.weight.max() == 20


def test_the_founders_are_the_pages_there_at_the_beginning(world):
    founders, whole = world.founders, world.recording
    assert founders.keys == whole.keys[: len(founders)]
    assert np.all(founders.born <= BEGAN)
    assert np.all(whole.born[len(founders) :] > BEGAN)
    rows = np.arange(len(founders))
    for t in BEGAN + np.array([0.0, 7.5, 40.0]):
        assert np.array_equal(founders.states(rows, t), whole.states(rows, t))


def test_changes_come_at_the_rate_the_world_states():
    world = build(seed=4, pages=4000, days=40.0)
    calm = np.flatnonzero(~world.restless)
    count = np.diff(world.recording.start)
    # Bursts count once in the rate and three times in the count; a fifth are bursty.
    expected = world.rate[calm].sum() * 40.0
    assert expected < count[calm].sum() < 2.0 * expected


@given(seed=st.integers(0, 50), pages=st.integers(2, 40), days=st.floats(0.5, 60))
def test_every_world_is_well_formed(seed, pages, days):
    world = build(seed, pages, days)
    recording = world.recording
    assert recording.start[0] == 0
    assert recording.start[-1] == recording.at.size
    assert len(set(world.paths)) == len(world)
    assert np.all((recording.at >= 0) & (recording.at < days))
    for begin, end in pairwise(recording.start):
        assert np.all(np.diff(recording.at[begin:end]) >= 0)
    assert np.all(recording.born < recording.died)


@given(seed=st.integers(0, 20), t=st.floats(0, 30), page=st.integers(0, 20))
def test_versions_count_the_changes_so_far(seed, t, page):
    world = build(seed, pages=20, days=30.0)
    r = world.recording
    mine = r.at[r.start[page] : r.start[page + 1]]
    mine = mine[(mine > r.born[page]) & (mine < r.died[page])]
    lives = np.array([r.born[page], r.died[page]])
    expected = (mine <= t).sum() + (np.isfinite(lives) & (lives <= t)).sum()
    assert world.version(page, t)[0] == expected
    assert world.truth(t)[0][page] == expected
    assert world.alive(page, t)[0] == (r.born[page] <= t < r.died[page])


def test_a_page_was_modified_when_its_last_change_happened(world):
    t = BEGAN + 20.0
    version, alive = world.truth(t)
    page = int(np.flatnonzero(alive & (version > 0))[0])
    at = world.modified(page, t)
    assert world.version(page, at)[0] == version[page]
    assert world.version(page, at - 1e-6)[0] == version[page] - 1
    quiet = int(np.flatnonzero(alive & (version == 0))[0])
    assert world.modified(quiet, t) == BEGAN


def test_a_restless_page_is_new_at_every_look(world):
    pages = np.flatnonzero(world.restless)
    looks = [world.version(pages, BEGAN + t) for t in np.arange(0.0, 39.0, 0.25)]
    assert np.all(np.diff(looks, axis=0) > 0)


def test_only_the_version_decides_the_main_text(world):
    def main(**given):
        text = html(world, 3, **{"version": 5, "noise": "x", "hits": 1, **given})
        return text.partition("<main>")[2].partition("</main>")[0]

    assert main() == main(noise="y", hits=9)
    assert main() != main(version=6)
    assert len({main(version=v) for v in range(30)}) == 30
    assert len(main().split()) > 200


def test_the_site_answers_as_the_world_says(world, site):
    t = BEGAN + 30.0
    site.set_clock(t)
    alive = world.alive(np.arange(len(world)), t)
    assert get(site, world.paths[first(world, t, alive)])[0] == 200
    dead = world.recording.died <= t
    assert get(site, world.paths[first(world, t, dead)])[0] == 410
    unborn = world.recording.born > t
    assert get(site, world.paths[first(world, t, unborn)])[0] == 404
    nowhere = next(p for p in ("/no", "/none", "/never") if is_answered(world, p, t))
    assert get(site, nowhere)[0] == 404


def test_a_change_shows_only_after_it_happened(world, site):
    t = np.array([BEGAN + 5.0, BEGAN + 15.0])
    changed = (world.truth(t[0])[0] != world.truth(t[1])[0]) & ~world.restless
    alive = world.truth(t[0])[1] & world.truth(t[1])[1]
    page = first(world, t, changed & alive)
    site.set_clock(t[0])
    before, again = (get(site, world.paths[page])[2] for _ in range(2))
    assert before.partition("<main>")[2] == again.partition("<main>")[2]
    assert before != again  # the noise outside the text differs
    site.set_clock(t[1])
    after = get(site, world.paths[page])[2]
    assert before.partition("<main>")[2] != after.partition("<main>")[2]


def test_what_is_unchanged_is_answered_304(world, site):
    t = BEGAN + 10.0
    site.set_clock(t)
    served = 0
    for page in np.flatnonzero(world.truth(t)[1])[:40].tolist():
        path = world.paths[page]
        status, headers, _ = get(site, path)
        if status != 200:
            continue
        if tag := headers["ETag"]:
            assert get(site, path, **{"If-None-Match": tag})[0] == 304
            assert get(site, path, **{"If-None-Match": '"other"'})[0] == 200
        elif date := headers["Last-Modified"]:
            assert get(site, path, **{"If-Modified-Since": date})[0] == 304
            assert parsedate_to_datetime(date).timestamp() <= t * 86400
        else:
            assert get(site, path, **{"If-None-Match": '"x"'})[0] == 200
        served += 1
    assert served > 30


def test_a_restless_page_differs_at_every_fetch(world, site):
    t = BEGAN + 10.0
    site.set_clock(t)
    page = first(world, t, world.restless & world.truth(t)[1])
    texts = {get(site, world.paths[page])[2].partition("<main>")[2] for _ in range(3)}
    assert len(texts) == 3


def test_about_two_in_a_hundred_requests_meet_trouble_and_always_the_same(world, site):
    times = [BEGAN + 0.25 * k for k in range(160)]
    share = np.mean([not is_answered(world, p, t) for p in world.paths for t in times])
    assert share == pytest.approx(0.02, abs=0.003)
    t = BEGAN + 7.0
    site.set_clock(t)
    troubled = [p for p in world.paths if not is_answered(world, p, t)]
    assert {get(site, troubled[0])[0] for _ in range(2)} == {503}


def test_robots_sitemap_and_feed_are_there(world, site):
    t = next(
        t
        for t in BEGAN + np.arange(30.0, 40.0, 0.25)
        if is_answered(world, "/sitemap.xml", t) and is_answered(world, "/feed.xml", t)
    )
    site.set_clock(float(t))
    robots = get(site, "/robots.txt")[2]
    assert f"Sitemap: {site.url}/sitemap.xml" in robots
    assert get(site, "/sitemap.xml")[2] == sitemap(world, site.url, t)
    assert get(site, "/feed.xml")[2] == feed(world, site.url, t)


def test_births_are_announced_in_the_sitemap_and_in_the_feed(world):
    page = int(np.flatnonzero(np.isfinite(world.recording.born))[0])
    born = float(world.recording.born[page])
    path = world.paths[page]
    assert path not in sitemap(world, "", born - 0.01)
    assert path in sitemap(world, "", born + 0.01)
    assert path in feed(world, "", born + 1e-6)
    assert moment(born).isoformat()[:10] in feed(world, "", born + 1e-6)


def test_the_site_ends_when_its_input_ends():
    command = [sys.executable, "-m", "halflife.demo.site", "--pages", "3"]
    done = subprocess.run(
        command,
        input="1.5\n2.5\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    hello, *answers = done.stdout.splitlines()
    assert json.loads(hello)["url"].startswith("http://127.0.0.1:")
    assert answers == ["ok", "ok"]


def test_a_site_that_died_is_reported(world):
    with running(world) as site:
        site.process.kill()
        site.process.wait()
        with pytest.raises(SourceError):
            site.set_clock(BEGAN + 1)
