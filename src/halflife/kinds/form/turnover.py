"""How fast the records of a form come and go, by all that was seen of them."""

from typing import TYPE_CHECKING

import numpy as np

from halflife.models.turnover import Turnover, unevenly

if TYPE_CHECKING:
    from halflife.queries.form_copy import FormCopy


def turnover(copy: "FormCopy") -> Turnover:
    """Return how fast records come and go, by a copy and by what went of it.

    A record that went is taken to have gone halfway between when it was last seen and
    when it was found gone. What came since the first crawl is what came; by how much
    the copy is smaller than that crawl left it is hidden: nobody has said that it went
    without being replaced.
    """
    came = np.array(list(copy.came.values()), dtype=np.float64)
    last = np.array([copy.seen[key] for key in copy.came], dtype=np.float64)
    first, seen, ended = np.array(copy.gone, dtype=np.float64).reshape(-1, 3).T
    days = max(copy.last - copy.since, 0.0)
    began = np.concatenate([came, first])
    new = began[began > copy.since]
    return Turnover(
        came=float(new.size),
        went=float(ended.size),
        days=days,
        seen=float(np.sum(last - came) + np.sum((seen + ended) / 2.0 - first)),
        unrest=unevenly(np.concatenate([new, ended]), copy.since, days),
        hidden=float(began.size - new.size - len(copy.records)),
    )
