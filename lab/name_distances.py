"""How often pages change together, by how far apart their names are.

``python -m lab.name_distances FOLDER`` takes a folder of page histories. For each
distance in the order of names (``grouping.name_order``) it prints how many times as
often as by chance a page had also changed when a page so far away did, for pages of one
folder and of different ones. Only changes of a few pages count: of 2 to 100, and of at
most a tenth of their site.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from halflife.bench import league
from halflife.core.arrays import Bools, Ints
from halflife.core.keys import Keys
from halflife.grouping.name_order import name_order
from halflife.grouping.places import folder_codes
from halflife.recordings import histories
from halflife.recordings.pages import Recording

DISTANCES = 1, 2, 3, 6, 12, 24, 48
MOST, SHARE = 100, 0.1  # pages of a change, and their share of the site


@dataclass(frozen=True, slots=True)
class Likeness:
    """How many times as often as by chance pages at a distance changed together."""

    distance: int
    same_folder: float
    other_folder: float


def joint_changes(recording: Recording, days: float) -> Iterator[Ints]:
    """Yield the pages of each change of a few pages: one moment on one site."""
    _, site, size = np.unique(recording.group, return_inverse=True, return_counts=True)
    item = np.repeat(np.arange(len(recording)), np.diff(recording.start))
    inside = (recording.at > 0) & (recording.at < days)
    item, at = item[inside], recording.at[inside]
    order = np.lexsort((at, site[item]))
    item, at = item[order], at[order]
    new = (np.diff(at) != 0) | (np.diff(site[item]) != 0)
    for pages in np.split(item, np.flatnonzero(new) + 1):
        some = np.unique(pages)
        if 2 <= some.size <= min(MOST, SHARE * size[site[some[0]]]):
            yield some


def likeness(recording: Recording, days: float) -> list[Likeness]:
    """Return how alike pages change at each distance."""
    keys = Keys(recording.keys)
    _, site, size = np.unique(recording.group, return_inverse=True, return_counts=True)
    folder = folder_codes(keys, 0, {})
    order = name_order(keys, folder, site)
    found = np.zeros((len(DISTANCES), 2, 2))  # by distance and folder: seen, by chance
    together: Bools = np.zeros(len(recording), dtype=np.bool_)
    for pages in joint_changes(recording, days):
        together[pages] = True
        chance = (pages.size - 1) / (size[site[pages[0]]] - 1)
        for row, distance in enumerate(DISTANCES):
            for step in (distance, -distance):
                place = order.place[pages] + step
                fits = (place >= 0) & (place < len(recording))
                page, other = pages[fits], order.rows[place[fits]]
                near = site[page] == site[other]
                page, other = page[near], other[near]
                apart = (folder[page] != folder[other]).astype(np.intp)
                np.add.at(found[row, :, 0], apart, together[other])
                np.add.at(found[row, :, 1], apart, chance)
        together[pages] = False
    times = found[:, :, 0] / np.maximum(found[:, :, 1], 1e-300)
    return [
        Likeness(distance, *row)
        for distance, row in zip(DISTANCES, times.tolist(), strict=True)
    ]


def main(words: Sequence[str] | None = None) -> None:
    """Print the factors, one distance a line."""
    parser = argparse.ArgumentParser(prog="lab.name_distances")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=float, default=league.DAYS)
    given = parser.parse_args(words)
    recorded = histories.load(given.folder, days=given.days)
    for row in likeness(recorded.recording, recorded.end):
        sys.stdout.write(
            f"{row.distance} apart: {row.same_folder:.1f} in the same folder, "
            f"{row.other_folder:.1f} in another\n"
        )


if __name__ == "__main__":
    main()
