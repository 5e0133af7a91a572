"""What changed, what differs and what is held: over real HTTP on a real state."""

import csv
import io
import json
import random
import re
import threading
import time
from urllib.parse import quote, urlencode

import pytest
from lxml import etree, html

import web_changes
from halflife.config import Config
from halflife.core.change import CHANGE_KINDS
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.engine import bootstrap
from halflife.stores.page_versions import PageVersions
from halflife.stores.sqlite import SqliteStore
from halflife.web import changes_page, diff_page
from halflife.web.server import ServeWish, running
from web_changes import HARM, PRICING
from web_visitor import Visitor

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return web_changes.changed_state(tmp_path_factory.mktemp("changed"))


@pytest.fixture(scope="module")
def site(state):
    with running(ServeWish(state, port=0)) as served:
        yield Visitor(served)


@pytest.fixture(scope="module")
def logged(state):
    """All changes, straight from the state file."""
    with SqliteStore.open(state.parent / "halflife.db", readonly=True) as store:
        return store.changes.read(0, 100_000)


def links(page, rel):
    tree = html.fromstring(page)
    return [a.get("href") for a in tree.xpath(f"//nav//a[@rel='{rel}']")]


def walk(site, path, rel):
    """Follow the links of the pager, and return what each page lists."""
    found = []
    for _ in range(100):
        found.append(site.get(path.replace("/changes", "/changes.json", 1)).json)
        following = links(site.get(path).text, rel)
        if not following:
            return found
        path = following[0]
    raise AssertionError("it does not end")


# The list of changes


def test_the_pager_shows_every_change_once_and_leads_back(site, logged):
    pages = walk(site, "/changes", "next")
    down = [row["seq"] for page in pages for row in page["results"]]
    assert down == [c.seq for c in logged][::-1]
    last = f"/changes?after={down[-1]}"
    back = walk(site, last, "prev")
    up = [row["seq"] for page in back for row in page["results"][::-1]]
    assert up == down[::-1][1:]


@pytest.mark.parametrize("kind", CHANGE_KINDS)
def test_changes_are_filtered_by_what_happened(site, logged, kind):
    pages = walk(site, f"/changes?kind={kind}", "next")
    found = [row["seq"] for page in pages for row in page["results"]]
    assert found == [c.seq for c in logged if c.kind == kind][::-1]


