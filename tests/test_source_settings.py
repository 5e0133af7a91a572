"""Each kind of source has its own settings, beside what every source has."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from halflife.config import Config, SourceConfig
from halflife.config.edit import with_sources
from halflife.config.kinds import BUILT_IN, read_source, settings_of
from halflife.core.errors import ConfigError
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing import schema_drift
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.search.settings import SearchConfig
from settings_samples import ARMS, LEAST, keys, tables

KINDS = list(ARMS)
EVERY = {"name", "kind", "weight", "allow", "robots", "headers", "policy", "target"}
EVERY |= {"max_requests", "paused", "window", "min_interval", "max_interval"}
EVERY |= {"parameters", "auth", "cookies", "proxy"}
EVERY |= {"ca", "certificate", "certificate_key"}


def least(kind, **more):
    return read_source({"name": "s", "kind": kind, **LEAST[kind], **more})


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_read_by_the_settings_of_its_kind(kind):
    source = least(kind)
    assert type(source) is ARMS[kind] is settings_of(kind)
    assert source.kind == kind
    assert set(BUILT_IN) == set(KINDS)


def test_a_source_that_names_no_kind_has_pages():
    source = read_source({"name": "s"})
    assert (type(source), source.kind) == (PagesConfig, "pages")


def test_every_source_has_these_keys_and_no_kind_hides_one():
    assert set(SourceConfig.model_fields) == EVERY
    for arm in ARMS.values():
        assert set(arm.model_fields) >= EVERY


@pytest.mark.parametrize("kind", KINDS)
def test_the_samples_name_every_key_of_a_kind(kind):
    assert keys(kind) == set(ARMS[kind].model_fields)


@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_settings_that_are_dumped_are_read_as_they_were(kind, data):
    table = data.draw(tables(kind))
    source = read_source(table)
    dumped = source.model_dump(exclude_unset=True)
    again = read_source(dumped)
    assert (again, again.model_fields_set) == (source, source.model_fields_set)
    assert dumped.keys() == table.keys()
    (inside,) = Config(source=(source,)).model_dump(exclude_unset=True)["source"]
    assert inside == dumped


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_settings_that_are_written_are_read_as_they_were(kind, data, tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text('[[source]]\nname = "o.o"\n')
    source = read_source(data.draw(tables(kind)))
    text = with_sources(path, [source])
    other, again = Config.parse(text).source
    assert other.name == "o.o"
    assert again == source
    assert again.model_fields_set - {"kind"} == source.model_fields_set - {"kind"}


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_kind_is_written_also_where_the_program_left_it_out(kind, tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text("")
    given = {"kind": "site"} if kind == "site" else {}
    source = ARMS[kind].model_validate({"name": "s", **LEAST[kind], **given})
    (again,) = Config.parse(with_sources(path, [source])).source
    assert (type(again), again.kind) == (ARMS[kind], kind)


FOREIGN = [
    (kind, key)
    for kind, arm in ARMS.items()
    for key in sorted({k for a in ARMS.values() for k in a.model_fields})
    if key not in arm.model_fields
]


@pytest.mark.parametrize(("kind", "key"), FOREIGN)
def test_a_key_of_another_kind_has_no_meaning(kind, key):
    given = "\n".join(
        f"{k} = {v!r}" for k, v in LEAST[kind].items() if not isinstance(v, dict)
    )
    tables = "[source.attributes]\nmake = {}\n" if kind == "form" else ""
    text = f"[[source]]\nname = 's'\nkind = '{kind}'\n{given}\n{key} = 1\n{tables}"
    with pytest.raises(ConfigError) as caught:
        Config.parse(text)
    said = f"source[1]: {key} has no meaning for a source of kind {kind!r}"
    assert str(caught.value) == f"halflife.toml: {said}"


def test_there_are_foreign_keys_for_every_kind():
    assert {kind for kind, _ in FOREIGN} == set(KINDS)
    assert ("form", "recall") in FOREIGN
    assert ("form", "cap") not in FOREIGN


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"name": "s", "kind": "site"}, "a site needs start"),
        ({"name": "s", "depth": 3}, "depth has no meaning .* without start"),
        ({"name": "s", "scope": "host"}, "scope has no meaning .* without start"),
        ({"name": "s", "kind": "listing"}, "a listing needs url"),
        ({"name": "s", "kind": "search"}, "a search needs search_url"),
        ({"name": "s", "kind": "form"}, "a form needs form_url and attributes"),
        ({"name": "s", "kind": "form", "form_url": "http://a/"}, "and attributes"),
    ],
)
def test_what_a_kind_needs_is_asked_for(table, said):
    with pytest.raises(ValueError, match=said):
        read_source(table)


@pytest.mark.parametrize(
    ("kind", "measures"),
    [
        ("pages", {"freshness"}),
        ("site", {"freshness"}),
        ("listing", {"recall"}),
        ("search", {"summary"}),
        ("form", {"recall", "content"}),
    ],
)
@pytest.mark.parametrize("measure", ["freshness", "recall", "content", "summary"])
def test_a_target_is_of_what_a_kind_has(kind, measures, measure):
    target = f"{measure} >= 0.9"
    if measure in measures:
        assert least(kind, target=target).targets[0].measure == measure
        return
    with pytest.raises(ValueError, match=f"kind '{kind}' has a target of .* not of"):
        least(kind, target=target)


def test_unknown_keys_are_told_with_those_of_the_kind():
    with pytest.raises(ConfigError, match="did you mean 'hit_snippet'"):
        Config.parse("[[source]]\nname='s'\nkind='search'\nhit_snipet=''")
    with pytest.raises(ConfigError) as caught:
        Config.parse("[[source]]\nname='s'\nkind='search'\nzzz=''")
    said = str(caught.value)
    assert "source[1].zzz: unknown key; keys of kind 'search' are name, kind, " in said
    assert set(said.partition(" are ")[2].split(", ")) == set(SearchConfig.model_fields)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("'lists'", "unknown kind 'lists'; kinds are pages, site, listing, search, fo"),
        ("3", "input should be a valid string; got 3"),
        ("['pages']", "input should be a valid string"),
    ],
)
def test_a_kind_that_is_none_is_told_in_a_line(kind, said):
    with pytest.raises(ConfigError) as caught:
        Config.parse(f"[[source]]\nname='s'\nkind={kind}")
    assert str(caught.value).startswith(f"halflife.toml: source[1].kind: {said}")
    assert "\n" not in str(caught.value)


def test_what_is_no_table_is_no_source():
    with pytest.raises(ConfigError, match=r"source\[2\]: must be a table; got 3"):
        Config.parse("source = [{name = 's'}, 3]")


@pytest.mark.parametrize(
    ("kind", "more", "addresses", "landmarks", "query_url"),
    [
        (
            "site",
            {"pages": ("http://b.example/",), "maps": ("http://c.example/m",)},
            ("http://a.example/", "http://b.example/", "http://c.example/m"),
            ("http://a.example/", "http://c.example/m"),
            "",
        ),
        (
            "listing",
            {"urls": ("http://b.example/",)},
            ("http://a.example/list", "http://b.example/"),
            (),
            "",
        ),
        ("search", {}, ("http://a.example/?q=1",), (), "http://a.example/?q={query}"),
        (
            "form",
            {"lookup_url": "http://a.example/{key}"},
            ("http://a.example/f", "http://a.example/1"),
            (),
            "http://a.example/f",
        ),
    ],
)
def test_a_source_says_where_it_is(kind, more, addresses, landmarks, query_url):
    source = least(kind, **more)
    assert source.addresses == addresses
    assert source.where == addresses[0]
    assert source.landmarks == landmarks
    assert source.query_url == query_url


def test_messages_name_a_source_without_addresses_by_its_function_or_name():
    made = read_source({"name": "s", "kind": "listing", "python": "jobs:read"})
    assert (made.addresses, made.where) == ((), "jobs:read")
    assert least("pages").where == "s"


def test_numbered_pages_begin_at_the_first():
    url = "http://a.example/?p={n}"
    made = read_source({"name": "s", "kind": "listing", "page_url": url})
    assert made.addresses == ("http://a.example/?p=1",)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_addresses_of_pages_are_items_by_themselves(kind):
    source = least(kind)
    named = source.addresses if kind in {"pages", "site"} else ()
    assert source.item_urls == named


def test_only_a_site_has_a_root():
    assert {kind for kind in KINDS if least(kind).root} == {"site"}


def test_answers_are_asked_for_in_the_format_that_is_named():
    assert least("pages").answer_format == "page"
    assert least("listing", format="csv").answer_format == "csv"
    assert least("form", format="html").answer_format == "html"
    assert least("search", engine="solr").answer_format == "solr"


READ = """
[[source]]
name = "jobs"
kind = "listing"
url = "http://a.example/jobs"
urls = ["http://a.example/more"]
format = "json"
records = "jobs"
key = "id"
fields = {title = "name", pay = "salary.from"}
[[source]]
name = "docs"
kind = "search"
search_url = "http://a.example/?q={query}&p={page}"
engine = "json"
hits = "hits"
hit_key = "id"
hit_text = "body"
hit_snippet = "cut"
total = "n"
[[source]]
name = "cars"
kind = "form"
form_url = "http://a.example/cars?p={page}"
lookup_url = "http://a.example/car/{key}"
records = "cars"
key = "id"
total = "n"
[source.attributes]
make = {}
"""


def test_what_was_learned_of_answers_outlives_an_upgrade():
    # As version 0.1.0 wrote them into state files, before kinds had their own settings.
    known = ["81027c9dca983ea1", "e604f792aff155db", "d8f72edbb124bb3f"]
    sources = Config.parse(READ).source
    assert [schema_drift._settings_mark(one) for one in sources] == known


@pytest.mark.parametrize(
    "change",
    [
        ('hits = "hits"', 'hits = "found"'),
        ('engine = "json"', 'engine = "html"'),
        ('total = "n"', 'total = "all"'),
        ('records = "jobs"', 'records = "list"'),
        ('"name"', '"title"'),
        ("/cars?", "/autos?"),
    ],
)
def test_what_was_learned_of_answers_is_void_when_they_are_read_differently(change):
    before, after = READ, READ.replace(*change)
    marks = [
        [schema_drift._settings_mark(one) for one in Config.parse(text).source]
        for text in (before, after)
    ]
    assert marks[0] != marks[1]


def test_a_source_is_taken_for_its_kind_and_for_no_other():
    pages, site, form = least("pages"), least("site"), least("form")
    mixed = [pages, form, site]
    assert PagesConfig.among(mixed) == [pages, site]
    assert FormConfig.among(mixed) == [form]
    assert SourceConfig.among(mixed) == mixed
    assert FormConfig.of(form) is form
    assert SourceConfig.of(form) is form
    with pytest.raises(TypeError, match=r"source s is of kind 'form'.*ListingConfig"):
        ListingConfig.of(form)


def test_pages_are_crawled_if_they_have_a_start():
    assert not least("pages").crawls
    assert least("pages", start="http://a.example/", depth=3).crawls
    assert least("site").crawls
    assert least("pages", start="http://a.example/").most_pages == 10_000
    assert least("pages").most_pages == 50_000
    assert least("pages", most=7).most_pages == 7


def test_a_source_may_name_a_policy_of_its_own():
    assert least("pages").policy == ""
    assert least("form", policy="rotation").policy == "rotation"
    with pytest.raises(ValueError, match="no policy of kind 'form'"):
        least("form", policy="champion")
    with pytest.raises(ValueError, match="one line"):
        least("pages", policy="a\nb")


def test_the_base_is_no_kind():
    with pytest.raises(TypeError, match="addresses"):
        SourceConfig(name="s", kind="pages")


IMPORTED = """
import sys
from halflife.config import Config
Config.parse("[[source]]\\nname='s'\\npages=['http://a.example/']")
print(*(m for m in sys.modules if m.startswith("halflife.kinds")))
"""


def test_settings_of_pages_import_nothing_of_other_kinds():
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "halflife.kinds",
        "halflife.kinds.pages",
        "halflife.kinds.pages.settings",
    }


@pytest.mark.parametrize("kind", ["pages", "listing", "search", "form"])
def test_the_settings_of_a_kind_can_be_imported_first(kind):
    command = [sys.executable, "-c", f"import halflife.kinds.{kind}.settings"]
    subprocess.run(command, check=True)
