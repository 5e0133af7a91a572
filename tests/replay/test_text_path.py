"""A replay of rules for summaries renews what the service renews, in the same order."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from halflife.bench.textreplay import TextTerms, TextWorld, _Crawler
from halflife.config import Config
from halflife.core.search import Document
from halflife.engine.appraisal import Appraiser
from halflife.engine.service import ServiceRhythm
from halflife.kinds.search import rules
from halflife.kinds.search.dictionary import COMMON
from halflife.kinds.search.recorded_source import RecordedSearch
from halflife.policies.texts.experience import Experience
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.live import WEEK
from halflife.policies.texts.names import RULES
from halflife.replay.play import Play, play_recorded
from halflife.stores import summaries, summary_drift
from halflife.stores.memory import MemoryStore
from halflife.stores.summaries import StoredSummary
from halflife.stores.summary_drift import Refresh
from halflife.summary import Summary
from halflife.summary.weekly import Weekly
from text_worlds import drift_of

BEGAN, WEEKS, TAU = 20_000.0, 11, 0.05
NAMES = ("a", "b", "c", "d", "e")
PAGES = np.array([14, 30, 18, 26, 22])
FIRST_DRIFT = np.array([0.03, 0.002, 0.012, 0.006, 0.02])  # of a first week
AGES = np.array([15, 19, 17, 16, 18])  # weeks at the start: more is due than is paid
ONE = 30  # requests: a summary takes as many, and so much comes in a week
DAILY = ServiceRhythm(*(86400.0,) * 5)
# Of the others there is no order to compare: samples are drawn by lot, and a rule
# without a budget renews all that it likes in one week.
COMPARED = sorted(
    name
    for name, rule in RULES.items()
    if rule.due is not None and rule.bounded and not rule.due.samples
)
ORDERED = [name for name in COMPARED if not RULES[name].by_counts]
CHECKING = [name for name in COMPARED if RULES[name].by_counts]


def recorded(policy):
    """Return databases behind search boxes; each week some documents are replaced."""
    rng = np.random.default_rng(1)
    page, begin, end, terms, first = [], [], [], [], [0]
    for pages in PAGES.tolist():
        for number in range(pages):
            ends = np.flatnonzero(rng.random(WEEKS - 1) < 0.2).tolist()
            for low, high in zip([-1, *ends], [*ends, WEEKS - 1], strict=True):
                page.append(f"{number}")
                begin.append(low + 1)
                end.append(high)
                terms.append(np.sort(rng.choice(len(COMMON), 80, replace=False)))
        first.append(len(page))
    n = len(NAMES)
    weekly = Weekly(
        NAMES, ("misc",) * n, np.full(n, BEGAN), np.array(COMMON, object), WEEKS, 0,
        np.array(first), np.array(page, object), np.array(begin), np.array(end),
        np.cumsum([0, *(t.size for t in terms)]).astype(np.intp),
        np.concatenate(terms).astype(np.int32),
    )  # fmt: skip
    return [RecordedSearch(n, weekly, n, TAU, policy=policy) for n in NAMES]


def old_summary(i):
    """Return a summary of the age that a database's has at the start."""
    words = sorted(COMMON[:100])
    documents = tuple(Document(str(d), tuple(words[d::8])) for d in range(8))
    size = float(PAGES[i])
    return StoredSummary(
        source=NAMES[i], at=BEGAN - WEEK * AGES[i], method="qbs", ending="", whole=True,
        summary=Summary.of(dict.fromkeys(words, 1), size, 8), low=size, high=size,
        sized="", told="", requests=ONE, documents=documents,
    )  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """What the service did: who was renewed in which week, and what that showed."""

    known: rules.Databases
    renewed: list[tuple[int, int]]
    drift: dict[tuple[int, int], float]