def test_changes_are_filtered_by_source_text_item_and_time(site, logged):
    def found(**given):
        pages = walk(site, f"/changes?{urlencode(given)}", "next")
        return {row["seq"] for page in pages for row in page["results"]}

    assert found(source="shop") == {c.seq for c in logged if c.source == "shop"}
    assert found(item=PRICING) == {c.seq for c in logged if c.key == PRICING}
    cooks = {c.seq for c in logged if "Cook 3" in str(c.fields)}
    assert found(q="COOK 3") == cooks
    assert cooks
    times = sorted({round(c.at, 3) for c in logged})
    middle = times[len(times) // 2]
    day = time.strftime("%Y-%m-%d", time.gmtime(int(middle) * 86400))
    inside = {c.seq for c in logged if int(c.at) == int(middle)}
    assert found(since=day, until=day) == inside
    assert inside


def test_an_update_shows_the_old_and_the_new_value(site):
    page = site.get("/changes?source=jobs&kind=changed").text
    tree = html.fromstring(page)
    salaries = tree.xpath("//dt[.='salary']/following-sibling::dd")
    said = re.sub(r"\s+", " ", salaries[0].text_content())
    assert re.search(r"\d+ → became \d+", said)


def test_a_changed_page_shows_its_lines_and_leads_to_the_difference(site):
    tree = html.fromstring(site.get(f"/changes?item={quote(PRICING)}").text)
    lines = [one.text_content() for one in tree.xpath("//div[@class='lines']/*")]
    words = [one.text for one in tree.xpath("//div[@class='lines']/*/b")]
    assert {"29", "31"} <= set(words)
    assert "29 euros a month, billed yearly." in lines
    assert "31 euros a month, billed yearly." in lines
    (first, *_) = tree.xpath("//p[@class='key']/a[1]/@href")
    assert site.get(first).status == 200
    (out, *_) = tree.xpath("//a[@class='out']")
    assert out.get("href") == PRICING
    assert out.get("rel") == "noopener noreferrer"


def test_a_wrong_date_is_named_at_its_place_and_loses_nothing(site):
    answer = site.get("/changes?since=yesterday&q=engineer")
    assert answer.status == 200
    assert 'role="alert"' in answer.text
    assert "since: give a time such as" in answer.text
    assert 'value="engineer"' in answer.text


@pytest.mark.parametrize(
    "query",
    ["before=-1", "before=x", "after=99999999", "kind=nonsense", "source=%00", "q=%FF"],
)
def test_odd_addresses_are_answered(site, query):
    assert site.get(f"/changes?{query}").status == 200
    assert site.get(f"/changes.json?{query}").status == 200


def test_nothing_changed_yet_says_what_to_do(empty, tmp_path, visit):
    assert empty.get("/changes").status == 200
    path = tmp_path / "halflife.toml"
    path.write_text('[[source]]\nname = "s"\npages = ["https://a.example/"]\n')
    page = visit(path).get("/changes").text
    assert "Nothing has changed yet" in page


def test_large_bodies_are_not_even_read_for_the_list(tmp_path, monkeypatch):
    path = tmp_path / "halflife.toml"
    path.write_text('[[source]]\nname = "s"\npages = ["https://a.example/"]\n')
    noise = random.Random(1)
    with bootstrap.writing(Config.load(path)) as store:
        run = store.begin(["s"], 1.0, lease=99.0)
        for day in range(2):
            body = Content("text/plain", noise.randbytes(70_000).hex().encode())
            look = Observation(
                "https://a.example/", 1.0 + day, Seen.PRESENT, f"{day}", content=body
            )
            store.append(run, Observations.of([look]))
        (new, old) = store.versions.of("https://a.example/")
        assert min(new.packed, old.packed) > changes_page.SMALL
        monkeypatch.setattr(PageVersions, "content", None)
        (row, *_) = changes_page.latest(store, "s", 10)
    assert row["from"]
    assert row["lines"] == []


# As a feed


def test_the_feed_is_atom_and_lists_the_same_changes(site):
    answer = site.get("/changes.atom?source=jobs")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    tree = etree.fromstring(answer.body)
    entries = tree.findall(f"{ATOM}entry")
    rows = site.get("/changes.json?source=jobs").json["results"]
    assert len(entries) == len(rows)
    for entry, row in zip(entries, rows, strict=True):
        assert entry.findtext(f"{ATOM}updated") == row["at"]
        assert row["source"] in entry.findtext(f"{ATOM}title")
    names = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(names)) == len(names)
    again = etree.fromstring(site.get("/changes.atom?source=jobs").body)
    assert [e.findtext(f"{ATOM}id") for e in again.findall(f"{ATOM}entry")] == names
    for link in tree.iter(f"{ATOM}link"):
        assert link.get("href").startswith(f"http://{site.host}/")


def test_what_a_feed_holds_is_text_twice_escaped(site):
    tree = etree.fromstring(site.get("/changes.atom?q=alert(1)").body)
    content = [one.text for one in tree.iter(f"{ATOM}content")]
    assert any("alert(1)" in one for one in content)
    for one in content:
        inside = html.fragment_fromstring(one, create_parent=True)
        assert {e.tag for e in inside.iter()} <= {"div", "p", "del", "ins", "a"}
    assert "\x1b" not in "".join(content)


# What differs


def diff(site, item, **more):
    query = urlencode({"item": item, **more})
    return html.fromstring(site.get(f"/diff?{query}").text)


def cells(tree, kind):
    return [
        one.text_content() for one in tree.xpath(f"//td[contains(@class,'{kind}')]")
    ]


@pytest.mark.parametrize("view", ["side", "inline"])
def test_a_page_is_compared_word_by_word(site, view):
    tree = diff(site, PRICING, view=view, **{"from": "2", "to": "1"})
    assert [
        e.text for e in tree.xpath("//table[contains(@class,'compared')]//del")
    ] == ["29"]
    assert [
        e.text for e in tree.xpath("//table[contains(@class,'compared')]//ins")
    ] == ["31"]


