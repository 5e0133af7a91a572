"""The ages of updates, summed one by one: an oracle."""

import numpy as np


def summed_ages(updates, synced, at):
    """Return F(e; t): the ages at ``at`` of all updates since ``synced``, summed.

    An update at the very moment has age 0.
    """
    when = np.asarray(updates, dtype=np.float64)
    missed = when[(when > synced) & (when <= at)]
    return float(np.sum(at - missed))
