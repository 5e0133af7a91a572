"""Worlds served over HTTP: what clients get, and how they are scored."""

import json
import re
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.cli import main
from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.recordings.pages import Recording
from halflife.worlds import make as making
from halflife.worlds.scores import ClientLog, score
from halflife.worlds.server import FAULTS, World, WorldClock, client_name

SOURCES = ("site00", "jobs", "cars:form", "site01:search")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("world")
    making.make(place, ("sites", "texts", "jobs", "cars"), seed=3, size=0.03)
    return place


@pytest.fixture
def world(folder):
    return World.open(folder, SOURCES, days=20.0)


def get(url, agent="bot", method="GET", body=None, **headers):
    """Return status, headers and body of an answer."""
    headers = {"User-Agent": f"{agent}/1.0", **headers}
    asked = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def locations(body):
    return re.findall("<loc>(.*?)</loc>", body.decode())


def advance(desk, days):
    body = json.dumps({"days": days}).encode()
    status, _, told = get(f"{desk}/clock", method="POST", body=body)
    assert status == 200
    return json.loads(told)["now"]


def scores(desk):
    found = json.loads(get(f"{desk}/score")[2])
    return {row["client"]: row for row in found["results"]}


def test_who_fetches_everything_at_once_is_fresh_until_pages_change(world):
    truth = world.sources[0].truth
    with world.served() as desk:
        site = world.origins[1]
        pages = locations(get(f"{site}/sitemap.xml")[2])
        for page in pages:
            assert get(page)[0] == 200
        advance(desk, 15.0)
        told = scores(desk)["bot"]["sources"]["site00"]
    begin, end = world.clock.begin, world.clock()
    rows = np.arange(len(truth))
    alive = (truth.born <= begin) & (begin < truth.died)
    assert told["fetched"] == len(pages) == alive.sum()
    kept = np.minimum(truth.next_change(rows[alive], begin), end) - begin
    there = np.minimum(truth.died, end) - np.maximum(truth.born, begin)
    expected = kept.sum() / np.maximum(there, 0.0).sum()
    assert told["freshness"] == pytest.approx(expected)
    assert told["requests"] == len(pages) + 1
    assert told["current"] < 1.0


def test_pages_have_validators_that_save_the_body(world):
    with world.served():
        pages = locations(get(f"{world.origins[1]}/sitemap.xml")[2])
        tagged = ((p, get(p)[1].get("ETag")) for p in pages)
        at, tag = next((p, tag) for p, tag in tagged if tag)
        status, headers, body = get(at, **{"If-None-Match": tag})
        assert (status, body, headers["ETag"]) == (304, b"", tag)
        assert get(at, **{"If-None-Match": '"other"'})[0] == 200
        assert get(at.replace("page", "none"))[0] == 404


def test_new_pages_show_in_the_sitemap_and_gone_ones_are_gone(world):
    truth = world.sources[0].truth
    begin = world.clock.begin
    born = np.flatnonzero((truth.born > begin) & (truth.born < begin + 20.0))
    with world.served() as desk:
        site = world.origins[1]
        before = set(locations(get(f"{site}/sitemap.xml")[2]))
        now = advance(desk, 20.0)
        after = set(locations(get(f"{site}/sitemap.xml")[2]))
    alive = (truth.born <= now) & (now < truth.died)
    assert born.size
    assert len(after) == alive.sum()
    assert after - before


