"""Selection of databases for a query by their summaries, and how long these hold."""

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
from halflife.selection.lexicon import CoriScorer, LanguageModel, Scorer, bgloss
from halflife.selection.sample_scores import CrcsScorer, ReddeScorer
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.stores import Store, summaries, summary_counts, summary_lifetimes
from halflife.stores.summaries import StoredSummary
from halflife.stores.summary_lifetimes import Life
from halflife.summary.count_check import FEW, WORDS
from halflife.summary.lifetime import SummaryOutcome, posterior
from halflife.summary.split_test import excess

METHODS = ("cori", "bgloss", "lm", "redde", "crcs")
CHANGED = TAU  # the divergence from which a summary counts as out of date
ALARMS, FOUND = 0.05, 0.95  # share of failed checks: if a summary holds, and if not
TEXTS = frozenset({"elasticsearch", "solr", "meilisearch"})  # answers with full texts


def check_method(method: str) -> None:
    """Raise ``UsageError`` unless this is a method of selection."""
    if method not in METHODS:
        raise UsageError(
            f"--method must be one of {', '.join(METHODS)}, got {method!r}"
        )


def rank(  # noqa: PLR0913  (the inputs of a choice)
    kept: Sequence[StoredSummary],
    sources: Sequence[SearchConfig],
    query: str,
    now: float,
    *,
    method: str = "cori",
    most: int | None = None,
    store: Store | None = None,
) -> Ranking:
    """Return the most promising databases for a query, best first.

    ``kept`` are their summaries, ``sources`` their settings; ``store`` has the
    lifetimes of earlier summaries.
    """
    check_method(method)
    scorer = _scorer(method, kept)
    names = [summary.source for summary in kept]
    table = FrequencyTable.of(names, [summary.summary for summary in kept])
    fresh = belief(kept, sources, now, store)
    return select(table, query, scorer, most=most, belief=fresh)


def stored_summaries(
    store: Store, sources: Sequence[SearchConfig]
) -> tuple[list[StoredSummary], list[SearchConfig]]:
    """Return the summaries in use, and the databases that have none."""
    current = [(source, summaries.current(store, source.name)) for source in sources]
    kept = [summary for _, summary in current if summary is not None]
    return kept, [source for source, summary in current if summary is None]


def _scorer(method: str, kept: Sequence[StoredSummary]) -> Scorer:
    if method == "bgloss":
        return bgloss
    if method in {"redde", "crcs"}:
        size = {summary.source: summary.summary.size for summary in kept}
        index = SampleIndex.of(
            size, {summary.source: summary.documents for summary in kept}
        )
        return ReddeScorer(index) if method == "redde" else CrcsScorer(index)
    return CoriScorer() if method == "cori" else LanguageModel()


def belief(
    kept: Sequence[StoredSummary],
    sources: Sequence[SearchConfig],
    now: float,
    store: Store | None = None,
) -> SummaryFreshness:
    """Return the estimated freshness of summaries.

    It combines the published model by domain and number of documents (Ipeirotis et
    al., TODS 2007, Tables IV and V) with the lifetimes observed at each database. A
    summary is out of date when the divergence of the true one from it exceeds ``tau``,
    a setting of the source.
    """
    age = np.array([max(now - summary.at, 0.0) for summary in kept])
    where = {source.name: source for source in sources}
    alive = [
        holding(summary, where.get(summary.source), store).alive(np.array([days]))[0]
        for summary, days in zip(kept, age.tolist(), strict=True)
    ]
    return SummaryFreshness(age, np.array(alive))


