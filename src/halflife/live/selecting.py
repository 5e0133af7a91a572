"""Which databases to ask, by the summaries that are kept of them."""

from collections.abc import Sequence

import numpy as np

from halflife.config import SourceConfig
from halflife.errors import UsageError
from halflife.models.drift import WeibullSurvival, features, paper
from halflife.models.drift_tables import SIZE
from halflife.selection.choice import Belief, Ranking, select
from halflife.selection.lexicon import Cori, LanguageModel, Scorer, bgloss
from halflife.selection.sampled import Crcs, Redde
from halflife.selection.samples import SampleIndex
from halflife.selection.table import Table
from halflife.sources.addresses import parse_url
from halflife.stores import Store, summaries
from halflife.stores.summaries import Kept

METHODS = ("cori", "bgloss", "lm", "redde", "crcs")
CHANGED = 0.5  # the divergence from which a summary counts as out of date


def check_method(method: str) -> None:
    """Raise ``UsageError`` unless this is a method of selection."""
    if method not in METHODS:
        raise UsageError(
            f"--method must be one of {', '.join(METHODS)}, got {method!r}"
        )


def rank(
    kept: Sequence[Kept],
    sources: Sequence[SourceConfig],
    query: str,
    now: float,
    *,
    method: str = "cori",
    most: int | None = None,
) -> Ranking:
    """Return the databases that promise most for a query, best first.

    ``kept`` are their summaries, ``sources`` where they are.
    """
    check_method(method)
    scorer = _scorer(method, kept)
    names = [one.source for one in kept]
    table = Table.of(names, [one.summary for one in kept])
    return select(table, query, scorer, most=most, belief=belief(kept, sources, now))


def known(
    store: Store, sources: Sequence[SourceConfig]
) -> tuple[list[Kept], list[SourceConfig]]:
    """Return the summaries in use, and the databases that have none."""
    found = [(source, summaries.current(store, source.name)) for source in sources]
    kept = [one for _, one in found if one is not None]
    return kept, [source for source, one in found if one is None]


def _scorer(method: str, kept: Sequence[Kept]) -> Scorer:
    if method == "bgloss":
        return bgloss
    if method in {"redde", "crcs"}:
        size = {one.source: one.summary.size for one in kept}
        index = SampleIndex.of(size, {one.source: one.documents for one in kept})
        return Redde(index) if method == "redde" else Crcs(index)
    return Cori() if method == "cori" else LanguageModel()


def belief(kept: Sequence[Kept], sources: Sequence[SourceConfig], now: float) -> Belief:
    """Return how fresh summaries are believed to be.

    By the published model that goes by the domain and the number of documents;
    Ipeirotis et al., TODS 2007, Tables IV and V. A summary is out of date when the
    divergence of the true one from it exceeds ``CHANGED``.
    """
    age = np.array([max(now - one.at, 0.0) for one in kept])
    where = {source.name: domain(source) for source in sources}
    alive = [
        _survival(one, where.get(one.source, "misc")).alive(np.array([days]))[0]
        for one, days in zip(kept, age.tolist(), strict=True)
    ]
    return Belief(age, np.array(alive))


def survival(kept: Kept, source: SourceConfig) -> WeibullSurvival:
    """Return how long a summary holds, by the same model."""
    return _survival(kept, domain(source))


def _survival(kept: Kept, where: str) -> WeibullSurvival:
    model = paper("QBS" if kept.method == "qbs" else "FPS", SIZE)
    x = features(max(kept.summary.size, 1.0), 0.0, CHANGED, SIZE)
    return model.survival([where], x)


def domain(source: SourceConfig) -> str:
    """Return the kind of site that a database belongs to, by the end of its name."""
    host = parse_url(source.addresses[-1]).host or ""
    ending = host.rpartition(".")[2]
    return ending if ending in {"com", "edu", "gov", "org"} else "misc"
