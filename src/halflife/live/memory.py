"""What a belief learned, kept between runs."""

import json

from halflife.belief.hinted import Hinted
from halflife.belief.poisson import PoissonBelief, Prior
from halflife.stores import Store

PRIOR = "prior of change rates"


def recall(store: Store) -> Prior | None:
    """Return the spread of rates that was learned last, if any."""
    memo = store.memo(PRIOR)
    if memo is None:
        return None
    kept = json.loads(memo)
    return Prior(tuple(kept["mass"]), int(kept["looks"]))


def remember(store: Store, belief: object) -> None:
    """Keep the spread of rates that a belief has learned, if it learns one."""
    belief = belief.inner if isinstance(belief, Hinted) else belief
    if isinstance(belief, PoissonBelief) and belief.prior is not None:
        kept = {"mass": belief.prior.mass, "looks": belief.prior.looks}
        store.save_memo(PRIOR, json.dumps(kept))
