"""What changed, what differs and the page of a source, in a real browser."""

# ruff: noqa: F811  (fixtures)

from urllib.parse import quote

import pytest

import web_changes
from halflife.web.server import ServeWish, running
from missing_programs import reason
from web.test_browser import CHROMIUM, Watched, browser, grave, tabs  # noqa: F401

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=reason("chromium"))
sync_api = pytest.importorskip("playwright.sync_api")

PRICING = quote(web_changes.PRICING, safe="")
EVIL = quote(web_changes.EVIL, safe="")
PAGES = (
    "changes",
    "changes?source=jobs&kind=changed",
    "changes?q=nothing-is-like-this",
    "changes?since=yesterday",
    f"diff?item={PRICING}&from=2",
    f"diff?item={PRICING}&from=2&view=inline",
    f"diff?item={quote(web_changes.LOGO, safe='')}",
    f"diff?item={EVIL}",
    "diff?source=jobs&item=job-18",
    "items?source=jobs",
    "items?source=jobs&q=alert&state=all",
    "items?source=shop",
    "source?name=shop",
    "source?name=jobs",
)
PHONE = {"width": 360, "height": 700}


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    path = web_changes.changed_state(tmp_path_factory.mktemp("changed"))
    with running(ServeWish(path, port=0)) as found:
        yield found


def ready(watched, page):
    tab = watched.goto(page)
    sync_api.expect(tab.locator("#working")).to_have_count(0, timeout=60_000)
    return tab


AUDITED = (0, 3, 4, 5, 8, 10, 12)  # a page of each look; an audit takes seconds


@pytest.mark.parametrize(
    ("scheme", "screen"), [("light", "desktop"), ("dark", "phone")]
)
def test_every_page_is_sound_accessible_and_fits(tabs, changed, scheme, screen):
    size = PHONE if screen == "phone" else {"width": 1280, "height": 900}
    watched = tabs(changed.address, color_scheme=scheme, bypass_csp=True, viewport=size)
    for n, page in enumerate(PAGES):
        tab = ready(watched, page)
        assert tab.locator("h1").count() == 1
        if n in AUDITED:
            assert grave(tab) == [], page
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= size["width"], page
    assert watched.wrong == []


def test_nothing_is_asked_for_that_the_policy_forbids(tabs, changed):
    watched = tabs(changed.address)
    for page in PAGES:
        ready(watched, page)
    assert watched.wrong == []


def test_hostile_text_shows_and_does_nothing(tabs, changed):
    watched = tabs(changed.address)
    tab = ready(watched, f"diff?item={EVIL}")
    assert "⟨U+202E⟩gnp.exe" in tab.locator("table.compared").inner_text()
    tab = ready(watched, "diff?source=jobs&item=job-18")
    assert "<script>alert(1)</script>" in tab.locator("table.record").inner_text()
    assert watched.wrong == []


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_the_chart_of_a_source_can_be_read_at_every_width(tabs, changed, width):
    watched = tabs(changed.address, viewport={"width": width, "height": 800})
    tab = ready(watched, "source?name=shop")
    shown = tab.locator(".past svg:visible")
    assert shown.count() == 1
    sizes = tab.evaluate(
        """() => [...document.querySelectorAll(".past svg")]
        .filter((svg) => svg.getClientRects().length)
        .flatMap((svg) => [...svg.querySelectorAll("text")].map((text) =>
            parseFloat(getComputedStyle(text).fontSize)
            * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"""
    )
    assert min(sizes) >= 11.0
    assert shown.locator("text", has_text="now").count() == 1
    assert shown.locator(".hit title").count() > 5
    assert shown.locator(".tick").count() > 2


def test_versions_are_picked_without_a_button_if_there_is_a_script(tabs, changed):
    watched = tabs(changed.address)
    tab = ready(watched, f"diff?item={PRICING}")
    old = tab.get_by_label("Old version")
    with tab.expect_navigation():
        old.select_option(index=2)
    assert tab.locator("table.compared ins").all_inner_texts() == ["12", "31"]
    assert watched.wrong == []


def test_versions_to_pick_are_in_the_readers_own_time(tabs, changed):
    watched = tabs(changed.address, timezone_id="Asia/Tokyo", locale="en-GB")
    tab = ready(watched, f"diff?item={PRICING}")
    said = tab.get_by_label("New version").locator("option").all_inner_texts()
    assert all(("GMT+9" in one or "JST" in one) for one in said)
    assert said[0].endswith("(current)")


def test_fields_that_differ_stand_out_from_those_that_do_not(tabs, changed):
    tab = ready(tabs(changed.address), "diff?source=jobs&item=job-18")
    colour = "one => getComputedStyle(one).color"
    differs = tab.locator("table.record tr.differs td.add").first.evaluate(colour)
    same = tab.locator("table.record tr:not(.differs) td").last.evaluate(colour)
    assert differs != same


def test_lists_work_without_a_script(tabs, changed):
    watched = tabs(changed.address, java_script_enabled=False)
    tab = watched.goto("changes")
    first = tab.locator(".key").first.inner_text()
    tab.get_by_role("link", name="Older").click()
    assert tab.locator(".key").first.inner_text() != first
    tab.get_by_role("link", name="Newest").click()
    assert tab.locator(".key").first.inner_text() == first
    tab.get_by_label("What happened").select_option("gone")
    tab.get_by_role("button", name="Show").click()
    assert set(tab.locator(".kind").all_inner_texts()) == {"gone"}
    tab = watched.goto("items?source=jobs")
    tab.get_by_role("link", name="salary").click()
    pay = tab.locator("tbody td.n").all_inner_texts()
    assert pay
    tab.get_by_label("Text").fill("rome")
    tab.get_by_role("button", name="Show").click()
    assert "order=asc" in tab.url
    assert tab.locator("tbody tr").count() == 39  # of Rome, on the last day
    tab = watched.goto(f"diff?item={PRICING}&from=2")
    tab.get_by_role("link", name="Inline").click()
    assert tab.locator("table.inline ins").count() == 2
