"""Recognition of searches: OpenSearch descriptions, and pages that link to one."""

from halflife.core.errors import SourceError
from halflife.kinds.search.description import (
    DescribedSearch,
    description_link,
    is_description,
    read_description,
)
from halflife.readers.text import is_html, to_text
from halflife.recognition.guess import SURE, VAGUE, SourceGuess, TrialAnswer

FEEDS = frozenset({"application/atom+xml", "application/rss+xml"})


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how a site can be searched by an answer of it."""
    if answer.corrections.given:
        return []
    if is_description(answer.body):
        return [_guess(answer)]
    if not is_html(answer.content_type, answer.body):
        return []
    link = description_link(to_text(answer.content_type, answer.body), answer.url)
    why = {"format": f"the page names an OpenSearch description, {link}"}
    vague = SourceGuess("search", "page of a site with a search", VAGUE, {}, why)
    return [vague] if link else []


def _guess(answer: TrialAnswer) -> SourceGuess:
    try:
        description = read_description(answer.body, answer.url)
    except SourceError as error:
        why = {"format": "an OpenSearch description", "trouble": str(error)}
        return SourceGuess("search", "OpenSearch description", SURE, {}, why)
    html = "html" in description.type
    return SourceGuess(
        "search",
        "OpenSearch description",
        SURE,
        {"kind": "search", **settings_of(description)},
        {
            "format": "its root element says so",
            "paging": f"the template {description.url!r} says how it is asked",
        },
        missing=("hits, hit_link (CSS): its answers are HTML",) if html else (),
    )


def settings_of(description: DescribedSearch) -> dict[str, object]:
    """Return how a described search is queried, as settings."""
    engine = {"engine": "feed"} if description.type in FEEDS else {}
    paged = {"{page}": "first_page", "{offset}": "first_offset"}
    first = {
        k: getattr(description, k)
        for place, k in paged.items()
        if place in description.url
    }
    return {"search_url": description.url, **engine, **first}