def test_any_two_kept_versions_can_be_picked(site):
    tree = diff(site, PRICING)
    options = tree.xpath("//select[@name='from']/option/@value")
    assert len(options) == 3
    tree = diff(site, PRICING, **{"from": options[2], "to": options[0]})
    chosen = tree.xpath("//select/option[@selected]/@value")
    assert chosen == [options[2], options[0]]
    text = " ".join(cells(tree, "add"))
    assert "12 euros" in text
    assert "31 euros" in text
    assert "Campus" in text


def test_the_versions_of_a_record_stand_side_by_side_by_field(site):
    tree = diff(site, "job-9", source="jobs")
    rows = {
        row.findtext("th"): [td.text_content().strip() for td in row.findall("td")]
        for row in tree.xpath("//table[contains(@class,'record')]/tbody/tr")
    }
    assert rows["salary"] == ["4090", "4340"]
    assert rows["city"] == ["Oslo", "Oslo"]
    first = tree.xpath("//table[contains(@class,'record')]/tbody/tr[1]")[0]
    assert first.get("class") == "differs"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (web_changes.LOGO, "This is no text but image/png"),
        (web_changes.ONCE, "Only one version of this page is kept"),
        ("https://shop.example/", "No copy of this page is kept yet"),
    ],
)
def test_what_cannot_be_compared_says_why(site, item, said):
    assert said in diff(site, item).text_content()


def test_a_page_in_another_encoding_than_it_says_is_compared_and_named(site):
    tree = diff(site, web_changes.BROKEN)
    assert "not in the encoding that it names" in tree.text_content()
    assert cells(tree, "add")


def test_a_version_that_is_no_longer_kept_is_named(site):
    tree = diff(site, PRICING, **{"from": "2001-01-01"})
    (said,) = tree.xpath("//*[@role='alert']")
    assert "no longer kept" in said.text
    assert cells(tree, "add")
    tree = diff(site, PRICING, **{"from": "<b>"})
    assert "give a time such as" in tree.xpath("//*[@role='alert']")[0].text


@pytest.mark.parametrize("query", ["", "item=nobody", "item=job-1&source=nobody"])
def test_an_item_that_is_not_there_is_404(site, query):
    assert site.get(f"/diff?{query}").status == 404
    assert site.get(f"/diff.json?{query}").status == 404


def test_a_huge_page_is_only_measured_and_holds_nobody_up(tmp_path, visit):
    site = visit(web_changes.changed_state(tmp_path, 10, huge=True))
    site.get("/changes")
    waits = []

    def ask():
        for _ in range(10):
            began = time.monotonic()
            assert site.get("/static/changes.css").status == 200
            waits.append(time.monotonic() - began)

    other = threading.Thread(target=ask)
    other.start()
    query = urlencode({"item": web_changes.HUGE, "from": "1", "to": "0"})
    answer = site.get(f"/diff?{query}")
    other.join()
    assert "Too large to be compared here: 8.0 MB became 8.0 MB" in answer.text
    assert max(waits) < 1.0


def test_the_largest_texts_that_are_compared_take_about_a_second():
    def body(word):
        lines = (f"<p>{word} {n * 7919 % 100_003}" for n in range(170_000))
        return Content("text/html", "".join(lines).encode()[: diff_page.READ])

    began = time.process_time()
    found = diff_page.compare(body("one"), body("two"))
    assert time.process_time() - began < 2.0
    assert found["rows"] or found["note"]


# What is held


def test_every_record_can_be_reached_and_none_comes_twice(tmp_path, visit):
    site = visit(web_changes.changed_state(tmp_path, 170))
    path, keys, firsts = "/items?source=jobs&sort=field:salary&order=desc", [], []
    while path:
        firsts.append(path)
        rows = site.get(path.replace("/items", "/items.json", 1)).json["results"]
        keys += [row["key"] for row in rows]
        following = links(site.get(path).text, "next")
        path = following[0] if following else None
    total = site.get("/items.json?source=jobs").json["total"]
    assert len(keys) == len(set(keys)) == total > 3 * 50
    (before,) = links(site.get(firsts[2]).text, "prev")
    rows = site.get(before.replace("/items", "/items.json", 1)).json["results"]
    assert [row["key"] for row in rows] == keys[50:100]


