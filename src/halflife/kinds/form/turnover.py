"""The turnover of a form: how fast its records come and go."""

from typing import TYPE_CHECKING

import numpy as np

from halflife.models.turnover import Turnover, unrest_of_events

if TYPE_CHECKING:
    from halflife.queries.form_copy import FormCopy


def turnover(copy: "FormCopy") -> Turnover:
    """Return the rates at which records arrive and depart, from a copy's history.

    A record departed halfway between when it was last seen and when it was found gone.
    Arrivals are counted since the first crawl. ``hidden`` is how much smaller the copy
    is than that crawl left it: these records may have gone without a replacement.
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
        unrest=unrest_of_events(
            np.concatenate([new, ended]), copy.since, days, ended - seen
        ),
        hidden=float(began.size - new.size - len(copy.records)),
    )
