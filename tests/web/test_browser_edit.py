"""Adding, editing and What-if in a real browser: sound, accessible, nothing is lost."""

import json
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest

from halflife.config import Config
from halflife.web.server import ServeWish, running
from missing_programs import reason
from web_hostile import EVIL

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=reason("chromium"))
sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
expect.set_options(timeout=20_000)  # a busy machine takes its time

TEXT = """\
# Ours.
[budget]
requests = 300  # for all
per = "day"

[fetch]
delay = 0.0

[serve]
allow = ["127.0.0.0/8"]

# The handbook.
[[source]]
name = "docs"
pages = ["https://docs.example/"]
"""
LOOKS = [("dark", 390), ("light", 1280)]  # a phone, a desktop


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    path = tmp_path_factory.mktemp("edited") / "halflife.toml"
    path.write_text(TEXT, encoding="utf-8")
    with running(ServeWish(path, port=0)) as served:
        yield path, served.address


@pytest.fixture(scope="module")
def full_state(made):
    with running(ServeWish(made, port=0)) as served:
        yield served.address


@pytest.fixture
def path(settings):
    """The settings as they were, without a history."""
    shutil.rmtree(settings[0].parent / "halflife.db-settings", ignore_errors=True)
    settings[0].write_text(TEXT, encoding="utf-8")
    return settings[0]


class OpenTab:
    """A tab that has the page open, and everything that went wrong in it."""

    def __init__(self, tab, address):
        self.tab, self.address, self.wrong = tab, address, []
        self.base = address.partition("/?")[0]
        tab.on("console", self._said)
        tab.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        tab.on("request", self._sent)
        tab.goto(address)

    def _said(self, message):
        if message.type in {"error", "warning"}:
            self.wrong.append(f"{message.type}: {message.text}")

    def _sent(self, request):
        if not request.url.startswith((self.base, "data:")):
            self.wrong.append(f"asked for {request.url}")

    def goto(self, where):
        self.tab.goto(f"{self.base}/{where}")
        return self.tab

    def check(self, where):
        """Fail if the page is too wide, or somebody could not use it."""
        from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

        wide = self.tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= self.tab.viewport_size["width"], where
        grave = [
            f"{one['id']}: {one['nodes'][0]['html'][:150]}"
            for one in Axe().run(self.tab).response["violations"]
            if one["impact"] in {"serious", "critical"}
        ]
        assert grave == [], where


@pytest.fixture
def opened(browser, settings, path):
    assert path == settings[0]
    contexts = []

    def opened(address=settings[1], **more):
        context = browser.new_context(**more)
        context.set_default_timeout(20_000)
        contexts.append(context)
        return OpenTab(context.new_page(), address)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def jobs(server):
    rows = [{"id": n, "title": f"Vacancy {n}", "town": "Bonn"} for n in range(22)]
    server.pages["/jobs"] = "application/json", json.dumps({"results": rows}).encode()
    return f"{server.url}/jobs"


def fetch(tab, url):
    tab.get_by_label("Address").fill(url)
    tab.locator("form[action='/add'] button").first.click()


def found(watched, url):
    tab = watched.goto("add")
    fetch(tab, url)
    tab.wait_for_selector("text=How it is kept")
    return tab


@pytest.mark.parametrize(("scheme", "wide"), LOOKS)
def test_every_step_is_sound_and_accessible(opened, path, jobs, scheme, wide):
    view = {"width": wide, "height": 800}
    watched = opened(viewport=view, color_scheme=scheme, bypass_csp=True)
    for where in ("add", "edit", "edit?name=docs", "edit?name=docs&remove=1"):
        watched.goto(where)
        watched.check(where)
    tab = found(watched, jobs)
    tab.locator("summary").click()
    watched.check("what was found")
    tab.get_by_label("Weight").fill("-1")
    expect(tab.locator("#wrong-weight")).to_have_text("should be greater than 0")
    watched.check("a wrong value")
    tab.get_by_label("Weight").fill("2")
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.wait_for_selector("h2:text('Saved')")
    watched.check("saved")
    path.write_text(path.read_text() + "# mine\n")
    tab.locator(".done").get_by_role("button", name="Undo").click()
    tab.wait_for_selector("text=Nothing was undone")
    watched.check("a clash")
    assert [one for one in watched.wrong if "409" not in one] == []


