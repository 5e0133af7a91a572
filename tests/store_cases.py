"""Looks drawn at random, and what counts about evidence."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from halflife.core.evidence import FOLDED, Evidence
from halflife.core.observation import Observation, Observations, Seen
from store_looks import HEX

KEYS = ("a", "b", "c")
claimed = st.none() | st.floats(0.0, 1000.0, width=32)
digests = st.sampled_from(["", "1", "2", HEX, HEX.upper()])


@st.composite
def observations(draw, keys=KEYS, *, forward=False):
    """Draw looks in the order they were made; the clock may jump unless forward."""
    step = st.floats(2**-10, 40.0, width=32)
    times = st.floats(0.0, 1000.0, width=32)
    now, made = 0.0, []
    for key in draw(st.lists(st.sampled_from(keys), max_size=25)):
        now = now + draw(step) if forward else draw(times)
        seen = draw(st.sampled_from(Seen))
        digest = draw(digests) if seen is Seen.PRESENT else ""
        modified = draw(claimed) if seen is Seen.HINT else None
        made.append(Observation(key, now, seen, digest, modified=modified))
    return made


@st.composite
def batched(draw, looks):
    """Draw a way to cut looks into batches."""
    cuts = sorted(draw(st.lists(st.integers(0, len(looks)), max_size=5)))
    edges = [0, *cuts, len(looks)]
    return [Observations.of(looks[start:end]) for start, end in pairwise(edges)]


def fold(evidence, batches):
    for looks in batches:
        evidence.take(evidence.weigh(looks))
    return evidence


def state(evidence: Evidence):
    """Return everything that counts about evidence, for comparison."""
    columns = {name: getattr(evidence, name).tolist() for name in FOLDED}
    settings = evidence.weight.tolist(), evidence.cost.tolist()
    groups = [evidence.groups[g] for g in evidence.group]
    return evidence.keys, settings, groups, columns, tallies(evidence)


def hinted(evidence: Evidence):
    """Return the tally of gaps with hints, item by item."""
    found: dict[tuple[float, ...], float] = {}
    item, length, changed, tally, hints = (c.tolist() for c in evidence.hinted())
    for row, count in zip(
        zip(item, length, changed, hints, strict=True), tally, strict=True
    ):
        found[row] = found.get(row, 0.0) + count
    return found


def tallies(evidence: Evidence):
    """Return the tally of changed gaps and the sum of quiet ones, item by item."""
    gaps = evidence.gaps()
    changed: dict[tuple[int, float], float] = {}
    for i in np.flatnonzero(gaps.changed):
        place = int(gaps.item[i]), float(gaps.length[i])
        changed[place] = changed.get(place, 0.0) + float(gaps.tally[i])
    quiet = np.zeros(len(evidence))
    np.add.at(quiet, gaps.item[~gaps.changed], gaps.length[~gaps.changed])
    return changed, np.round(quiet, 9).tolist()