def keep(policy, path):
    """Let the service keep the databases by a rule for some weeks."""
    sources = recorded(policy)
    lines = [f'[budget]\nrequests = {ONE}\nper = "week"\n[fetch]\ndelay = 0.0']
    for one in sources:
        lines.append(f'[[source]]\nname = "{one.name}"\nrobots = false')
        lines.append(one.settings(f"http://{one.name}.invalid"))
    path.write_text("\n".join(lines) + "\n")
    config, store = Config.load(path), MemoryStore()
    for i, name in enumerate(NAMES):
        summaries.save(store, old_summary(i))
        summary_drift.note_refresh(store, name, Refresh(1, WEEK, FIRST_DRIFT[i]))
    reading = Appraiser(config, store, BEGAN).reading
    used = [summaries.current(store, name) for name in NAMES]
    known = rules.databases(reading, config.source, used)
    world = {f"http://{one.name}.invalid": one.answer for one in sources}
    sent = play_recorded(
        config, store, world, Play(BEGAN, WEEK * (WEEKS - 0.5) - 0.1, rhythm=DAILY)
    )
    order = [(_week(s.at), NAMES.index(str(s.url).split("/")[2][0])) for s in sent]
    return Kept(known, list(dict.fromkeys(order)), _shown(store))


def _week(at):
    """Return the nearest week: a service renews on the day on which one is due."""
    return round((at - BEGAN) / WEEK)


def _shown(store):
    """Return what each refresh showed, by database and week."""
    found = {}
    for i, name in enumerate(NAMES):
        at = BEGAN - WEEK * AGES[i]
        for one in summary_drift.refreshes(store, name)[1:]:
            at += one.gap
            found[i, _week(at)] = one.kl
    return found


def replayed(policy, kept):
    """Return who is renewed in which week on columns, where refreshes show the same."""
    oldest, n = int(AGES.max()), len(NAMES)
    weeks = oldest + WEEKS
    kl = np.zeros((n, weeks, weeks))
    kl[:, 0, 1] = FIRST_DRIFT  # what the history shows
    for (i, week), one in kept.drift.items():
        kl[i, :, oldest + week] = one
    found = []
    for i, name in enumerate(NAMES):
        one = drift_of(name, "misc", 0.0, weeks=weeks, size=float(PAGES[i]), power=1.0,
                       rng=None)  # fmt: skip
        found.append(replace(one, change=replace(one.change, kl=kl[i])))
    size = np.repeat(PAGES[:, None], weeks, axis=1)
    world = TextWorld(tuple(found), size, np.zeros(kl.shape, np.intp))
    lessons = Lessons(world.found, 2, TAU)
    every = kept.known.every
    rule = RULES[policy].prepare(Experience(kept.known))(every)
    crawler = _Crawler(world, lessons, TextTerms(every), np.random.default_rng(0))
    crawler.made = oldest - AGES
    order = []
    for week in range(1, WEEKS):
        before = crawler.made.copy()
        crawler.turn(rule, oldest + week)
        order += [(week, int(i)) for i in np.flatnonzero(crawler.made != before)]
    return order


@pytest.mark.parametrize("policy", ORDERED)
def test_a_replay_renews_the_summaries_that_the_service_renews(policy, tmp_path):
    """Where all is overdue at the start: who comes first, to the nearest week."""
    kept = keep(policy, tmp_path / "halflife.toml")
    assert len(kept.renewed) == WEEKS - 1
    assert {i for _, i in kept.renewed} == set(range(len(NAMES)))
    assert replayed(policy, kept) == kept.renewed


@pytest.mark.parametrize("policy", CHECKING)
def test_a_rule_with_checks_renews_the_same_summaries(policy, tmp_path):
    """A share of the requests goes into checks, so that a renewal may come later.

    The fourth and fifth are worth the same within a hundredth.
    """
    kept = keep(policy, tmp_path / "halflife.toml")
    renewed = [i for _, i in sorted((week, i) for i, week in kept.drift)]
    wanted, n = [i for _, i in replayed(policy, kept)], len(NAMES)
    assert WEEKS - 3 <= len(renewed) <= len(wanted)
    assert renewed[:3] == wanted[:3]
    assert set(renewed[:n]) == set(wanted[:n]) == set(range(n))
    assert renewed[n : n + 3] == wanted[n : n + 3]
