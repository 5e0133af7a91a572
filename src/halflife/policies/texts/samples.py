"""Updates by sampling: fetch 20 documents, renew where most have changed.

Cho and Ntoulas, "Effective change detection using sampling", VLDB 2002, as used by
Ipeirotis et al., TODS 2007, s. 5.3: the database with the largest number of changed
documents comes first. Documents that are new are in no sample, and so are not seen.
"""

import numpy as np
from numpy.random import Generator

from halflife.policies.texts import RefreshWish, SummaryShelf, best

DOCUMENTS = 20  # of a sample
READ = 300  # documents that a summary is made from, where a database is queried
PRICE = DOCUMENTS / READ  # of a sample, in refreshes
SHARE = 0.25  # of the budget that may go into samples


class DatabaseSampling:
    """Samples the databases in turn, renews those with most changed documents.

    A priced rule spends a quarter of each week's budget on samples, oldest first; a
    free one samples every database every week.

    Args:
        price: Of one sample, in refreshes; 0 as in the paper, which did not count it.

    """

    def __init__(self, price: float = PRICE) -> None:
        self.price = price

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return whom to sample, or if this week's samples are taken, whom to renew."""
        n = shelf.age.size
        due = n if self.price == 0 else round(SHARE * shelf.income / self.price)
        taken = int((shelf.samples.week == shelf.week).sum())
        if taken < min(due, n) and budget >= self.price * (due - taken):
            order = np.lexsort((rng.random(n), shelf.samples.week))
            return RefreshWish(sample=order[: min(due, n) - taken])
        # A sample from before the refresh tells of the summary that was thrown away.
        made = shelf.week - shelf.age
        changed = np.where(shelf.samples.week > made, shelf.samples.share, 0.0)
        return best(changed * shelf.size, budget, rng)
