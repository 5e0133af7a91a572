"""Recorded sites including pages that came later, which replays leave out."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from halflife.recordings import histories
from halflife.recordings.pages import Recording
from halflife.replay.recorded_source import source_name


def site_recordings(folder: Path, days: float) -> Iterator[tuple[str, Recording]]:
    """Yield the sites recorded in or below a folder, with pages that came later.

    Times are days before and after the last moment of each site.
    """
    for path in sorted(folder.glob("**/pages.parquet")):
        if not (path.parent / "changes.parquet").is_file():
            continue
        history = histories.load(path.parent, days=days, later=True)
        group = np.array(history.recording.group, dtype=object)
        for site in np.unique(group).tolist():
            rows = np.flatnonzero(group == site)
            yield source_name(site), history.recording.take(rows).moved(-history.end)
