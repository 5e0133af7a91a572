"""The delete guard on every recorded set source, sync by sync."""

from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from pyarrow import parquet

from halflife.core.object_store import Register
from halflife.models.guard import DeleteGuard
from halflife.recordings.objects import load_parquet
from objects_folder import REAL

pytestmark = pytest.mark.real
NAMES = sorted(p.name for p in REAL.iterdir()) if REAL.exists() else ["none"]
SITES = REAL.parent / "sites" / "pages.parquet"
JUDGED = 1500  # syncs a history, at most


@dataclass
class Figures:
    """How often the guard held what was true, and believed what was not."""

    syncs: int = 0
    held: int = 0
    emptied_believed: int = 0
    halved_believed: int = 0
    halved: int = 0


def replayed(held, gone, gap, figures=None) -> Figures:
    """Put cycles through the guard, which knows at each sync what came before."""
    figures, guard = figures or Figures(), DeleteGuard()
    step = max(1, held.size // JUDGED)
    for i in range(held.size):
        if i >= 50 and i % step:
            continue
        guard.fit(held[:i], gone[:i], gap[:i])
        n, d = int(held[i]), int(gone[i])
        figures.syncs += 1
        figures.held += not guard.judge(n, d, gap[i]).credible
        if n >= 10:
            figures.emptied_believed += guard.judge(n, n, gap[i]).credible
        if n >= 20:
            figures.halved += 1
            half = d + (n - d + 1) // 2
            figures.halved_believed += guard.judge(n, half, gap[i]).credible
    return figures


@pytest.mark.parametrize("name", NAMES)
def test_what_a_real_source_did_is_believed_and_what_breaks_it_is_held(name):
    if not (REAL / name).exists():
        pytest.skip("the recorded histories of real sources are not here")
    found = replayed(*Register.of(load_parquet(REAL / name, name)).cycles())
    print(f"{name}: {found}")  # noqa: T201  (figures for whoever runs it with -s)
    assert found.held <= 0.01 * found.syncs
    assert found.emptied_believed == 0
    assert found.halved_believed == 0


def sites():
    """Yield when the pages of each site came and went, in days."""
    table = parquet.read_table(SITES, columns=["site", "created_at", "deleted_at"])
    site = table["site"].dictionary_encode().combine_chunks().indices.to_numpy()
    born = np.array(table["created_at"].to_pylist(), dtype=float) / 86400
    died = np.array(table["deleted_at"].to_pylist(), dtype=float) / 86400
    for number in range(site.max() + 1):
        mine = (site == number) & np.isfinite(born)
        yield born[mine], np.nan_to_num(died[mine], nan=np.inf)


@pytest.mark.parametrize(("days", "limit"), [(7, 0.01), (30, 0.03)])
def test_pages_of_web_sites_are_believed_too(days, limit):
    if not SITES.exists():
        pytest.skip("the recorded histories of real sites are not here")
    found = Figures()
    for born, died in sites():
        end = max(born.max(), died[np.isfinite(died)].max(initial=0.0))
        looks = np.arange(end - 1095.0, end, days)
        there = (born <= looks[:, None]) & (died > looks[:, None])
        held = there[:-1].sum(axis=1)
        gone = (there[:-1] & ~there[1:]).sum(axis=1)
        some = held > 0
        gaps = np.full(held.size, float(days))
        replayed(held[some], gone[some], gaps[some], found)
    print(f"every {days} days: {found}")  # noqa: T201
    assert found.held <= limit * found.syncs
    assert found.emptied_believed == 0
    assert found.halved_believed <= 0.005 * found.halved
