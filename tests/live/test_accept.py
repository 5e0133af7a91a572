"""What sources of each kind are asked for."""

import pytest

from halflife.config import Config
from halflife.engine import network
from halflife.net.negotiation import PAGE, as_page

KINDS = {
    "listing": 'kind = "listing"\nurl = "https://a.example/x"\nkey = "id"\n',
    "search": 'kind = "search"\nsearch_url = "https://a.example/?q={query}"\n',
    "form": (
        'kind = "form"\nform_url = "https://a.example/?make={make}"\nkey = "id"\n'
        "attributes = {make = {}}\n"
    ),
    "pages": 'pages = ["https://a.example/x"]\n',
}


def asked_for(kind, more="", **how):
    config = Config.parse(f'[[source]]\nname = "a"\n{KINDS[kind]}{more}')
    return network.access(config.source[0], **how).headers


@pytest.mark.parametrize(
    ("kind", "more", "first"),
    [
        ("listing", "", "application/json"),
        ("listing", 'format = "json"\n', "application/json"),
        ("listing", 'format = "jsonl"\n', "application/x-ndjson"),
        ("listing", 'format = "csv"\n', "text/csv"),
        ("listing", 'format = "html"\nrecords = "li"\n', "text/html"),
        ("form", "", "application/json"),
        ("form", 'format = "html"\nrecords = "li"\n', "text/html"),
        ("search", "", "application/json"),
        ("search", 'engine = "solr"\n', "application/json"),
        ("search", 'engine = "feed"\n', "application/atom+xml"),
        ("search", 'engine = "html"\nhits = "li"\nhit_link = "a@href"\n', "text/html"),
    ],
)
def test_each_kind_is_asked_for_its_format(kind, more, first):
    accept = asked_for(kind, more)["Accept"]
    assert accept.partition(",")[0] == first
    assert accept.endswith("*/*;q=0.1")


def test_pages_are_asked_for_as_a_browser_asks():
    assert "Accept" not in asked_for("pages")
    for kind in ("listing", "search", "form"):
        assert "Accept" not in asked_for(kind, page=True)


@pytest.mark.parametrize("name", ["Accept", "accept"])
def test_what_somebody_wrote_wins(name):
    more = f'headers = {{ {name} = "text/plain" }}\n'
    found = asked_for("listing", more)
    assert found == {name: "text/plain"}
    assert as_page(found) == {}


def test_documents_that_a_search_leads_to_are_asked_for_as_pages():
    assert as_page(asked_for("search")) == {"Accept": PAGE}