def test_listings_forms_and_searches_are_scored_by_the_records_they_handed_out(world):
    with world.served() as desk:
        _, jobs, cars, search = world.origins[1:]
        seen, path = [], "/objects"
        while path:
            page = json.loads(get(f"{jobs}{path}", agent="lister")[2])
            seen += [row["_key"] for row in page["objects"]]
            path = page.get("next")
        found = json.loads(get(f"{cars}/api/records?value_min=0", agent="asker")[2])
        word = str(next(iter(world_words(world))))
        hits = json.loads(get(f"{search}/search?q={word}&size=5", agent="seeker")[2])
        told = scores(desk)
    one = told["lister"]["sources"]["jobs"]
    assert one["fetched"] == len(set(seen)) == one["items"]
    assert (one["current"], one["requests"]) == (1.0, -(-len(seen) // 50))
    assert told["asker"]["sources"]["cars"]["fetched"] == len(found["results"]) > 0
    shown = {hit["_id"] for hit in hits["hits"]["hits"]}
    assert told["seeker"]["sources"]["site01"]["fetched"] == len(shown) > 0
    assert told["seeker"]["sources"]["jobs"]["fetched"] == 0


def world_words(world):
    source = world.sources[3]
    return source.reply.__self__._rows


def test_the_desk_tells_what_there_is_and_how_halflife_keeps_it(world):
    with world.served() as desk:
        told = json.loads(get(f"{desk}/world.json")[2])
        text = get(f"{desk}/halflife.toml")[2].decode()
        assert get(f"{desk}/else")[0] == 404
        assert get(f"{desk}/clock", method="POST", body=b'{"days": -1}')[0] == 400
        assert get(f"{desk}/clock", method="POST", body=b"what?")[0] == 400
    assert [s["kind"] for s in told["sources"]] == ["site", "listing", "form", "search"]
    assert [s["url"] for s in told["sources"]] == world.origins[1:]
    config = Config.model_validate(tomllib.loads(text))
    assert [s.name for s in config.source] == ["site00", "jobs", "cars", "site01"]


def test_faults_are_as_they_are_named(folder):
    wrong = "errors", "no-validators", "lying-counts", "stuck-page"
    world = World.open(folder, SOURCES, faults=wrong)
    with world.served():
        site, _, cars, _ = world.origins[1:]
        answers = [get(f"{site}/?{i}") for i in range(60)]
        failed = [headers for status, headers, _ in answers if status == 503]
        assert 0 < len(failed) < 20
        assert failed[0]["Retry-After"] == "1"
        pages = [
            json.loads(body)
            for n in range(1, 30)
            for status, _, body in [get(f"{cars}/api/records?value_min=0&page={n % 3}")]
            if status == 200
        ]
        keys = {tuple(row["_key"] for row in page["results"]) for page in pages}
        assert len(keys) == 1  # every page is the first
        maps = (get(f"{site}/sitemap.xml") for _ in range(5))
        body = next(body for status, _, body in maps if status == 200)
        found = [get(page) for page in locations(body)[:20]]
        assert not any("ETag" in headers for _, headers, _ in found)


def test_a_capped_search_shows_and_counts_fifty_documents(folder):
    plain, capped = (
        World.open(folder, ("site01:search",), faults=faults)
        for faults in ((), ("capped-search",))
    )
    rows = plain.sources[0].reply.__self__._rows
    word = max(rows, key=lambda one: rows[one].size)
    told = []
    for world in (plain, capped):
        with world.served():
            url = f"{world.origins[1]}/search?q={word}&from=40&size=100"
            told.append(json.loads(get(url)[2])["hits"])
    assert told[0]["total"]["value"] > 60
    assert told[0]["total"]["relation"] == "eq"
    assert told[1]["total"] == {"value": 50, "relation": "gte"}
    assert told[1]["hits"] == told[0]["hits"][:10]


def test_every_fault_is_in_the_docs():
    page = (Path(__file__).parents[1] / "docs" / "worlds.md").read_text()
    assert all(f"| `{name}` |" in page for name in FAULTS)


def test_a_page_with_wrong_validators_says_unchanged_when_it_changed(folder):
    world = World.open(folder, ("site00",), days=300.0, faults=("wrong-validators",))
    truth = world.sources[0].truth
    with world.served() as desk:
        site = world.origins[1]
        tags = {
            p: get(p)[1].get("ETag") for p in locations(get(f"{site}/sitemap.xml")[2])
        }
        now = advance(desk, 300.0)
        rows = world.sources[0].reply.__self__.rows
        lied = []
        for page, tag in tags.items():
            row = rows[page.removeprefix(site)]
            moved = truth.states(np.array([row]), now)[0] > 0 and now < truth.died[row]
            if tag and moved and get(page, **{"If-None-Match": tag})[0] == 304:
                lied.append(page)
    assert 0 < len(lied) < len(tags) / 4


def test_questions_that_make_no_sense_are_answered_so_and_hand_out_nothing(world):
    with world.served() as desk:
        _, jobs, cars, search = world.origins[1:]
        for url in (
            f"{jobs}/objects?from=x",
            f"{cars}/api/records?page=x",
            f"{search}/search?q=a&size=x",
        ):
            status, _, body = get(url)
            assert status == 400
            assert "error" in json.loads(body)
        assert get(f"{jobs}/objects", method="HEAD")[0] == 200
        told = scores(desk)["bot"]
    assert {one["fetched"] for one in told["sources"].values()} == {0}
    assert told["requests"] == 4


def test_a_clock_runs_at_its_speed_and_stops_at_the_end():
    wall = iter([0.0, 10.0, 1000.0])
    clock = WorldClock(5.0, 8.0, 8640.0, lambda: next(wall))
    assert clock() == pytest.approx(6.0)
    assert clock() == 8.0


def test_clients_are_named_by_their_agent():
    assert client_name({"User-Agent": "curl/8.5"}) == "curl"
    assert client_name({}) == "unnamed"


TIMES = st.floats(0.0, 10.0).map(lambda t: round(t, 2))


@settings(max_examples=40, deadline=None)
@given(
    changes=st.lists(st.lists(TIMES, max_size=4, unique=True), min_size=1, max_size=4),
    looks=st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=12),
    lives=st.lists(st.tuples(TIMES, TIMES), min_size=4, max_size=4),
)
def test_a_score_is_the_share_of_moments_at_which_copies_were_current(
    changes, looks, lives
):
    many = len(changes)
    born = np.array([min(life) for life in lives[:many]])
    died = np.array([max(life) + 0.5 for life in lives[:many]])
    start = np.cumsum([0, *map(len, changes)])
    at = np.array([t for one in changes for t in sorted(one)], dtype=float)
    truth = Recording(
        tuple(map(str, range(many))), start, at, np.ones(many), born, died
    )
    looks = [(row, t) for row, t in looks if row < many and born[row] <= t < died[row]]
    log = ClientLog([r for r, _ in looks], [t for _, t in looks], len(looks))
    told = score(truth, log, 2.0, 9.0)
    grid = np.linspace(2.0, 9.0, 701)[:-1] + 0.005
    fresh = there = 0
    for row in range(many):
        alive = (born[row] <= grid) & (grid < died[row])
        mine = np.array([-1.0, *sorted(t for r, t in looks if r == row)])
        last = mine[np.searchsorted(mine, grid, side="right") - 1]
        same = np.full(grid.size, row)
        known = truth.states(same, last) == truth.states(same, grid)
        there += int(alive.sum())
        fresh += int((alive & known & (last >= 0.0)).sum())
    assert told["freshness"] == pytest.approx(fresh / max(there, 1), abs=0.02)


def test_mistakes_are_named(folder, capsys):
    with pytest.raises(UsageError, match="no fault 'rain'; there is errors"):
        World.open(folder, faults=("rain",))
    assert main(["world", "score"]) == 2
    assert main(["world", "score", "http://example.org"]) == 2
    assert main(["world", "score", "http://127.0.0.1:9"]) == 2
    told = capsys.readouterr().err
    assert "asks one desk" in told
    assert "served on loopback" in told
    assert "no world answers there" in told


def test_the_verb_shows_the_scores_of_a_served_world(world, capsys):
    with world.served() as desk:
        get(f"{world.origins[1]}/")
        assert main(["world", "score", desk]) == 0
        assert "bot" in capsys.readouterr().out
        assert main(["world", "score", desk, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["results"][0]["requests"] == 1