@pytest.mark.parametrize(("scheme", "wide"), LOOKS)
def test_what_if_is_sound_and_accessible(opened, full_state, scheme, wide):
    view = {"width": wide, "height": 800}
    more = {"viewport": view, "color_scheme": scheme, "bypass_csp": True}
    watched = opened(full_state, **more)
    watched.goto("what-if?budget=900")
    watched.check("what-if")
    assert watched.wrong == []


def test_a_source_is_added_while_its_change_is_shown_and_undone(opened, path, jobs):
    watched = opened()
    tab = found(watched, jobs)
    expect(
        tab.get_by_role("heading", name="JSON listing of 22 records")
    ).to_be_visible()
    tab.get_by_label("Target").fill("recall >= 90 %")
    expect(tab.locator("#change .added").last).to_contain_text("http://127.0.0.1")
    expect(tab.locator("#change")).to_contain_text('target = "recall >= 90 %"')
    tab.get_by_label("town").uncheck()
    expect(tab.locator("#change")).to_contain_text("[source.fields]")
    assert tab.get_by_label("Target").input_value() == "recall >= 90 %"
    assert path.read_text() == TEXT
    tab.get_by_role("button", name="Save and fetch now").click()
    tab.wait_for_selector("h2:text('Saved')")
    source = Config.load(path).source[-1]
    assert (source.key, list(source.fields)) == ("id", ["id", "title"])
    tab.wait_for_selector(".job.done")
    tab.locator(".done").get_by_role("button", name="Undo").click()
    tab.wait_for_selector("text=The last change was undone")
    assert path.read_text() == TEXT
    assert watched.wrong == []


def test_a_value_is_changed_and_reloading_keeps_what_was_typed(opened, path):
    watched = opened()
    tab = watched.goto("edit?name=docs")
    tab.get_by_label("Weight").fill("heavy")
    expect(tab.locator("#wrong-weight")).to_contain_text("give a number")
    assert tab.locator("#weight").get_attribute("aria-invalid") == "true"
    tab.get_by_label("Weight").fill("2")
    expect(tab.locator("#change .added")).to_have_text("added: +weight = 2.0")
    assert tab.locator("#weight").get_attribute("aria-invalid") is None
    tab.reload()
    assert tab.get_by_label("Weight").input_value() == "2"
    tab.get_by_label("Paused").check()
    expect(tab.locator("#change .added").last).to_contain_text("paused = true")
    tab.get_by_role("button", name="Save").click()
    tab.wait_for_selector("h2:text('Saved')")
    assert Config.load(path).source[0].paused
    assert watched.wrong == []


def test_a_file_that_changed_while_one_typed_is_not_overwritten(opened, path):
    watched = opened()
    tab = watched.goto("edit?name=docs")
    tab.get_by_label("Weight").fill("2")
    expect(tab.locator("#change .added")).to_have_count(1)
    path.write_text(TEXT + "# mine\n")
    tab.get_by_label("Weight").fill("3")  # which shows the change once more
    expect(tab.locator("#change .added")).to_contain_text("3.0")
    tab.get_by_role("button", name="Save").click()
    tab.wait_for_selector("text=Nothing was saved")
    assert path.read_text() == TEXT + "# mine\n"
    expect(tab.locator(".clash")).to_contain_text("# mine")
    assert tab.get_by_label("Weight").input_value() == "3"
    tab.get_by_role("button", name="Save").click()
    tab.wait_for_selector("h2:text('Saved')")
    assert path.read_text().endswith("# mine\n")
    assert Config.load(path).source[0].weight == 3.0


def test_what_was_typed_stays_when_the_token_has_expired(opened, path):
    watched = opened()
    tab = watched.goto("edit?name=docs")
    tab.get_by_label("Weight").fill("2")
    expect(tab.locator("#change .added")).to_have_count(1)
    tab.context.clear_cookies()
    tab.get_by_role("button", name="Save").click()
    expect(tab.locator("#expired")).to_contain_text("no longer signed in")
    assert tab.get_by_label("Weight").input_value() == "2"
    other = tab.context.new_page()
    other.goto(watched.address)  # as the terminal prints it
    tab.get_by_role("button", name="Save").click()
    tab.wait_for_selector("h2:text('Saved')")
    assert Config.load(path).source[0].weight == 2.0


