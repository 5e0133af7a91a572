"""The pages that the head of every page leads to."""

from collections.abc import Collection

TITLES = {
    "overview": "Overview",
    "sources": "Sources",
    "changes": "Changes",
    "plan": "Plan",
    "what-if": "What if",
    "inbox": "Inbox",
    "audit": "Audit",
    "add": "Add",
}
# Pages that a browser may fetch again by itself: they show, and nobody writes there.
RENEWED = frozenset(
    {"overview", "sources", "source", "plan", "what-if", "inbox", "audit"}
)
UNDER = {"source": "sources", "items": "sources", "edit": "sources", "diff": "changes"}


def entries(paths: Collection[str]) -> dict[str, str]:
    """Return the pages that are there, by name, in the order of the head.

    >>> entries({"/plan", "/overview", "/overview.json"})
    {'overview': 'Overview', 'plan': 'Plan'}
    """
    return {name: said for name, said in TITLES.items() if f"/{name}" in paths}


def entry_of(page: str) -> str:
    """Return the entry that a page belongs to.

    >>> entry_of("source"), entry_of("audit/league"), entry_of("plan")
    ('sources', 'audit', 'plan')
    """
    first = page.partition("/")[0]
    return UNDER.get(first, first)