class Holding(NamedTuple):
    """How long a summary holds, from the last time that it was found to hold.

    Attributes:
        survival: How long a summary of this database holds.
        held: The age at which it was last found to hold, in days.
        doubted: Whether it failed a check since.

    """

    survival: WeibullSurvival
    held: float = 0.0
    doubted: bool = False

    def alive(self, age: Floats) -> Floats:
        """Return the chance that it holds at an age: S(age) / S(held).

        If it failed a check, that is p ALARMS / (p ALARMS + (1 - p) FOUND).
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
    """Return how long the summary in use holds, by the model and the evidence."""
    if store is None:
        return Holding(_survival(kept, source))
    observed = life(store, kept)
    model = _posterior(kept, source, store)
    return Holding(model, observed.held, observed.is_doubted)


def survival(
    kept: StoredSummary, source: SearchConfig, store: Store | None = None
) -> WeibullSurvival:
    """Return how long a summary holds from when it is made.

    That is the published model; with a store, updated by the lifetimes of the
    database's own summaries (``summary.lifetime``).
    """
    return _survival(kept, source) if store is None else _posterior(kept, source, store)


def _posterior(
    kept: StoredSummary, source: SearchConfig | None, store: Store
) -> WeibullSurvival:
    lives = summary_lifetimes.lives(store, kept.source)
    outcomes = [SummaryOutcome(life.held, life.failed) for life in lives]
    return posterior(_survival(kept, source), outcomes)


def life(store: Store, kept: StoredSummary) -> Life:
    """Return the observed life of the summary in use."""
    return summary_lifetimes.life(store, kept.source, kept.version, kept.at)


def last_checked(store: Store, kept: StoredSummary) -> float:
    """Return when the database was last summarised or checked."""
    lives = summary_lifetimes.lives(store, kept.source)
    return max([kept.at, *(life.looked for life in lives)])


def still_holds(
    old: StoredSummary, new: StoredSummary, tau: float = CHANGED
) -> bool | None:
    """Say whether a summary still held when another was made; None if unknown.

    It did if the new one is no farther from it than ``tau``, less the difference of two
    samples of one database.
    """
    differs = divergence(old, new)
    return None if differs is None else differs <= tau


def divergence(old: StoredSummary, new: StoredSummary) -> float | None:
    """Return the divergence of a summary from the one before, beyond chance."""
    number = zlib.crc32(new.source.encode())
    rng = np.random.default_rng([new.version, number])
    differs = excess(old.documents, new.documents, rng)
    return None if differs is None else differs.excess


def is_glimpsed(kept: StoredSummary) -> bool:
    """Say whether a summary was made of snippets."""
    return bool(kept.documents) and not any(
        document.whole for document in kept.documents
    )


def check_requests(source: SearchConfig, kept: StoredSummary) -> int:
    """Return the requests of a check; more if each document costs one."""
    given = is_glimpsed(kept) or source.hit_text or source.engine in TEXTS
    return recheck.MOST if given else recheck.DEAR


# Requests granted to checks by match counts: robots.txt may be needed first.
COUNT_REQUESTS = WORDS + 1  # of a rule that decides by five words
COUNTS_ALONE = FEW + 1  # without documents


def is_cheap(source: SearchConfig, kept: StoredSummary) -> bool:
    """Say whether a summary costs no more requests than a check by documents."""
    return check_requests(source, kept) >= kept.requests


def next_requests(store: Store, source: SearchConfig, kept: StoredSummary) -> int:
    """Return the requests of the next check or renewal.

    A summary is renewed if it failed a check, and if it was found by topics, which a
    check by words does not cover. A cheap one is checked by match counts alone, where
    these are known and cost fewer requests.
    """
    if kept.method != "qbs" or life(store, kept).is_doubted:
        return kept.requests
    if not is_cheap(source, kept):
        return check_requests(source, kept)
    has_counts = summary_counts.counts(store, kept.source, kept.version) is not None
    return min(COUNTS_ALONE, kept.requests) if has_counts else kept.requests


def cost_in_renewals(
    alive: Floats, source: SearchConfig, kept: StoredSummary
) -> Floats:
    """Return the cost of a check in renewals, by the chance that the summary holds.

    That is a check, and a renewal as often as the check is failed.
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
    """Return the type of site of a database, by the end of its host name."""
    host = parse_url(source.addresses[-1]).host or ""
    ending = host.rpartition(".")[2]
    return ending if ending in {"com", "edu", "gov", "org"} else "misc"
