"""The pages as people see them: phone and desk, light and dark, in any state."""

import shutil

import pytest

from halflife.web import actions
from halflife.web.server import ServeWish, running
from missing_programs import reason
from web_browser import CHROMIUM, Watched, grave
from web_states import LONG, STATES

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=reason("chromium"))
sync_api = pytest.importorskip("playwright.sync_api")

PAGES = ("overview", "sources", "plan", "what-if", "inbox", "audit", "audit/league")
PHONE = {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"}
DESK = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"}
SMALLEST = """() => {
  const sizes = [];
  for (const one of document.querySelectorAll("main *")) {
    const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim());
    const box = one.getBoundingClientRect();
    if (!own || box.width < 2 || box.height < 2) continue;
    const drawn = one.closest("svg[viewBox]"), asked = getComputedStyle(one).fontSize;
    const wide = drawn && drawn.getBoundingClientRect().width;
    const scale = drawn ? wide / drawn.viewBox.baseVal.width : 1;
    if (one.closest("desc, title")) continue;
    sizes.push([parseFloat(asked) * scale, one.textContent.trim().slice(0, 40)]);
  }
  return sizes.sort((a, b) => a[0] - b[0])[0] || [99, ""];
}"""
WRONG_COLUMN = """() => [...document.querySelectorAll("table.stack td[data-label]")]
  .flatMap((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const left = cell.getBoundingClientRect().left;
    return [...range.getClientRects()].filter((r) => r.width > 1 && r.left < left + 110)
      .map(() => cell.textContent);
  })"""

SPILLED = """() => [...document.querySelectorAll("table.even :is(td, th)")]
  .filter((cell) => cell.clientWidth && cell.scrollWidth > cell.clientWidth + 1)
  .map((cell) => cell.textContent.trim())"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield found
        found.close()


@pytest.fixture
def open_tab(browser):
    """Open watched tabs; each is closed in the end."""
    contexts = []

    def opened(address, **more):
        contexts.append(browser.new_context(**more))
        contexts[-1].set_default_timeout(90_000)  # a busy machine is no fault
        return Watched(contexts[-1].new_page(), address)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def served(made):
    with running(ServeWish(made, port=0)) as found:
        yield found


def sources_on(tab):
    """Return the pages of some sources that a page links to."""
    links = tab.locator("a[href^='/source?name=']").all()[:2]
    return {link.get_attribute("href").lstrip("/") for link in links}


def walk(watched, *, axe):
    """Look at every page, and at some sources; return what is wrong."""
    wrong, width = [], watched.tab.viewport_size["width"]
    todo = list(PAGES)
    while todo:
        page = todo.pop(0)
        tab = watched.goto(page)
        if page == "sources":
            todo += sorted(sources_on(tab))
        if tab.locator("h1").count() != 1:
            wrong.append(f"{page}: no heading")
        if tab.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{page}: wider than {width}")
        size, said = tab.evaluate(SMALLEST)
        if size < 11:
            wrong.append(f"{page}: {size:.1f} px: {said}")
        if width < 640:
            wrong += [f"{page}: wrong column: {t}" for t in tab.evaluate(WRONG_COLUMN)]
        wrong += [f"{page}: over its edge: {t}" for t in tab.evaluate(SPILLED)]
        rows = tab.locator("tbody tr").count()
        if axe and rows < 60:  # a hundred rows alike take ten times as long
            wrong += [f"{page}: {found}" for found in grave(tab)]
    return wrong + watched.wrong


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return STATES["large"](tmp_path_factory.mktemp("large"))


@pytest.mark.parametrize("state", [*STATES, "demo"])
def test_every_page_looks_right_in_every_state(state, request, tmp_path, open_tab):
    built = {"demo": "made", "large": "large"}.get(state)
    path = request.getfixturevalue(built) if built else STATES[state](tmp_path)
    with running(ServeWish(path, port=0)) as found:
        phone = open_tab(found.address, bypass_csp=True, **PHONE)
        assert walk(phone, axe=state == "demo") == []
        desk = open_tab(found.address, bypass_csp=True, **DESK)
        assert walk(desk, axe=state != "demo") == []


def test_long_names_leave_room_for_sync_by(large, open_tab):
    with running(ServeWish(large, port=0)) as found:
        tab = open_tab(found.address).goto(f"sources?q={LONG[:20]}")
        for width in (1280, 1920):
            tab.set_viewport_size({"width": width, "height": 900})
            assert LONG in tab.locator("tbody th").first.inner_text()
            cut = "one => one.scrollWidth - one.clientWidth"
            assert tab.locator(".scroll").first.evaluate(cut) <= 0
            last = tab.locator("tbody td").last
            assert last.bounding_box()["x"] + last.bounding_box()["width"] <= width


def test_times_are_the_readers_own_and_utc_on_hover(served, open_tab):
    watched = open_tab(served.address, timezone_id="Asia/Tokyo", locale="en-GB")
    time = watched.goto("overview").locator("footer time")
    utc = time.get_attribute("title")
    assert utc.endswith("UTC")
    assert time.inner_text().endswith(("GMT+9", "JST"))
    assert time.inner_text()[-12:-6].strip(" ,") != utc[11:16]


def test_without_scripts_times_say_that_they_are_utc(served, open_tab):
    watched = open_tab(served.address, java_script_enabled=False)
    said = watched.goto("overview").locator("footer time").inner_text()
    assert said.endswith(" UTC")


def test_a_page_renews_itself_and_leaves_focus_scroll_and_details(
    made, tmp_path, open_tab
):
    shutil.copytree(made.parent, tmp_path / "kept")
    path = tmp_path / "kept" / made.name
    with running(ServeWish(path, port=0)) as found:
        tab = open_tab(found.address, viewport={"width": 1280, "height": 500}).goto(
            "overview"
        )
        tab.locator("figure details summary").first.click()
        link = tab.locator(".attention a.name").last
        link.focus()
        tab.evaluate("window.scrollTo(0, 300)")
        tab.evaluate("document.querySelector('h1').dataset.old = 'yes'")
        found.app.state.site.board.forget()
        path.write_text(path.read_text().replace("requests = 300", "requests = 321"))
        tab.evaluate("renew()")
        sync_api.expect(tab.locator(".tiles")).to_contain_text("of 321 a day")
        assert tab.evaluate("scrollY") == 300
        assert tab.locator("figure details").first.get_attribute("open") is not None
        assert link.evaluate("one => one === document.activeElement")


def test_what_somebody_types_is_left_alone(served, open_tab):
    tab = open_tab(served.address).goto("overview")
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    form = "<form method=post><input name=note></form>"
    tab.evaluate("form => document.querySelector('#service').innerHTML = form", form)
    tab.locator("[name=note]").fill("half a sentence")
    tab.locator("h1").click()
    tab.evaluate("renew()")
    tab.wait_for_timeout(100)
    assert [url for url in asked if "/static/" not in url] == []
    assert tab.locator("[name=note]").input_value() == "half a sentence"


def test_a_hidden_page_asks_for_nothing(served, open_tab):
    watched = open_tab(served.address)
    tab = watched.goto("overview")
    tab.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.evaluate("renew()")
    tab.wait_for_timeout(150)
    assert [url for url in asked if "/static/" not in url] == []


def test_back_undoes_a_filter_and_a_step_of_the_slider(served, open_tab):
    tab = open_tab(served.address).goto("sources")
    tab.get_by_label("Name").fill("cars")
    sync_api.expect(tab.locator("#list tbody tr")).to_have_count(1)
    tab.locator("h1").click()
    tab.go_back()
    sync_api.expect(tab.locator("#list tbody tr")).to_have_count(9)
    assert tab.get_by_label("Name").input_value() == ""
    assert tab.url.endswith("/sources")


def test_a_decision_can_be_taken_back(made, tmp_path, open_tab, monkeypatch):
    monkeypatch.setattr(actions, "GRACE", 60.0)
    shutil.copytree(made.parent, tmp_path / "held")
    with running(ServeWish(tmp_path / "held" / made.name, port=0)) as found:
        watched = open_tab(found.address)
        tab = watched.goto("inbox")
        tab.get_by_role("button", name="Accept: believe").focus()
        tab.keyboard.press("Enter")
        undo = tab.locator(".case").get_by_role("button", name="Undo")
        sync_api.expect(undo).to_be_focused()
        tab.keyboard.press("Enter")
        accept = tab.get_by_role("button", name="Accept: believe")
        sync_api.expect(accept).to_be_focused()
        assert "nothing was changed" in tab.locator(".job.undone").inner_text()
        assert watched.wrong == []


def test_pages_are_printed_on_two_sheets_at_most(served, open_tab):
    watched = open_tab(served.address)
    for page in PAGES:
        paper = watched.goto(page).pdf(format="A4")
        assert 1 <= paper.count(b"/Type /Page\n") <= 2, page
    for page, most in (("source?name=jobs", 3), ("changes", 5)):
        paper = watched.goto(page).pdf(format="A4")
        assert 1 <= paper.count(b"/Type /Page\n") <= most, page
    watched.tab.emulate_media(media="print")
    assert not watched.tab.locator("main form").first.is_visible()


def test_what_is_being_worked_out_stays_in_its_column(made, slow, open_tab):
    with running(ServeWish(made, port=0)) as found:
        tab = open_tab(found.address, **DESK).goto("sources")
        assert tab.locator(".health.being-worked-out").count() > 5
        assert tab.evaluate(SPILLED) == []
        slow.set()


def test_a_refusal_is_a_page_with_a_style(served, open_tab, browser):
    with browser.new_context() as context:
        tab = context.new_page()
        wrong = []
        tab.on("console", lambda m: wrong.append(m.text))
        answer = tab.goto(served.address.partition("?")[0])
        assert answer.status == 401
        assert tab.locator("h1").inner_text() == "This page needs its token"
        border = "getComputedStyle(document.querySelector('main')).borderTopStyle"
        assert tab.evaluate(border) == "solid"
        assert [text for text in wrong if "401" not in text] == []


def test_an_unknown_page_is_styled(served, open_tab):
    tab = open_tab(served.address, **DESK).goto("nowhere")
    assert tab.locator("h1").inner_text() == "Not found"
    assert tab.locator("header nav a").count() >= 6
