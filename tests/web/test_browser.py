"""The pages in a real browser: nothing breaks, nothing leaks, everyone can use them."""

import shutil

import pytest

from form_worlds import behind, cars
from halflife.demo.forms import FormServer, serving, snippet
from halflife.web.server import ServeWish, running
from missing_programs import reason
from web_browser import CHROMIUM, Watched, grave

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=reason("chromium"))
sync_api = pytest.importorskip("playwright.sync_api")

PAGES = ("overview", "sources", "plan", "what-if", "inbox", "audit/league", "audit")
ONE = tuple(
    f"source?name={n}" for n in ("handbook", "jobs", "cars", "library", "archive")
)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def tabs(browser):
    """Open watched tabs; each is closed in the end."""
    opened = []

    def tab(address, **more):
        context = browser.new_context(**more)
        opened.append(context)
        return Watched(context.new_page(), address)

    yield tab
    for context in opened:
        context.close()


@pytest.fixture(scope="module")
def served(made):
    with running(ServeWish(made, port=0)) as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_sound_and_accessible(tabs, served, scheme):
    watched = tabs(served.address, color_scheme=scheme, bypass_csp=True)
    for page in (*PAGES, *ONE):
        tab = watched.goto(page)
        assert grave(tab) == [], page
    assert watched.wrong == []


def test_nothing_asks_for_what_the_policy_forbids(tabs, served):
    watched = tabs(served.address)
    for page in (*PAGES, *ONE):
        watched.goto(page)
    assert watched.wrong == []
    assert "token" not in watched.tab.url


def test_pages_without_anything_are_sound_and_accessible(tabs, tmp_path):
    with running(ServeWish(tmp_path / "halflife.toml", port=0)) as nothing:
        watched = tabs(nothing.address, bypass_csp=True)
        for page in PAGES:
            assert grave(watched.goto(page)) == [], page
        assert watched.wrong == []
        watched.tab.close()


def test_a_page_fills_itself_in_when_all_is_worked_out(tabs, made, slow):
    with running(ServeWish(made, port=0)) as early:
        watched = tabs(early.address, bypass_csp=True)
        for page in (*PAGES, *ONE):
            assert grave(watched.goto(page)) == [], page
        tab = watched.goto("overview")
        sync_api.expect(tab.locator("#working")).to_be_visible()
        slow.set()
        sync_api.expect(tab.locator("#working")).to_have_count(0, timeout=60_000)
        sync_api.expect(tab.get_by_text("Freshness now")).to_be_visible()
        assert watched.wrong == []
        watched.tab.close()


def test_pages_fit_a_phone(tabs, served):
    watched = tabs(served.address, viewport={"width": 360, "height": 700})
    for page in (*PAGES, *ONE):
        tab = watched.goto(page)
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, page


def test_the_slider_answers_at_once(tabs, served):
    watched = tabs(served.address)
    tab = watched.goto("what-if")
    before = tab.locator("#bought .big").first.inner_text()
    tab.locator("#budget").focus()
    with tab.expect_response(lambda answer: "budget=1&" in answer.url + "&"):
        tab.keyboard.press("Home")
    tab.wait_for_function(
        "old => document.querySelector('#bought .big').innerText !== old", arg=before
    )
    assert tab.locator("#asked").input_value() == "1"
    assert "budget=1" in tab.url
    assert watched.wrong == []


def test_sources_are_sorted_by_a_click_and_by_the_keyboard(tabs, served):
    watched = tabs(served.address)
    tab = watched.goto("sources")
    tab.get_by_role("link", name="source", exact=True).click()
    tab.wait_for_selector("th[aria-sort=ascending] >> text=source")
    names = tab.locator("tbody th").all_inner_texts()
    assert names == sorted(names)
    tab.locator("thead th[aria-sort] a").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("th[aria-sort=descending]")
    assert tab.locator("tbody th").all_inner_texts() == names[::-1]
    assert watched.wrong == []


def test_sources_are_filtered_while_somebody_types(tabs, served):
    watched = tabs(served.address)
    tab = watched.goto("sources")
    tab.get_by_label("Name").fill("cars")
    sync_api.expect(tab.locator("#list tbody tr")).to_have_count(1)
    assert watched.wrong == []


@pytest.mark.parametrize(
    "button", ["Accept: believe the answer", "Keep: the answer was broken"]
)
def test_a_held_answer_is_settled_by_a_button(tabs, made, tmp_path, button):
    shutil.copytree(made.parent, tmp_path / "held")
    with running(ServeWish(tmp_path / "held" / made.name, port=0)) as served:
        watched = tabs(served.address)
        tab = watched.goto("inbox")
        tab.get_by_role("button", name=button).click()
        tab.wait_for_selector(".job.done", timeout=20_000)
        tab.wait_for_selector("text=Nothing waits for you")
        assert watched.wrong == []
        tab.close()


def test_hostile_texts_do_nothing(tabs, hostile):
    """Titles, addresses, keys, values, notes and queries are all meant to do harm."""
    with running(ServeWish(hostile[0], port=0)) as served:
        watched = tabs(served.address)
        sources = [f"source?name={name}" for name in ("pages", "list", "form")]
        for page in (*PAGES, *sources):
            tab = watched.goto(page)
            assert tab.locator("h1").count() == 1
        assert watched.wrong == []
        watched.tab.close()


def test_a_source_is_synced_by_a_button(tabs, tmp_path):
    office = FormServer(behind(cars(30), everything=True, page_size=20))
    with serving(office) as url:
        path = tmp_path / "halflife.toml"
        path.write_text("[fetch]\ndelay = 0.0\n" + snippet(url, office.form.interface))
        with running(ServeWish(path, port=0)) as served:
            watched = tabs(served.address)
            tab = watched.goto("source?name=simulated")
            tab.get_by_role("button", name="Sync now").click()
            tab.wait_for_selector(".job.done", timeout=30_000)
            tab.wait_for_selector("text=Queries tried")
            assert watched.wrong == []
            tab.close()
    assert office.asked > 0


def test_without_scripts_pages_are_whole(tabs, served):
    watched = tabs(served.address, java_script_enabled=False)
    tab = watched.goto("what-if?budget=100")
    assert tab.locator("#asked").input_value() == "100"
    with tab.expect_navigation(wait_until="load"):
        tab.get_by_role("button", name="Show").click()
    assert "budget=100" in tab.url
    assert tab.locator("figure svg:visible").count() == 1


def test_the_demo_makes_every_page_live(tabs, tmp_path):
    with running(ServeWish(tmp_path / "halflife.toml", port=0)) as nothing:
        watched = tabs(nothing.address)
        tab = watched.goto("overview")
        tab.get_by_role("button", name="Try it with sample data").click()
        tab.wait_for_selector("text=This is sample data", timeout=100_000)
        for page in ("overview", "source?name=demo", "source?name=jobs", "what-if"):
            assert watched.goto(page).locator("figure svg").count() >= 1
        assert watched.goto("plan").locator(".fetches li").count() > 10
        tab.get_by_role("button", name="Back to my own sources").click()
        tab.wait_for_selector("text=Nothing is kept yet")
        assert watched.wrong == []
        tab.close()
