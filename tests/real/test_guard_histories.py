"""The delete guard on every recorded set source, sync by sync."""

from dataclasses import dataclass

import pytest

pytest.importorskip("pyarrow")

from halflife.models.guard import DeleteGuard
from halflife.sources.objects import load_parquet
from halflife.tracking import Register
from objects_folder import REAL

pytestmark = pytest.mark.real
NAMES = sorted(p.name for p in REAL.iterdir()) if REAL.exists() else ["none"]
JUDGED = 1500  # syncs a history, at most


@dataclass
class Figures:
    """How often the guard held what was true, and believed what was not."""

    syncs: int = 0
    held: int = 0
    emptied_believed: int = 0
    halved_believed: int = 0
    halved: int = 0


def replayed(collection) -> Figures:
    """Put a history through the guard, which knows at each sync what came before."""
    held, gone, gap = Register.of(collection).cycles()
    figures, guard = Figures(), DeleteGuard()
    step = max(1, held.size // JUDGED)
    for i in range(held.size):
        if i >= 50 and i % step:
            continue
        guard.fit(held[:i], gone[:i], gap[:i])
        n, d = int(held[i]), int(gone[i])
        figures.syncs += 1
        figures.held += not guard.judge(n, d, gap[i]).credible
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
    found = replayed(load_parquet(REAL / name, name))
    print(f"{name}: {found}")  # noqa: T201  (figures for whoever runs it with -s)
    assert found.held <= 0.01 * found.syncs
    assert found.emptied_believed == 0
    assert found.halved_believed == 0