def test_items_are_searched_sorted_and_filtered(site):
    data = site.get("/items.json?source=jobs&q=ROME&sort=field:salary").json
    assert {row["fields"]["city"] for row in data["results"]} == {"Rome"}
    pay = [row["fields"]["salary"] for row in data["results"]]
    assert pay == sorted(pay)
    gone = site.get("/items.json?source=jobs&state=gone").json
    assert gone["total"] == len(gone["results"])
    assert all(row["gone_by"] for row in gone["results"])
    failing = site.get("/items.json?source=shop&state=failing").json["results"]
    assert [row["key"] for row in failing] == ["https://shop.example/"]


def test_items_are_downloaded_as_csv_and_json(site):
    total = site.get("/items.json?source=jobs").json["total"]
    answer = site.get("/items/all.csv?source=jobs")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    found = json.loads(site.get("/items/all.json?source=jobs").body)
    assert len(rows) == len(found) == total
    assert [row["key"] for row in rows] == [row["key"] for row in found]
    assert [row["salary"] for row in rows] == [
        str(row["fields"]["salary"]) for row in found
    ]
    assert site.get("/items/all.json?source=jobs&q=nothing").json == []
    assert site.get("/items/all.exe?source=jobs").status == 404
    assert site.get("/items/all.csv?source=nobody").status == 404


@pytest.mark.parametrize(
    "cursor", ["x", "[]", "[1]", "[{}, 1]", "[1, 1e99]", "[1, true]", "[" * 9000]
)
def test_a_cursor_that_makes_no_sense_begins_anew(site, cursor):
    query = urlencode({"source": "jobs", "cursor": cursor})
    answer = site.get(f"/items.json?{query}")
    assert answer.status == 200
    assert answer.json["results"][0]["key"] == "job-10"


# Text that is meant to do harm


@pytest.mark.parametrize(
    "path",
    [
        "/changes?q=alert",
        f"/diff?item={quote(web_changes.EVIL, safe='')}",
        f"/diff?view=inline&item={quote(web_changes.EVIL, safe='')}",
        "/diff?source=jobs&item=job-18",
        "/diff?source=jobs&item=job-27",
        "/items?source=jobs&q=alert",
        "/source?name=shop",
        f"/changes?q={quote(HARM)}&since={quote(HARM)}&source={quote(HARM)}",
    ],
)
def test_hostile_text_is_text_and_hides_nothing(site, path):
    answer = site.get(path)
    assert answer.status == 200
    tree = html.fromstring(answer.text)
    assert [s.get("src") for s in tree.iter("script") if not s.get("src")] == []
    assert not tree.xpath("//img")
    assert not tree.xpath("//@onerror")
    assert not [h for h in tree.xpath("//@href") if h.startswith("javascript")]
    assert "\u202e" not in answer.text
    assert "\x1b" not in answer.text


def test_characters_that_deceive_are_written_by_their_numbers(site):
    text = diff(site, web_changes.EVIL).text_content()
    assert "⟨U+202E⟩gnp.exe⟨U+001B⟩" in text


def test_a_moment_in_an_address_is_exact(logged):
    from halflife.web import api_values  # noqa: PLC0415

    for change in logged[::37]:
        at = api_values.moment("to", changes_page.exact(change.at))
        assert 0.0 < (at - change.at) * 86400 < 1e-4


def test_every_change_of_a_small_page_shows_its_lines(made, visit, monkeypatch):
    here = visit(made)
    rows = here.get("/changes.json?source=news&kind=changed").json["results"]
    known = [row for row in rows if row["to"]]
    assert len(rows) == changes_page.PAGE
    assert len(known) > 15
    assert all(row["lines"] for row in known)
    monkeypatch.setattr(changes_page, "ROOM", 4000)  # bytes: two pages or so
    fewer = here.get("/changes.json?source=news&kind=changed").json["results"]
    assert 0 < sum(bool(row["lines"]) for row in fewer) < 10
    page = here.get("/changes?source=news&kind=changed").text
    assert page.count("See what differs") == sum(
        bool(row["to"]) and not row["lines"] for row in fewer
    )
