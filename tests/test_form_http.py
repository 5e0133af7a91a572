"""Forms over real HTTP, on loopback."""

import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, strategies as st

from form_desk import HTML, JSON, NAMES, PLACES, at_desk, settings
from form_worlds import ATTRIBUTES, CITIES, behind, cars
from halflife.config import Config
from halflife.core.errors import (
    BudgetSpent,
    ConfigError,
    Refused,
    SourceError,
    Unreachable,
    UsageError,
)
from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term, within
from halflife.demo.forms import (
    FormServer,
    ServerFaults,
    arguments,
    server_of,
    serving,
    snippet,
)
from halflife.kinds.form import client as form_client
from halflife.kinds.form.addresses import Addresses, Place
from halflife.kinds.form.answers import FormAnswerReader
from halflife.kinds.form.description import describe_form
from halflife.kinds.form.tables import form_attributes
from halflife.kinds.form.web_form import WebForm
from halflife.queries.faulty_form import FaultyForm, FormFaults
from halflife.queries.ledger import Ledger
from halflife.queries.table_form import TableFaults, round_count
from halflife.readers.records import RecordReader
from halflife.recordings.relations import load_relation
from set_folders import spells, write_parquet
from web_parts import HOME, OBEDIENT, Clock, Coins

OSLO = Query.of(Term("city", "Oslo"))
NARROW = Query.of(Term("city", "Rome"), Term("title", "red"), within("price", 10, 60))
RECORDS = cars(300)
DATES = {key: float(i) for i, key in enumerate(RECORDS)}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, FormServer]]:
    office = FormServer(behind(RECORDS))
    with serving(office) as url:
        yield url, office


@pytest.fixture
def office(server: tuple[str, FormServer]) -> FormServer:
    _, office = server
    office.form = behind(
        RECORDS, dates=DATES, everything=True, newest=True, lookup=True
    )
    office.faults, office.asked = ServerFaults(), 0
    return office


@pytest.fixture
def url(server: tuple[str, FormServer]) -> str:
    return server[0]


# Asking


@pytest.mark.parametrize("html", [False, True])
@pytest.mark.parametrize("query", [Query(), OSLO, NARROW, Query.of(Term("city", "X"))])
def test_the_web_answers_as_the_table_does(
    office: FormServer, url: str, query: Query, html: bool
) -> None:
    how = settings(url, office.form.interface, html=html)
    web, own = (
        at_desk(how, lambda desk: list(Ledger(desk).pages(query))),
        list(Ledger(office.form).pages(query)),
    )
    assert [list(page.records) for page in web] == [list(p.records) for p in own]
    assert [(p.total, p.more) for p in web] == [(p.total, p.more) for p in own]
    if not html:
        assert web == own


def test_the_newest_come_first_when_asked_for(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    found = at_desk(how, lambda desk: desk.ask(Query(), newest=True))
    assert list(found.records) == list(RECORDS)[:-6:-1]


def test_a_record_is_looked_up_by_its_key(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    found, none = at_desk(how, lambda desk: (desk.fetch("car7"), desk.fetch("bus")))
    assert found == ResultPage({"car7": RECORDS["car7"]}, 1)
    assert none == ResultPage()


def test_keys_and_values_with_odd_characters_are_asked_for_as_they_are(
    office: FormServer, url: str
) -> None:
    odd = "a/b?c=d&e#f%20{page}+é 'x'"
    record = {"city": odd, "title": "one", "price": 1.0}
    office.form = behind({odd: record, **RECORDS}, lookup=True)
    how = settings(url, office.form.interface)

    def work(desk: WebForm) -> tuple[ResultPage, ResultPage]:
        return desk.fetch(odd), desk.ask(Query.of(Term("city", odd)))

    by_key, by_value = at_desk(how, work)
    assert by_key.records == by_value.records == {odd: record}


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_value_can_change_what_else_is_asked(one: str, two: str) -> None:
    form = Interface((Attribute("a"), Attribute("b")))
    where = Addresses("http://h.example/s?fixed=1&page={page}")
    query = Query.of(Term("a", one), Term("b", two))
    url = where.query_url(form, query, 3, newest=False)
    asked = dict(parse_qsl(url.raw_query_string, keep_blank_values=True))
    plain = [text.encode("utf-8", "replace").decode() for text in (one, two)]
    assert asked == {"fixed": "1", "page": "4", "a": plain[0], "b": plain[1]}


def test_what_is_too_long_is_not_sent() -> None:
    where = Addresses("http://h.example/s", lookup="http://h.example/{key}")
    long = Query.of(Term("city", "x" * 501))
    with pytest.raises(SourceError, match="too long"):
        where.query_url(Interface(ATTRIBUTES), long, 0, newest=False)
    for key in ("", "x" * 501):
        with pytest.raises(SourceError, match="cannot be looked up"):
            where.record_url(key)


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        (Place(low="from", high="to"), "from=10&to=20"),
        (Place(low="from", high="to", step=1), "from=10&to=19"),
        (Place("p"), "p=10-20"),
        (Place("p", pattern="[{low} TO {high}]"), "p=[10+TO+20]"),
    ],
)
def test_ranges_are_sent_as_the_form_wants_them(place: Place, sent: str) -> None:
    form = Interface((Attribute("price", "range"),))
    where = Addresses("http://h.example/s", {"price": place})
    query = Query.of(within("price", 10, 50), within("price", 0, 20))
    url = where.query_url(form, query, 0, newest=False)
    asked = parse_qsl(url.raw_query_string)
    assert asked == parse_qsl(sent)


