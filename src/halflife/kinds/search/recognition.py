"""Searches recognised: OpenSearch descriptions, and pages that name one."""

from halflife.core.errors import SourceError
from halflife.kinds.search.description import (
    DescribedSearch,
    is_description,
    linked,
    read_description,
)
from halflife.readers.text import is_html, to_text
from halflife.recognition.guess import SURE, VAGUE, SourceGuess, TrialAnswer

FEEDS = frozenset({"application/atom+xml", "application/rss+xml"})


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how an answer says that its site can be searched."""
    if answer.corrections.given:
        return []
    if is_description(answer.body):
        return [_described(answer)]
    if not is_html(answer.content_type, answer.body):
        return []
    there = linked(to_text(answer.content_type, answer.body), answer.url)
    why = {"format": f"the page names an OpenSearch description, {there}"}
    vague = SourceGuess("search", "page of a site with a search", VAGUE, {}, why)
    return [vague] if there else []


def _described(answer: TrialAnswer) -> SourceGuess:
    try:
        found = read_description(answer.body, answer.url)
    except SourceError as error:
        why = {"format": "an OpenSearch description", "trouble": str(error)}
        return SourceGuess("search", "OpenSearch description", SURE, {}, why)
    html = "html" in found.type
    return SourceGuess(
        "search",
        "OpenSearch description",
        SURE,
        {"kind": "search", **settings_of(found)},
        {
            "format": "its root element says so",
            "paging": f"the template {found.url!r} says how it is asked",
        },
        missing=("hits, hit_link (CSS): its answers are HTML",) if html else (),
    )


def settings_of(found: DescribedSearch) -> dict[str, object]:
    """Return how a described search is asked, as settings."""
    engine = {"engine": "feed"} if found.type in FEEDS else {}
    paged = {"{page}": "first_page", "{offset}": "first_offset"}
    first = {k: getattr(found, k) for place, k in paged.items() if place in found.url}
    return {"search_url": found.url, **engine, **first}
