"""Recordings with hints of their changes, true and false."""

from dataclasses import replace

import numpy as np

from halflife.recordings.pages import Recording


def reveal(
    recording: Recording,
    share: float,
    recall: float,
    precision: float,
    rng: np.random.Generator,
) -> Recording:
    """Return the recording with hints of its changes for a share of the items.

    Each change of such an item is announced, at once, with probability ``recall``.
    False hints come at random moments between the first change of all and the last,
    as many to each item as make ``precision`` the share of true ones.
    """
    if not (0 <= share <= 1 and 0 <= recall <= 1 and 0 < precision <= 1):
        raise ValueError("share and recall must lie in 0..1, precision above 0")
    told = rng.random(len(recording)) < share
    item = np.repeat(np.arange(len(recording)), np.diff(recording.start))
    true = told[item] & (rng.random(item.size) < recall)
    changes = np.diff(recording.start) * told
    false = rng.poisson(changes * recall * (1.0 - precision) / precision)
    span = recording.at.min(initial=0.0), recording.at.max(initial=0.0)
    item = np.concatenate([item[true], np.repeat(np.arange(len(recording)), false)])
    at = np.concatenate([recording.at[true], rng.uniform(*span, int(false.sum()))])
    start = np.zeros(len(recording) + 1, dtype=np.intp)
    np.cumsum(np.bincount(item, minlength=len(recording)), out=start[1:])
    return replace(recording, hint_start=start, hint_at=at[np.lexsort((at, item))])