def test_an_open_end_is_not_sent() -> None:
    form = Interface((Attribute("price", "range"),))
    where = Addresses("http://h.example/s", PLACES)
    query = Query.of(within("price", 10, float("inf")))
    url = where.query_url(form, query, 0, newest=False)
    assert url.raw_query_string == "price_min=10"


def test_an_address_has_places_for_attributes_pages_and_counts() -> None:
    form = Interface((Attribute("q", "keyword"), Attribute("c")), page_size=20)
    url = "http://h.example/{c}/s?q={q}&from={offset}&n={count}"
    where = Addresses(url, {"q": Place(join=" AND ")}, newest="sort=new")
    query = Query.of(Term("q", "red"), Term("q", "car"))
    asked = where.query_url(form, query & Term("c", "a/b"), 2, newest=True)
    wanted = "http://h.example/a%2Fb/s?q=car%20AND%20red&from=40&n=20&sort=new"
    assert str(asked) == wanted
    plain = str(where.query_url(form, Query(), 0, newest=False))
    assert plain == "http://h.example//s?q=&from=0&n=20"


# Paging


def test_the_size_of_pages_is_learned(office: FormServer, url: str) -> None:
    how = settings(url, replace(office.form.interface, page_size=50))

    def work(desk: WebForm) -> tuple[Ledger, int]:
        ledger = Ledger(desk)
        list(ledger.pages(OSLO))
        return ledger, desk.interface.page_size

    ledger, size = at_desk(how, work)
    assert size == 5
    assert len(ledger.seen) == ledger.totals[OSLO]


def test_pages_that_repeat_end_a_walk(office: FormServer, url: str) -> None:
    office.form = FaultyForm(office.form, FormFaults(stuck=True))
    how = settings(url, replace(office.form.interface, counts="none"))
    pages = at_desk(how, lambda desk: list(Ledger(desk).pages(OSLO)))
    assert len(pages) == 2
    assert not pages[-1].more


