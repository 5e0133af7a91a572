"""Settings of sources of every kind, as tables of halflife.toml."""

from hypothesis import strategies as st

from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.search.settings import SearchConfig

ARMS = {
    "pages": PagesConfig,
    "site": PagesConfig,
    "listing": ListingConfig,
    "search": SearchConfig,
    "form": FormConfig,
}
LEAST = {  # the least that a source of each kind has to say
    "pages": {},
    "site": {"start": "http://a.example/"},
    "listing": {"url": "http://a.example/list"},
    "search": {"search_url": "http://a.example/?q={query}"},
    "form": {"form_url": "http://a.example/f", "attributes": {"make": {}}},
}

lines = st.text("aZ9 .,'\"\\[]{}=#é€-_", max_size=12)
words = st.text("abcXYZ019_", min_size=1, max_size=8)
urls = st.builds("http://{}.example/{}".format, st.sampled_from("abc"), words)
lists = st.lists(urls, max_size=3, unique=True).map(tuple)


references = st.sampled_from([{"env": "TOKEN"}, {"file": "/run/secrets/token"}])


def span(low, high):
    return st.integers(low, high)


def share(low=0.0, high=1.0):
    return st.floats(low, high, allow_nan=False)


COMMON = {
    "weight": share(0.001, 1000.0),
    "allow": st.lists(st.sampled_from(["10.0.0.0/8", "::1/128"]), unique=True).map(
        tuple
    ),
    "robots": st.booleans(),
    "headers": st.dictionaries(
        st.builds("X-{}".format, words), st.one_of(lines, references)
    ),
    "parameters": st.dictionaries(words, references, max_size=2),
    "auth": st.one_of(
        st.fixed_dictionaries(
            {"kind": st.just("basic"), "user": words, "password": references}
        ),
        st.fixed_dictionaries({"kind": st.just("bearer"), "token": references}),
        st.fixed_dictionaries(
            {
                "kind": st.just("oauth2"),
                "token_url": urls,
                "client_id": words,
                "client_secret": references,
            },
            optional={
                "scope": lines,
                "audience": lines,
                "client": st.sampled_from(["header", "body"]),
            },
        ),
    ),
    "cookies": st.booleans(),
    "proxy": st.one_of(
        urls,
        st.fixed_dictionaries(
            {"url": urls},
            optional={
                "user": words,
                "password": references,
                "dns": st.sampled_from(["here", "proxy"]),
            },
        ),
    ),
    "ca": st.just("/etc/ours.pem"),
    "policy": st.just(""),
    "target": st.one_of(
        st.just("age p95 <= 6 h"),
        st.lists(st.just("age p99 <= 1 d"), max_size=2).map(tuple),
    ),
    "max_requests": span(1, 10**6),
    "paused": st.booleans(),
    "window": st.just("22:00-06:00 Europe/Berlin"),
    "min_interval": st.sampled_from(["30 min", "6 h"]),
    "max_interval": st.sampled_from(["2 d", "1 w"]),
}
CERTIFICATE = {
    "certificate": st.just("~/mine.pem"),
    "certificate_key": st.just("/etc/mine.key"),
}
RECORDS = {
    "format": st.sampled_from(["json", "jsonl", "csv", "html"]),
    "records": lines,
    "key": lines,
    "fields": st.dictionaries(lines, lines, max_size=3),
}
RESULTS = {
    "total": lines,
    "per_page": span(1, 1000),
    "first_page": span(0, 1),
    "first_offset": span(0, 1),
    "cap": span(1, 10**6),
}
rules = st.lists(words, max_size=3).map(tuple)
RAW = {  # every byte counts, so there are no rules for parts
    "pages": lists,
    "maps": lists,
    "text": st.sampled_from(["visible", "main", "raw"]),
    "noise": share(0.0, 0.5),
    "render": st.sampled_from(["", "browser"]),
    "exclude": rules,
    "keep": st.booleans(),
    "most": span(1, 10**6),
    "discovery": share(),
}
PAGES = RAW | {
    "text": st.sampled_from(["visible", "main"]),
    "only": rules,
    "ignore": rules,
}
CRAWL = {
    "drop_query": rules,
    "keep_query": rules,
    "canonical": st.booleans(),
    "languages": rules,
    "scope": st.one_of(
        st.sampled_from(["host", "folder"]),
        st.lists(urls, min_size=1, max_size=3).map(tuple),
    ),
    "depth": span(0, 1000),
    "variants": span(1, 10**6),
}
values = st.recursive(
    st.one_of(st.integers(-9, 9), st.booleans(), lines),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(words, inner, max_size=2)
    ),
    max_leaves=4,
)
FUNCTION = {"python": st.builds("{}.{}:{}".format, words, words, words)}
PAGED = {
    "paging": st.one_of(
        st.fixed_dictionaries({"kind": st.just("link"), "at": words}),
        st.fixed_dictionaries(
            {"kind": st.just("header")}, optional={"relation": words}
        ),
        st.fixed_dictionaries(
            {"kind": st.just("cursor"), "at": words, "parameter": words},
            optional={"more": lines},
        ),
        st.fixed_dictionaries(
            {"kind": st.just("page"), "body": words}, optional={"first": span(0, 9)}
        ),
        st.fixed_dictionaries(
            {
                "kind": st.just("offset"),
                "parameter": words,
                "limit": span(1, 99),
                "limit_parameter": words,
            },
            optional={"first": span(0, 9)},
        ),
    ),
}
GROUPED = {"group_request": st.sampled_from(["a={group}", "body.b.c=x{group}"])}
SINCE = {"since_field": words, "full_every": st.sampled_from(["6 h", "7 d"])}
GRAPHQL = {
    "variables": st.dictionaries(words, values, max_size=2),
    "cursor": lines,
    "more": lines,
    "variable": words,
}
LISTING = {
    "parameters": st.dictionaries(words, st.one_of(lines, references), max_size=2),
    "total": lines,
    "max_pages": span(1, 10_000),
    "complete": st.booleans(),
    "group": lines,
    "confirm_hours": share(0.0, 8760.0),
    "recall": share(0.01, 0.99),
    "confidence": share(0.01, 0.99),
}
LISTING_PAGED = {n: v for n, v in LISTING.items() if n not in {"total", "complete"}}
LISTING_PAGED |= PAGED | SINCE
UNNAMED = {n: v for n, v in RECORDS.items() if n != "fields"}
SEARCH = {
    "engine": st.sampled_from(["elasticsearch", "solr", "json", "html", "feed"]),
    "hits": lines,
    "hit_key": lines,
    "hit_link": lines,
    "hit_text": lines,
    "hit_snippet": lines,
    "tau": st.sampled_from([0.005, 0.5, 2.0]),
}
POLICIES = {  # those of a form go with its purpose, and have tests of their own
    "pages": st.sampled_from(["champion", "uniform", ("nutch-adaptive",)]),
    "site": st.sampled_from(["index", "topic-sampling"]),
    "listing": st.sampled_from(["market-price", "threshold", ("interval",)]),
    "search": st.sampled_from(["checks", "survival", "naive"]),
}
FORM = {
    "next": lines,
    "max_staleness": share(0.01, 1.0),
    "corpus": st.just("/data/words.csv"),
    "counts": st.sampled_from(["exact", "rounded", "capped", "none"]),
    "newest": st.just("sort=date"),
    "date": lines,
    "lookup_url": st.just("http://a.example/one/{key}"),
    "lookup_records": lines,
    "together": span(1, 100),
    "everything": st.booleans(),
    "purpose": st.sampled_from(["new", "known", "both"]),
    "weight_by": lines,
    "differs_by": lines,
}
attributes = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"param": lines, "values": st.lists(lines).map(tuple)}
    ),
    st.fixed_dictionaries({"kind": st.just("keyword")}, optional={"join": lines}),
    st.fixed_dictionaries(
        {"kind": st.just("range")},
        optional={
            "cuts": st.lists(st.integers(-9, 9).map(float), unique=True).map(
                lambda cuts: tuple(sorted(cuts))
            ),
            "low": lines,
            "high": lines,
            "pattern": st.just("{low}..{high}"),
            "step": share(),
        },
    ),
)
OWN = {  # what is needed, and what may be said besides; of a listing in two ways
    "pages": [({}, PAGES), ({}, RAW), ({"start": urls}, PAGES | CRAWL)],
    "site": [({"start": urls}, PAGES | CRAWL), ({"start": urls}, RAW | CRAWL)],
    "listing": [
        ({"url": urls}, RECORDS | LISTING | FUNCTION | {"urls": lists, "next": lines}),
        ({"page_url": st.just("http://a.example/{n}")}, RECORDS | LISTING),
        (
            {
                "url": urls,
                "method": st.just("POST"),
                "body": st.dictionaries(words, values, max_size=3),
                "total_header": words,
                "since": st.just("after={last}"),
            },
            UNNAMED | LISTING_PAGED,
        ),
        (
            {
                "url": urls,
                "body": st.dictionaries(words, lines),
                "body_format": st.just("form"),
            },
            RECORDS | LISTING,
        ),
        (
            {
                "url": urls,
                "graphql": st.fixed_dictionaries(
                    {"query": st.just("{ jobs\n{ id } }")}, optional=GRAPHQL
                ),
            },
            RECORDS | LISTING,
        ),
        (
            {"url": urls, "group": words, "fields": st.just({}), **GROUPED},
            {"full_every": SINCE["full_every"], "max_pages": LISTING["max_pages"]},
        ),
    ],
    "search": [
        (
            {"search_url": st.just("http://a.example/{query}?p={page}")},
            RESULTS | SEARCH,
        )
    ],
    "form": [
        (
            {
                "form_url": st.just("http://a.example/?o={offset}"),
                "attributes": st.dictionaries(
                    st.text("aZ9 .é-_", min_size=1, max_size=8),
                    attributes,
                    min_size=1,
                    max_size=3,
                ),
            },
            RECORDS | RESULTS | FORM,
        )
    ],
}


def tables(kind):
    """Tables of sources of a kind."""
    base = {"name": st.builds("s.{}".format, words), "kind": st.just(kind)}
    common = COMMON | ({"policy": POLICIES[kind]} if kind in POLICIES else {})
    return st.one_of(
        st.fixed_dictionaries(base | needed | more, optional=common | rest)
        for needed, rest in OWN[kind]
        for more in ({}, CERTIFICATE)
    )


def keys(kind):
    """Every key that the tables of a kind have."""
    own = [key for needed, rest in OWN[kind] for key in (*needed, *rest)]
    return {"name", "kind", *COMMON, *CERTIFICATE, *own}
