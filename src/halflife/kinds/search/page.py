"""The page of a database that can be searched: its summary."""

import math

import numpy as np

from halflife.core.wording import count
from halflife.kinds.page_view import PageView, TableColumn
from halflife.stores import Store, summaries

WORDS = 20  # of a summary
COLUMNS = (
    TableColumn("item", "word", "address"),
    TableColumn("about", "about"),
    TableColumn("last_look", "last seen", "moment"),
)


def page(store: Store, name: str) -> PageView:
    """Return the summary in use, and its evidence."""
    kept = summaries.current(store, name)
    if kept is None:
        return PageView(title="Words")
    summary = kept.summary
    order = np.argsort(-summary.count)[:WORDS].tolist()
    high = f"{kept.high:,.0f}" if math.isfinite(kept.high) else "no bound"
    return PageView(
        card=[
            (
                f"Version {kept.version} of the summary rests on {summary.sampled} "
                f"documents, read with {count(kept.requests, 'request')} "
                f"({kept.ending})."
            ),
            (
                f"The database has about {summary.size:,.0f} documents "
                f"({kept.low:,.0f} to {high}), by {kept.sized or 'its sample'}."
            ),
            (
                "How long a summary holds is forecast from the size and the domain. "
                f"Reported numbers of hits: {kept.told or 'nothing is known'}."
            ),
        ],
        title="Words",
        columns=COLUMNS,
        items=[
            {
                "item": summary.words[i],
                "about": f"in {float(summary.count[i]):,.0f} of the documents read",
                "last_look": kept.at,
            }
            for i in order
        ],
    )