def test_a_form_without_pages_shows_the_first_only(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    how = replace(how, addresses=replace(how.addresses, url=f"{url}/api/records"))
    (page,) = at_desk(how, lambda desk: list(Ledger(desk).pages(OSLO)))
    assert (len(page.records), page.more) == (5, False)
    assert at_desk(how, lambda desk: desk.interface.cap) == 5
    assert at_desk(how, lambda desk: desk.ask(OSLO, 1)) == ResultPage(requests=0)


def test_a_page_after_the_last_is_empty(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    found = at_desk(how, lambda desk: desk.ask(OSLO, 1000))
    assert (found.records, found.more) == ({}, False)


@pytest.mark.parametrize("counts", ["exact", "rounded", "capped", "none"])
@pytest.mark.parametrize("html", [False, True])
def test_counts_are_told_as_the_form_tells_them(
    office: FormServer, url: str, counts: str, html: bool
) -> None:
    records = cars(2000)
    office.form = behind(records, counts=counts, cap=100)
    true = len(behind(records).matches(OSLO))
    how = settings(url, office.form.interface, html=html)
    told = at_desk(how, lambda desk: desk.ask(OSLO).total)
    wanted = {"exact": true, "rounded": round_count(true), "capped": 100, "none": None}
    assert told == wanted[counts]


def test_the_table_may_be_replaced_while_it_is_served(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)

    def work(desk: WebForm) -> list[int | None]:
        before = desk.ask(OSLO).total
        office.form = behind(cars(10), everything=True, newest=True, lookup=True)
        return [before, desk.ask(Query()).total]

    assert at_desk(how, work) == [len(behind(RECORDS).matches(OSLO)), 10]


# Trouble


def test_a_form_refuses_what_it_cannot_be_asked(office: FormServer, url: str) -> None:
    plain = Interface(ATTRIBUTES, page_size=5, together=1)
    how = replace(settings(url, plain), addresses=Addresses(f"{url}/api/records"))
    coins = Coins()
    for ask, why in (
        (lambda desk: desk.ask(Query()), "empty query"),
        (lambda desk: desk.ask(NARROW), "joins 1 terms, got 3"),
        (lambda desk: desk.ask(OSLO, newest=True), "newest"),
        (lambda desk: desk.fetch("car1"), "by their keys"),
    ):
        with pytest.raises(ValueError, match=why):
            at_desk(how, ask, purse=coins)
    assert coins.paid == 0


def test_a_server_in_trouble_is_asked_once_more(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    office.faults = ServerFaults(fails=2)
    coins = Coins()
    pages = at_desk(how, lambda desk: list(Ledger(desk).pages(OSLO)), purse=coins)
    assert sum(page.requests for page in pages) == coins.paid == office.asked
    assert coins.paid > len(pages)


def test_a_busy_server_is_waited_for(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    office.faults, office.asked = ServerFaults(busy=2, wait=0), 1
    assert at_desk(how, lambda desk: desk.ask(OSLO).requests) == 2


def test_a_server_that_asks_for_long_is_left_alone(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    office.faults = ServerFaults(busy=1, wait=3600)
    with pytest.raises(Unreachable, match="left alone"):
        at_desk(how, lambda desk: desk.ask(OSLO), clock=Clock())
    assert office.asked == 1


def test_a_server_that_keeps_failing_is_an_error_and_no_empty_page(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    office.faults = ServerFaults(fails=1)
    with pytest.raises(Unreachable, match="500"):
        at_desk(how, lambda desk: desk.ask(OSLO))
    with pytest.raises(Unreachable, match="500"):
        at_desk(how, lambda desk: desk.fetch("car1"))


def test_slow_answers_end_with_the_deadline(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    office.faults = ServerFaults(slow=5.0)
    with pytest.raises(Unreachable):
        at_desk(how, lambda desk: desk.ask(OSLO), deadline=0.3)


def test_robots_are_obeyed(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    private = replace(how.addresses, url=f"{url}/private/s?page={{page}}")
    how = replace(how, addresses=private, access=OBEDIENT)
    with pytest.raises(Refused, match=r"robots\.txt"):
        at_desk(how, lambda desk: desk.ask(OSLO))
    assert office.asked == 0


def test_a_spent_purse_is_an_error(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)
    coins = Coins(left=2)
    ledger: list[Ledger] = []

    def work(desk: WebForm) -> None:
        ledger.append(Ledger(desk))
        list(ledger[0].pages(OSLO))

    with pytest.raises(BudgetSpent):
        at_desk(how, work, purse=coins)
    assert (ledger[0].requests, len(ledger[0].seen)) == (2, 10)


def test_a_desk_that_is_stopped_asks_nothing_more(office: FormServer, url: str) -> None:
    how = settings(url, office.form.interface)

    def work(desk: WebForm) -> None:
        desk.stop()
        desk.ask(OSLO)

    with pytest.raises(BudgetSpent, match="stopped"):
        at_desk(how, work)
    assert office.asked == 0


def test_a_desk_that_is_cancelled_waits_for_no_answer(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    office.faults = ServerFaults(slow=30.0)

    def work(desk: WebForm) -> None:
        threading.Timer(0.3, desk.cancel).start()
        desk.ask(OSLO)

    with pytest.raises(BudgetSpent, match="stopped"):
        at_desk(how, work)


def test_an_answer_that_cannot_be_read_is_an_error(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    broken = FormAnswerReader(RecordReader("id", "json", "nowhere"), "total")
    with pytest.raises(SourceError, match="nothing at 'nowhere'"):
        at_desk(replace(how, reader=broken), lambda desk: desk.ask(OSLO))


def test_a_look_up_that_finds_another_record_is_an_error(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    other = replace(how.addresses, lookup=f"{url}/api/records/car1?for={{key}}")
    with pytest.raises(SourceError, match="another record"):
        at_desk(replace(how, addresses=other), lambda desk: desk.fetch("car2"))


@pytest.mark.parametrize(("kind", "total"), [("html", "##"), ("json", "a b")])
def test_a_place_of_the_number_of_hits_is_checked(kind: str, total: str) -> None:
    records = RecordReader("id", kind, "li")
    with pytest.raises(ConfigError):
        FormAnswerReader(records, total)


# Search pages


def test_the_search_page_says_what_can_be_asked(office: FormServer, url: str) -> None:
    with urllib.request.urlopen(url, timeout=10) as answer:
        page = answer.read().decode()
    found = describe_form(page, url + "/")
    assert found.url == f"{url}/search?lang=en"
    city, title, price = found.attributes
    assert (city.kind, city.values) == ("select", CITIES)
    assert (title.name, title.kind) == ("title", "keyword")
    assert (price.name, price.kind) == ("price", "range")
    assert found.places["price"] == Place("", "price_min", "price_max")
    interface = Interface(found.attributes, page_size=5)
    where = Addresses(f"{found.url}&page={{page}}", found.places)
    how = replace(settings(url, interface, html=True), addresses=where, reader=HTML)
    total = at_desk(how, lambda desk: desk.ask(NARROW).total)
    assert total == len(behind(RECORDS).matches(NARROW))


def test_of_several_forms_the_largest_that_can_be_asked_is_read() -> None:
    page = """
    <form><input name=q></form>
    <form method=post><input name=a><input name=b><input name=c></form>
    <form action="/find?old=1#x"><input type=search name=q>
      <input type=radio name=sort value=a><input type=radio name=sort value=b>
      <input type=checkbox name="tag[]" value=new><input type=password name=pw>
      <input name=page><input type=number name=year><input name=maxPrice>
      <select name=size><option>S<option value="">any<option value=L>Large</select>
    </form>"""
    found = describe_form(page, "http://h.example/a/b")
    assert found.url == "http://h.example/find"
    kinds = {a.name: (a.kind, a.values) for a in found.attributes}
    assert kinds == {
        "sort": ("select", ("a", "b")),
        "tag": ("select", ("new",)),
        "size": ("select", ("S", "L")),
        "q": ("keyword", ()),
        "year": ("select", ()),
        "price": ("range", ()),
    }
    assert found.places["tag"] == Place("tag[]")
    assert found.places["price"] == Place("", "", "maxPrice")


@pytest.mark.parametrize(
    "page",
    ["", "<p>no form", "<form></form>", "<form method=post><input name=q></form>"],
)
def test_a_page_without_a_form_says_so(page: str) -> None:
    with pytest.raises(SourceError, match="no form"):
        describe_form(page, "http://h.example/")


@given(st.text(max_size=300))
def test_any_text_is_a_page_or_an_error(text: str) -> None:
    try:
        found = describe_form(f"<form><input name=q>{text}", "http://h.example/")
    except SourceError:
        return
    assert found.attributes


# The simulator


def test_the_simulator_lies_shuffles_and_overlaps_on_demand(
    office: FormServer, url: str
) -> None:
    how = settings(url, office.form.interface)
    first = at_desk(how, lambda desk: desk.ask(OSLO))
    office.form = behind(RECORDS, faults=TableFaults(lies=3.0, unstable=True))
    other = at_desk(how, lambda desk: desk.ask(OSLO))
    assert list(first.records) != list(other.records)
    assert first.total != other.total
    office.form = FaultyForm(behind(RECORDS), FormFaults(overlap=2))
    pages = at_desk(how, lambda desk: list(Ledger(desk).pages(OSLO, most=2)))
    assert len(pages[0].records.keys() & pages[1].records.keys()) == 2


def test_its_settings_can_be_used(office: FormServer, url: str) -> None:
    office.form = behind(
        RECORDS, cap=50, everything=True, newest=True, lookup=True, counts="rounded"
    )
    config = Config.parse(snippet(url, office.form.interface))
    (source,) = config.source
    how = form_client.settings(source)
    assert how.interface == replace(
        office.form.interface,
        attributes=tuple(
            replace(a, cuts=tuple(map(float, a.cuts))) for a in ATTRIBUTES
        ),
    )
    fields = {name: name for name in NAMES}
    records = replace(how.reader.records, fields=fields)
    how = replace(how, access=HOME, reader=replace(how.reader, records=records))
    assert how.reader.records.records == JSON.records.records
    assert at_desk(how, lambda desk: desk.ask(OSLO)) == office.form.ask(OSLO)


def test_the_simulator_serves_a_recorded_history(tmp_path: Path) -> None:
    folder = tmp_path / "h"
    write_parquet(folder, spells())
    words = ["--history", str(folder), "--at", "2024-02-01", "--counts", "none"]
    office = server_of(arguments().parse_args([*words, "--attributes", "year:select"]))
    found = office.form.ask(Query.of(Term("year", "2003")))
    assert found.total is None
    assert {record["year"] for record in found.records.values()} == {2003}
    kinds = {
        a.name: a.kind for a in form_attributes(load_relation(folder).at(19_800.0))
    }
    assert kinds == {"make": "select", "year": "range"}
    for wrong in (["--at", "soon"], ["--attributes", "colour"]):
        with pytest.raises(UsageError):
            server_of(arguments().parse_args([*words, *wrong]))
