"""Focused probing: queries of topics, deeper where many documents match."""

from collections.abc import Mapping
from dataclasses import dataclass

from halflife.core.search import Searchable
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.rules import TopicProbes
from halflife.probing.sample import Ending, Sample, SampleCollector

COVERAGE = 10.0
SPECIFICITY = 0.25


@dataclass(frozen=True, slots=True)
class FocusedSample:
    """The result of focused probing.

    Attributes:
        sample: The documents and queries.
        topics: The deepest topics of the database; the root if none.
        coverage: Matches of the probes of each topic that was probed.
        specificity: Share of the database in each topic that was probed.
        counted: Whether all matches were reported; if not, those that were shown count.

    """

    sample: Sample
    topics: tuple[str, ...]
    coverage: Mapping[str, float]
    specificity: Mapping[str, float]
    counted: bool


def focused_sample(  # noqa: PLR0913  (the settings of the published method)
    db: Searchable,
    probes: TopicProbes,
    *,
    per_query: int = PER_QUERY,
    coverage: float = COVERAGE,
    specificity: float = SPECIFICITY,
    snippets: bool = False,
    shown: int | None = None,
    requests: int | None = None,
) -> FocusedSample:
    """Sample and classify a database with the probes of a topic hierarchy.

    Coverage of a topic is the sum of its probes' matches; its specificity is that of
    its parent times its share of the coverage of its siblings; the root's is 1. Topics
    in which both reach the thresholds are probed further. Ipeirotis and Gravano,
    "Distributed search over the hidden web", VLDB 2002, section 3.

    Args:
        db: The database.
        probes: The topics and their queries.
        per_query: New documents read of a query.
        coverage: Matches that a topic must have.
        specificity: Share of the database that must be in a topic.
        snippets: Whether documents with only a snippet count.
        shown: Matches requested of a query; ``per_query`` if None.
        requests: Requests that may be spent; None for any number.

    """
    most = max(per_query, shown or 0)
    collector = SampleCollector(
        db, most, per_query, requests=requests, snippets=snippets
    )
    descent = _Descent(collector, probes, coverage, specificity)
    topics = descent.below(probes.hierarchy.root)
    ending = Ending.DONE if collector.documents else Ending.SILENT
    sample = collector.ended(Ending.SPENT if descent.cut else ending)
    counted = all(a.total is not None for a in collector.queries)
    return FocusedSample(sample, topics, descent.coverage, descent.specificity, counted)


class _Descent:
    """A descent in the hierarchy."""

    def __init__(
        self,
        collector: SampleCollector,
        probes: TopicProbes,
        coverage: float,
        specificity: float,
    ) -> None:
        self.collector = collector
        self.probes = probes
        self.thresholds = coverage, specificity
        self.coverage: dict[str, float] = {}
        self.specificity = {probes.hierarchy.root: 1.0}
        self.matches: dict[str, int] = {}
        self.cut = False  # whether requests ran out

    def below(self, topic: str) -> tuple[str, ...]:
        """Return the deepest topics within a topic; itself if none passes."""
        children = self.probes.hierarchy.children(topic)
        for child in children:
            queries = self.probes.queries[child]
            self.coverage[child] = float(sum(self._count(q) for q in queries))
        whole = sum(self.coverage[c] for c in children)
        for child in children:
            share = self.coverage[child] / whole if whole else 0.0
            self.specificity[child] = self.specificity[topic] * share
        deeper = [t for c in children if self._passes(c) for t in self.below(c)]
        return tuple(deeper) or (topic,)

    def _passes(self, topic: str) -> bool:
        least, share = self.thresholds
        return self.coverage[topic] >= least and self.specificity[topic] >= share

    def _count(self, query: str) -> int:
        """Return how many documents match; a query is sent only once."""
        if query not in self.matches and (
            self.collector.spent or self.collector.ignored
        ):
            self.cut = True
            return 0
        if query not in self.matches:
            place = len(self.collector.queries)
            self.collector.ask(query)
            last = self.collector.queries[place]
            total = len(last.keys) if last.total is None else last.total
            self.matches[query] = total
        return self.matches[query]