def test_all_of_it_works_without_scripts(opened, path, jobs):
    watched = opened(java_script_enabled=False)
    tab = found(watched, jobs)
    tab.get_by_label("Target").fill("recall >= 0.9")
    tab.get_by_role("button", name="Show the change").click()
    expect(tab.locator("#change")).to_contain_text('target = "recall >= 0.9"')
    tab.get_by_role("button", name="Save", exact=True).click()
    assert Config.load(path).source[-1].target == "recall >= 0.9"
    tab.goto(f"{watched.base}/edit?name=docs")
    tab.get_by_label("Weight").fill("2")
    tab.get_by_role("button", name="Show the change").click()
    expect(tab.locator("#change .added")).to_have_count(1)
    tab.get_by_role("button", name="Save").click()
    assert Config.load(path).named(["docs"])[0].weight == 2.0
    assert watched.wrong == []


def test_a_slow_address_is_waited_for_and_told_of(opened, jobs, server):
    server.go.clear()
    watched = opened()
    tab = watched.goto("add")
    fetch(tab, jobs)
    expect(tab.get_by_role("heading", name="Fetching")).to_be_visible()
    server.go.set()
    tab.wait_for_selector("text=How it is kept")
    fetch(tab, f"{server.url}/nix")
    expect(tab.locator("#wrong-url")).to_contain_text("it answered 404")
    assert watched.wrong == []


def test_hostile_records_and_values_are_only_text(opened, path, server):
    row = {EVIL: EVIL, "bidi": "\u202eevil", "x" * 300: "y" * 10_000}
    rows = [{"id": n, **row} for n in range(5)]
    server.pages["/evil"] = "application/json", json.dumps(rows).encode()
    watched = opened(viewport={"width": 390, "height": 800}, bypass_csp=True)
    tab = found(watched, f"{server.url}/evil")
    watched.check("hostile records")
    tab.get_by_label("Target").fill(EVIL)
    expect(tab.locator("#wrong-target")).to_contain_text("is not a target")
    tab.get_by_label("Target").fill("")
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.wait_for_selector("h2:text('Saved')")
    watched.check("hostile settings")
    watched.goto(f"edit?{urlencode({'name': 'docs', 'preview': 1, 'target': EVIL})}")
    assert Config.load(path).source[-1].key == "id"
    assert watched.wrong == []


def test_back_goes_to_the_budget_before_and_not_away(opened, full_state):
    watched = opened(full_state)
    watched.goto("sources")
    tab = watched.goto("what-if")
    first = tab.locator("#bought .big").first.inner_text()
    tab.locator("#asked").fill("2")
    tab.locator("#asked").press("Enter")
    expect(tab.get_by_role("link", name="Adopt 2 a day")).to_be_visible()
    assert tab.url.endswith("/what-if?budget=2")
    tab.locator("#budget").focus()
    tab.keyboard.press("End")
    expect(tab.get_by_role("link", name="Adopt 1,200 a day")).to_be_visible()
    assert tab.locator("#asked").input_value() == "1200"
    tab.go_back()
    expect(tab.get_by_role("link", name="Adopt 2 a day")).to_be_visible()
    assert tab.locator("#asked").input_value() == "2"
    tab.go_back()
    expect(tab.locator("#bought .big").first).to_have_text(first)
    assert tab.url.endswith("/what-if")
    tab.go_back()
    tab.wait_for_url("**/sources")
    assert watched.wrong == []


def test_the_curve_is_shared_as_a_picture(opened, full_state, tmp_path):
    watched = opened(full_state)
    tab = watched.goto("what-if?budget=900")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="PNG").click()
    download.value.save_as(tmp_path / "what-if.png")
    body = (tmp_path / "what-if.png").read_bytes()
    assert body.startswith(b"\x89PNG")
    assert int.from_bytes(body[16:20], "big") == 1280  # twice as sharp as drawn
    assert watched.wrong == []
