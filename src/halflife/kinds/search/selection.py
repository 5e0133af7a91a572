"""Which databases to ask, by the summaries that are kept of them, and if these hold."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.kinds.search.settings import TAU, SearchConfig
from halflife.models.drift import WeibullSurvival, features, paper
from halflife.models.drift_tables import SIZE
from halflife.net.addresses import parse_url
from halflife.probing import recheck
from halflife.selection.choice import Ranking, SummaryFreshness, select
from halflife.selection.lexicon import Cori, LanguageModel, Scorer, bgloss
from halflife.selection.sample_scores import Crcs, Redde
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.stores import Store, summaries, summary_counts, summary_lifetimes
from halflife.stores.summaries import StoredSummary
from halflife.stores.summary_lifetimes import Life
from halflife.summary.count_check import FEW, WORDS
from halflife.summary.lifetime import SummaryOutcome, learned
from halflife.summary.split_test import excess

METHODS = ("cori", "bgloss", "lm", "redde", "crcs")
CHANGED = TAU  # the divergence from which a summary counts as out of date
ALARMS, FOUND = 0.05, 0.95  # checks not passed: of summaries that hold, and do not
TEXTS = frozenset({"elasticsearch", "solr", "meilisearch"})  # they tell it all


def check_method(method: str) -> None:
    """Raise ``UsageError`` unless this is a method of selection."""
    if method not in METHODS:
        raise UsageError(
            f"--method must be one of {', '.join(METHODS)}, got {method!r}"
        )


def rank(  # noqa: PLR0913  (what a choice goes by)
    kept: Sequence[StoredSummary],
    sources: Sequence[SearchConfig],
    query: str,
    now: float,
    *,
    method: str = "cori",
    most: int | None = None,
    store: Store | None = None,
) -> Ranking:
    """Return the databases that promise most for a query, best first.

    ``kept`` are their summaries, ``sources`` where they are; ``store`` has what looks
    have shown of them.
    """
    check_method(method)
    scorer = _scorer(method, kept)
    names = [one.source for one in kept]
    table = FrequencyTable.of(names, [one.summary for one in kept])
    fresh = belief(kept, sources, now, store)
    return select(table, query, scorer, most=most, belief=fresh)


def known(
    store: Store, sources: Sequence[SearchConfig]
) -> tuple[list[StoredSummary], list[SearchConfig]]:
    """Return the summaries in use, and the databases that have none."""
    found = [(source, summaries.current(store, source.name)) for source in sources]
    kept = [one for _, one in found if one is not None]
    return kept, [source for source, one in found if one is None]


def _scorer(method: str, kept: Sequence[StoredSummary]) -> Scorer:
    if method == "bgloss":
        return bgloss
    if method in {"redde", "crcs"}:
        size = {one.source: one.summary.size for one in kept}
        index = SampleIndex.of(size, {one.source: one.documents for one in kept})
        return Redde(index) if method == "redde" else Crcs(index)
    return Cori() if method == "cori" else LanguageModel()


def belief(
    kept: Sequence[StoredSummary],
    sources: Sequence[SearchConfig],
    now: float,
    store: Store | None = None,
) -> SummaryFreshness:
    """Return how fresh summaries are believed to be.

    By the published model that goes by the domain and the number of documents
    (Ipeirotis et al., TODS 2007, Tables IV and V), and by what looks at each database
    have shown so far. A summary is out of date when the divergence of the true one
    from it exceeds ``tau``, a setting of the source.
    """
    age = np.array([max(now - one.at, 0.0) for one in kept])
    where = {source.name: source for source in sources}
    alive = [
        holding(one, where.get(one.source), store).alive(np.array([days]))[0]
        for one, days in zip(kept, age.tolist(), strict=True)
    ]
    return SummaryFreshness(age, np.array(alive))


class Holding(NamedTuple):
    """How long a summary holds, from the last look that found it to hold.

    Attributes:
        survival: How long one of this database holds.
        held: The age at which it was last found to hold, in days.
        doubted: Whether it did not pass a check since.

    """

    survival: WeibullSurvival
    held: float = 0.0
    doubted: bool = False

    def alive(self, age: Floats) -> Floats:
        """Return the chance that it holds at an age: S(age) / S(held).

        If it did not pass a check, that is p ALARMS / (p ALARMS + (1 - p) FOUND).
        """
        ages = np.asarray(age, np.float64)
        before = float(self.survival.alive(np.array([self.held]))[0])
        later = np.array([self.survival.alive(np.array([t]))[0] for t in ages])
        chance = np.minimum(later / max(before, 1e-300), 1.0)
        if not self.doubted:
            return chance
        wrong = chance * ALARMS
        return np.asarray(wrong / (wrong + (1.0 - chance) * FOUND + 1e-300))


def holding(
    kept: StoredSummary, source: SearchConfig | None, store: Store | None = None
) -> Holding:
    """Return how long the summary in use holds, by the model and by all looks."""
    if store is None:
        return Holding(_survival(kept, source))
    mine = life(store, kept)
    found = _learned(kept, source, store)
    return Holding(found, mine.held, mine.is_doubted)


def survival(
    kept: StoredSummary, source: SearchConfig, store: Store | None = None
) -> WeibullSurvival:
    """Return how long a summary holds from when it is made.

    That is the published model, and with a store what its own summaries have taught
    beside it (``summary.lasting``).
    """
    return _survival(kept, source) if store is None else _learned(kept, source, store)


def _learned(
    kept: StoredSummary, source: SearchConfig | None, store: Store
) -> WeibullSurvival:
    known = summary_lifetimes.lives(store, kept.source)
    return learned(
        _survival(kept, source), [SummaryOutcome(one.held, one.failed) for one in known]
    )


def life(store: Store, kept: StoredSummary) -> Life:
    """Return what looks have shown of the summary in use."""
    return summary_lifetimes.life(store, kept.source, kept.version, kept.at)


def looked(store: Store, kept: StoredSummary) -> float:
    """Return when the database was last looked at: summarised or checked."""
    known = summary_lifetimes.lives(store, kept.source)
    return max([kept.at, *(one.looked for one in known)])


def held(old: StoredSummary, new: StoredSummary, tau: float = CHANGED) -> bool | None:
    """Say whether a summary still held when another was made; None if unknown.

    It did if the new one is no farther from it than ``tau``, less what two samples
    of one database differ by.
    """
    differs = divergence(old, new)
    return None if differs is None else differs <= tau


def divergence(old: StoredSummary, new: StoredSummary) -> float | None:
    """Return how far a summary is from the one before, beyond chance; or None."""
    number = zlib.crc32(new.source.encode())
    rng = np.random.default_rng([new.version, number])
    differs = excess(old.documents, new.documents, rng)
    return None if differs is None else differs.excess


def is_glimpsed(kept: StoredSummary) -> bool:
    """Say whether a summary was made of snippets."""
    return bool(kept.documents) and not any(one.whole for one in kept.documents)


def check_requests(source: SearchConfig, kept: StoredSummary) -> int:
    """Return the requests of a check; more if each document takes one of its own."""
    given = is_glimpsed(kept) or source.hit_text or source.engine in TEXTS
    return recheck.MOST if given else recheck.DEAR


# Requests that checks by match counts are granted: robots.txt may be asked for first.
COUNT_REQUESTS = WORDS + 1  # of a rule that decides by five words
COUNTS_ALONE = FEW + 1  # where no document is looked at


def is_cheap(source: SearchConfig, kept: StoredSummary) -> bool:
    """Say whether a summary takes no more requests than a check by documents."""
    return check_requests(source, kept) >= kept.requests


def look_requests(store: Store, source: SearchConfig, kept: StoredSummary) -> int:
    """Return the requests of the next look: of a check, or of a new summary.

    It is made anew if it did not pass a check, and if it was found by topics, which a
    check by words does not find. A cheap one is checked by match counts alone, where
    these are known and take fewer requests.
    """
    if kept.method != "qbs" or life(store, kept).is_doubted:
        return kept.requests
    if not is_cheap(source, kept):
        return check_requests(source, kept)
    known = summary_counts.counts(store, kept.source, kept.version) is not None
    return min(COUNTS_ALONE, kept.requests) if known else kept.requests


def deal(alive: Floats, source: SearchConfig, kept: StoredSummary) -> Floats:
    """Return what a look takes, in renewals, where a summary holds with this chance.

    That is a check, and a renewal as often as the check is not passed.
    """
    if kept.method != "qbs" or is_cheap(source, kept):
        return np.ones_like(alive)
    check = check_requests(source, kept)
    return np.asarray(check / kept.requests + (1.0 - alive) * FOUND + alive * ALARMS)


def _survival(kept: StoredSummary, source: SearchConfig | None) -> WeibullSurvival:
    where, tau = ("misc", TAU) if source is None else (domain(source), source.tau)
    model = paper("QBS" if kept.method == "qbs" else "FPS", SIZE)
    x = features(max(kept.summary.size, 1.0), 0.0, tau, SIZE)
    return model.survival([where], x)


def domain(source: SearchConfig) -> str:
    """Return the kind of site that a database belongs to, by the end of its name."""
    host = parse_url(source.addresses[-1]).host or ""
    ending = host.rpartition(".")[2]
    return ending if ending in {"com", "edu", "gov", "org"} else "misc"
