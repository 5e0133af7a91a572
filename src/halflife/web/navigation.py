"""The navigation bar of every page."""

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
# Pages that a browser may reload by itself, as they have no input to lose.
RENEWED = frozenset(
    {"overview", "sources", "source", "plan", "what-if", "inbox", "audit"}
)
UNDER = {"source": "sources", "items": "sources", "edit": "sources", "diff": "changes"}


def entries(paths: Collection[str]) -> dict[str, str]:
    """Return the titles of the existing pages by name, in the order of the bar.

    >>> entries({"/plan", "/overview", "/overview.json"})
    {'overview': 'Overview', 'plan': 'Plan'}
    """
    return {name: title for name, title in TITLES.items() if f"/{name}" in paths}


def entry_of(page: str) -> str:
    """Return the entry of the bar that a page belongs to.

    >>> entry_of("source"), entry_of("audit/league"), entry_of("plan")
    ('sources', 'audit', 'plan')
    """
    first = page.partition("/")[0]
    return UNDER.get(first, first)
