"""Which made-up answers of recorded set sources are taken for the source itself.

Only answers that the delete guard holds are counted: of others the question does not
arise.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from halflife.core.object_store import Register
from halflife.core.tracker import ShownObjects
from halflife.models.guard import DeleteGuard
from halflife.models.listing_identity import ListingIdentity
from halflife.recordings.objects import load_parquet
from objects_folder import REAL
from real.test_guard_histories import SITES, sites

pytestmark = pytest.mark.real
NAMES = sorted(p.name for p in REAL.iterdir()) if REAL.exists() else ["none"]
JUDGED = 30  # reads a history
AHEAD = (1.0, 3.0, 7.0)  # days from the copy to the answer
PAGE = 100  # objects on the first page of a list without its filter
HOURLY = {"pge_outages"}  # within a day everything is another


@dataclass
class Taken:
    """How many answers of a kind were held, and how many of these were taken."""

    held: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)

    def add(self, kind, taken):
        self.held[kind] = self.held.get(kind, 0) + 1
        self.taken[kind] = self.taken.get(kind, 0) + taken

    def share(self, kind):
        return self.taken.get(kind, 0) / max(self.held.get(kind, 0), 1)

    def __str__(self):
        return ", ".join(f"{k}: {self.taken[k]} of {n}" for k, n in self.held.items())


class History:
    """A recorded source, and what a copy knew at each read."""

    def __init__(self, name):
        self.collection = load_parquet(REAL / name, name)
        register = Register.of(self.collection)
        self.cycles, self.renewals = register.cycles(), register.renewals()
        self.looks, self.lives = self.collection.looks, self.collection.lives
        self.object = self.lives.object

    def rows(self, look):
        return np.flatnonzero(self.lives.present(float(self.looks[look])))

    def judge(self, i, j, copy, answer, *, other=False, k=None):
        """Return whether the guard holds an answer, and whether it is taken.

        With ``other`` all its values are others; ``k`` is the read that it repeats.
        """
        guard = DeleteGuard().fit(*(column[:i] for column in self.cycles))
        lists = ListingIdentity().fit(*(column[:i] for column in self.renewals))
        known = np.intersect1d(answer, copy)
        gap = float(self.looks[j] - self.looks[i])
        held = not guard.judge(copy.size, copy.size - known.size, gap).credible
        earlier = self.lives.last_seen < self.looks[i]
        gone = np.setdiff1d(self.object[earlier], self.object[copy])
        back = np.isin(self.object[np.setdiff1d(answer, copy)], gone).sum()
        n = self.changed(i, j, known) if k is None else self.changed(k, i, known)
        back += 0 if k is None else n  # it has the values of earlier versions
        n = known.size if other else n
        shown = ShownObjects(answer.size, known.size, n, int(back))
        is_news = answer.size > known.size or n > 0  # else nothing would be taken
        return held and is_news, lists.is_shown_by(shown, gap)

    def changed(self, i, j, known):
        when = self.collection.changed_at
        between = (when > self.looks[i]) & (when <= self.looks[j])
        return int(np.isin(known, self.collection.changed[between]).sum())


def made_up(history, i, j, rng):
    """Yield made-up answers at read ``j`` to a copy of read ``i``, by kind."""
    copy, now = history.rows(i), history.rows(j)
    for share in (0.25, 0.5, 0.75):
        part = rng.permutation(now)[: round(now.size * share)]
        yield "cut off", (copy, part), {}
    half = rng.permutation(now)[: now.size // 2]
    yield "another language", (copy, half), {"other": True}
    objects = rng.permutation(np.unique(history.object))
    ours = np.isin(history.object, objects[: objects.size // 2])
    mine = copy[ours[copy]]
    yield "without its filter", (mine, rng.permutation(now)[:PAGE]), {}
    yield "another filter", (mine, now[~ours[now]]), {}
    for days in (7.0, 30.0, 90.0):
        k = int(np.searchsorted(history.looks, history.looks[i] - days))
        yield "old", (copy, history.rows(k)), {"k": k}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_cut_off_is_taken_and_what_is_something_else_is_not(name):
    if not (REAL / name).exists():
        pytest.skip("the recorded histories of real sources are not here")
    history, found, rng = History(name), Taken(), np.random.default_rng(0)
    last = history.looks.size - 1
    for i in np.unique(np.linspace(0, last, JUDGED).astype(int)).tolist():
        for days in AHEAD:
            j = int(np.searchsorted(history.looks, history.looks[i] + days - 1e-6))
            if i < j <= last:
                for kind, (copy, answer), more in made_up(history, i, j, rng):
                    held, taken = history.judge(i, j, copy, answer, **more)
                    if held and copy.size >= 20:
                        found.add(kind, taken)
    print(f"{name}: {found}")  # noqa: T201  (figures for whoever runs it with -s)
    if name not in HOURLY:
        assert found.share("cut off") >= 0.9
    # Within a week nearly all numbers of the ranking change anyway.
    assert found.share("another language") <= (
        0.4 if name == "github_ranking" else 0.02
    )
    assert found.share("without its filter") <= 0.05
    assert found.share("another filter") == 0.0
    assert found.share("old") == 0.0


def test_pages_of_web_sites_are_told_from_others_too():
    if not SITES.exists():
        pytest.skip("the recorded histories of real sites are not here")
    found, rng = Taken(), np.random.default_rng(0)
    for born, died in sites():
        end = max(born.max(), died[np.isfinite(died)].max(initial=0.0))
        looks = np.arange(end - 1095.0, end, 7.0)
        there = (born <= looks[:, None]) & (died > looks[:, None])
        n, new = there[1:].sum(axis=1), (there[1:] & ~there[:-1]).sum(axis=1)
        lost, gap = (there[:-1] & ~there[1:]).sum(axis=1), np.full(n.size, 7.0)
        for i in np.linspace(10, n.size - 1, 12).astype(int).tolist():
            guard = DeleteGuard().fit(there[:i].sum(axis=1), lost[:i], gap[:i])
            some = n[:i] > 0
            columns = (n[:i], new[:i], np.zeros(i, int), gap[:i])
            lists = ListingIdentity().fit(*(column[some] for column in columns))
            now, ours = np.flatnonzero(there[i + 1]), rng.random(born.size) < 0.5
            for kind, copy, answer in [
                ("cut off", there[i], rng.permutation(now)[: now.size // 2]),
                ("without its filter", there[i] & ours, rng.permutation(now)[:PAGE]),
                ("another filter", there[i] & ours, now[~ours[now]]),
            ]:
                size, known = int(copy.sum()), int(copy[answer].sum())
                held = not guard.judge(size, size - known, 7.0).credible
                if held and size >= 20:
                    shown = ShownObjects(answer.size, known, 0)
                    found.add(kind, lists.is_shown_by(shown, 7.0))
    print(f"sites: {found}")  # noqa: T201
    assert found.share("cut off") >= 0.9
    assert found.share("without its filter") <= 0.05
    assert found.share("another filter") == 0.0
