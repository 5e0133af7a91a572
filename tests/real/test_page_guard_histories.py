"""The page guard on the recorded texts of real sites, week by week."""

from dataclasses import astuple, dataclass

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from pyarrow import parquet

from halflife.models.page_guard import (
    MANY,
    UNSURE,
    AnswerVerdict,
    SiteEvidence,
    Sketch,
    WaitingAnswer,
    doubt,
    doubt_unsure,
    is_outage,
    judge_unsure,
    judge_waiting,
)
from objects_folder import REAL

pytestmark = pytest.mark.real
TEXTS = REAL.parent / "sites" / "docs_weekly.parquet"
WEEKS = 60


@dataclass
class Figures:
    """What the guard made of changes that were true, and of outages that were not."""

    weeks: int = 0
    changes: int = 0
    put_off: int = 0
    held: int = 0
    held_weeks: int = 0
    outages: int = 0
    noticed: int = 0
    lost: int = 0


def histories():
    """Yield the pages of each site: for each week the sketch of each text there."""
    table = parquet.read_table(TEXTS).to_pydict()
    sites: dict[str, dict[int, dict[str, Sketch]]] = {}
    rows = zip(*(table[n] for n in COLUMNS), strict=True)
    for site, page, first, last, tokens, terms in rows:
        text = Sketch(str(hash(tuple(terms))), 6 * tokens, words=frozenset(terms))
        for week in range(first, last + 1):
            sites.setdefault(site, {}).setdefault(week, {})[page] = text
    yield from sites.values()


COLUMNS = ("site", "page", "week_from", "week_to", "n_tokens", "terms")


def judged(before, after):
    """Return how many changes of a week's full sync are put off, held, and lost.

    All pages are fetched, in a fixed order; every page that is not doubted is a
    witness for those that are.
    """
    seen, put_off, unsure, held, passed = [], [], [], 0, []
    for page in sorted(before.keys() & after.keys()):
        was, now = before[page], after[page]
        if was.shape == now.shape:
            continue
        seen.append((was.shape, now.shape))
        found = doubt(was, now) or doubt_unsure(was, now)
        if is_outage(now.shape, seen) or (
            found and found.verdict is AnswerVerdict.HOLD
        ):
            held += 1
        elif found:
            (unsure if found.why == UNSURE else put_off).append(now.shape)
        else:
            passed.append(page)
    aside = len(put_off) + len(unsure)
    outages = {shape for shape in {*put_off, *unsure} if is_outage(shape, seen)}
    late = sum(shape in outages for shape in put_off)
    waiting = [shape for shape in put_off if shape not in outages]
    well = len(before.keys() & after.keys()) - aside - held
    left = settled_unsure(unsure, dict.fromkeys(outages, held + late), well)
    passed += [shape for shape in unsure if shape not in left]
    well += len(unsure) - len(left)
    late += len(left)
    waiting = [WaitingAnswer(shape, 0.0, 1) for shape in waiting]
    if waiting and judge_waiting(waiting, well, well) is AnswerVerdict.HOLD:
        late += len(waiting)
    return len(seen), aside, held + late, passed


def settled_unsure(unsure, held, well):
    """Return the shapes of the answers that stay put off when the sync ends."""
    left = []
    for shape in set(unsure):
        same = [WaitingAnswer(shape, 0.0, 1)] * unsure.count(shape)
        around = well + len(unsure) - len(same)
        site = SiteEvidence(held.get(shape, 0), 0, around, around)
        if judge_unsure(same, site) in {AnswerVerdict.WAIT, AnswerVerdict.HOLD}:
            left += [shape] * len(same)
    return left


def replayed(figures, weeks, rng):
    for week in range(1, WEEKS):
        before, after = weeks.get(week - 1, {}), weeks.get(week, {})
        changes, put_off, held, _ = judged(before, after)
        figures.weeks += 1
        figures.changes += changes
        figures.put_off += put_off
        figures.held += held
        figures.held_weeks += held > 0
    week = int(rng.integers(0, WEEKS))
    before = {page: text for page, text in weeks.get(week, {}).items() if text.length}
    if len({text.shape for text in before.values()}) >= MANY:
        note = Sketch("outage", 120, words=frozenset({-1, -2, -3}))
        changes, _, held, passed = judged(before, dict.fromkeys(before, note))
        figures.outages += 1
        figures.noticed += held > 0
        figures.lost += len(passed)
        assert held + len(passed) == changes


@pytest.mark.timeout(600)  # 10 s of computing; many may share the machine
@pytest.mark.skipif(not TEXTS.exists(), reason="no recorded texts here")
def test_few_true_changes_are_held_and_every_outage_is_noticed():
    halves, rng = (Figures(), Figures()), np.random.default_rng(0)
    for n, weeks in enumerate(histories()):
        replayed(halves[n % 2], weeks, rng)
    sums = (a + b for a, b in zip(*map(astuple, halves), strict=True))
    figures = Figures(*sums)
    # What the docs tell, of all sites and of either half.
    print(figures, *halves, sep="\n")  # noqa: T201
    assert figures.changes > 30_000
    assert figures.held <= 0.002 * figures.changes
    assert figures.held_weeks <= 0.003 * figures.weeks
    assert figures.put_off <= 0.03 * figures.changes
    assert figures.outages > 60
    assert figures.noticed == figures.outages
    assert figures.lost == 0
