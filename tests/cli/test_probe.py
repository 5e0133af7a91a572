"""The verb for databases behind forms: probe, and add --form."""

import pytest

from form_worlds import CITIES, behind, cars
from halflife.config import Config
from halflife.demo.forms import ServerFaults, snippet
from halflife.engine import bootstrap
from halflife.kinds.form import client as form_client
from halflife.queries.table_form import TableFaults

ALL = {"everything": True, "newest": True, "lookup": True}
HEAD = "[budget]\nrequests = 500\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"


def form(records, **more):
    dates = {key: float(i) for i, key in enumerate(records)}
    return behind(records, dates=dates, **ALL, **more)


@pytest.fixture
def office(counter, here):
    """A form that is served, and settings that claim too much of it."""
    url, office = counter
    office.form, office.faults, office.asked = form(cars(400)), ServerFaults(), 0
    (here / "halflife.toml").write_text(HEAD + snippet(url, office.form.interface))
    return office


def known(here):
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        return store.spent(0.0), form_client.corrected(
            store, config.source[0]
        ).interface


def test_an_honest_form_is_believed(office, told, here):
    code, out, _ = told("probe")
    assert code == 0
    assert "number of hits: exact" in out
    assert "plans go by: what the settings say" in out
    spent, interface = known(here)
    assert spent == office.asked + 1  # robots.txt
    assert interface == form_client.interface(
        Config.load(here / "halflife.toml").source[0]
    )


def test_claims_that_are_wrong_are_corrected_and_remembered(office, asked, here):
    office.form = form(cars(2000), cap=50)
    code, answer = asked("probe", "simulated")
    assert code == 0
    (row,) = answer["results"]
    assert row["source"] == "simulated"
    assert row["corrected"] == {"cap": 50}
    assert row["requests"] <= 20
    assert {finding["what"] for finding in row["findings"]} >= {
        "pages",
        "several terms",
    }
    assert known(here)[1].cap == 50


def test_counts_that_lie_are_not_used(office, told, here):
    office.form = form(cars(500), faults=TableFaults(lies=4.0))
    code, out, _ = told("probe")
    assert code == 0
    assert "number of hits: unreliable" in out
    assert "plans go by: counts = none" in out
    assert known(here)[1].counts == "none"


def test_requests_can_be_limited(office, asked):
    code, answer = asked("probe", "--requests", "4")
    assert code in {0, 4}
    assert answer["results"][0]["requests"] <= 4
    assert office.asked <= 3


def test_a_form_that_fails_is_named(office, told, here):
    office.faults = ServerFaults(fails=1)
    code, out, _ = told("probe")
    assert code == 4
    assert "answers:" in out
    assert "500" in out
    assert known(here)[1] == form_client.interface(
        Config.load(here / "halflife.toml").source[0]
    )


def test_a_spent_budget_ends_with_its_code(office, told, fails, here):
    path = here / "halflife.toml"
    path.write_text(path.read_text().replace("requests = 500", "requests = 3"))
    told("probe")
    code, said = fails("probe")
    assert code == 6
    assert "is spent" in said


def test_only_forms_can_be_probed(here, fails):
    (here / "halflife.toml").write_text(
        '[[source]]\nname = "p"\npages = ["http://h.example/"]\n'
    )
    for words in (("probe",), ("probe", "p")):
        code, said = fails(*words)
        assert code == 2
        assert "form" in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('form_url = "http://h.example/{x}"', "nothing else in braces"),
        ('lookup_url = "http://h.example/"', "must hold {key}"),
        ('newest = "date"', "newest must be"),
        ('search_url = "http://h.example/{query}"', "search_url has no meaning"),
        ('pages = ["http://h.example/"]', "pages has no meaning"),
        ("recall = 0.5", "recall has no meaning"),
        ("[source.attributes]\na = {cuts = [1.0]}", "cuts has a meaning only"),
        ("[source.attributes]\na = {kind = 'range', cuts = [2, 1]}", "ascend"),
        ("[source.attributes]\na = {colour = 1}", "unknown key"),
    ],
)
def test_slips_in_the_settings_are_told_in_a_line(here, fails, wrong, said):
    base = {
        "form_url": 'form_url = "http://h.example/?p={page}"',
        "attributes": "[source.attributes]\na = {}",
    }
    kept = [line for key, line in base.items() if key not in wrong.split()[0]]
    lines = sorted([wrong, *kept], key=lambda line: line.startswith("["))
    text = '[[source]]\nname = "f"\nkind = "form"\n' + "\n".join(lines)
    (here / "halflife.toml").write_text(text + "\n")
    code, err = fails("probe")
    assert code == 2
    assert said in err


def test_keys_of_forms_have_no_meaning_elsewhere(here, fails):
    (here / "halflife.toml").write_text(
        '[[source]]\nname = "p"\npages = ["http://h.example/"]\ntogether = 2\n'
    )
    code, said = fails("status")
    assert code == 2
    assert "together has no meaning" in said


def test_a_form_needs_its_address_and_attributes(here, fails):
    (here / "halflife.toml").write_text('[[source]]\nname = "f"\nkind = "form"\n')
    code, said = fails("probe")
    assert code == 2
    assert "a form needs form_url and attributes" in said


def test_a_form_is_added_by_its_search_page(office, counter, asked, told, here):
    url, _ = counter
    network = ("--allow", "127.0.0.0/8")
    code, answer = asked("add", "cars", "--form", url + "/", *network)
    assert code == 0
    (row,) = answer["results"]
    assert row["attributes"] == "city (select), title (keyword), price (range)"
    source = Config.load(here / "halflife.toml").named(["cars"])[0]
    assert source.form_url == f"{url}/search?lang=en"
    assert source.attributes["city"].values == CITIES
    assert (source.attributes["price"].low, source.kind) == ("price_min", "form")
    path = here / "halflife.toml"
    more = 'records = "li.record"\nkey = "@data-key"\ntotal = "#count"\n'
    fields = ", ".join(f'{n} = "[data-field={n}]"' for n in source.attributes)
    text = path.read_text().replace(
        'name = "cars"\n', f'name = "cars"\n{more}fields = {{{fields}}}\n'
    )
    path.write_text(text.replace("lang=en", "lang=en&page={page}"))
    code, out, _ = told("probe", "cars")
    assert code == 0
    assert "number of hits: exact" in out
    assert "page_size = 5" in out


def test_a_page_without_a_form_is_not_added(office, counter, fails, here):
    url, _ = counter
    before = (here / "halflife.toml").read_text()
    network = ("--allow", "127.0.0.0/8")
    for path, said in (("/api/records", "not a web page"), ("/none", "answered 404")):
        code, err = fails("add", "x", "--form", url + path, *network)
        assert code == 1
        assert said in err
    code, err = fails("add", "x", "--form", url, "--dry-run")
    assert code == 2
    assert "before it is fetched" in err
    code, err = fails("add", "x", "--form", url, "--depth", "2")
    assert code == 2
    assert "--depth has no meaning" in err
    assert (here / "halflife.toml").read_text() == before


def test_the_example_of_the_book_runs(example):
    printed, shown = example("forms.md")
    assert printed == shown
