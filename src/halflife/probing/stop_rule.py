"""A stop rule: a sample is large enough if it predicts documents it has not counted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, nan

from halflife.core.search import Document

EVEN = 0.2  # share of the probability that is spread evenly over all words


def predictive_likelihood(
    counts: Mapping[str, int], documents: Iterable[Document], vocabulary: int
) -> float:
    """Return the mean log-likelihood of a word of the documents, in nats.

    The mean of log(0.8 df(w) / sum df + 0.2 / V) over their words, where V is the
    number of different words; NaN if there are none.
    """
    scale = (1.0 - EVEN) / max(sum(counts.values()), 1)
    floor = EVEN / max(vocabulary, 1)
    words = [w for document in documents for w in document.words]
    total = sum(log(scale * counts.get(w, 0) + floor) for w in words)
    return total / len(words) if words else nan


class StopRule:
    """Stops when the summary's prediction of new documents no longer improves.

    One document in ``every`` is held out. After each ``window`` further documents,
    the held-out ones are scored under the summary now and under the one a window ago;
    sampling stops when the gain is below ``gain`` nats a word in ``patience`` windows
    running. After Baillie, Azzopardi and Crestani, "Adaptive query-based sampling
    of distributed collections", SPIRE 2006, who score users' queries instead.

    Use one rule for one sample.
    """

    def __init__(
        self,
        *,
        window: int = 20,
        gain: float = 0.01,
        patience: int = 2,
        every: int = 5,
    ) -> None:
        self.window = window
        self.gain = gain
        self.patience = patience
        self.every = every
        self.gains: list[float] = []
        self._counts: Counter[str] = Counter()
        self._before: Counter[str] = Counter()
        self._held: list[Document] = []
        self._words: set[str] = set()
        self._seen = 0

    def should_stop(self, new: Sequence[Document]) -> bool:
        """Add new documents, and say whether to stop."""
        for document in new:
            self._take(document)
            if self._seen % self.window == 0:
                self._compare()
        recent = self.gains[-self.patience :]
        return len(recent) == self.patience and max(recent) < self.gain

    def _take(self, document: Document) -> None:
        self._seen += 1
        self._words.update(document.words)
        if self._seen % self.every:
            self._counts.update(document.words)
        else:
            self._held.append(document)

    def _compare(self) -> None:
        """Save the improvement of the prediction by the last window."""
        if self._before and self._held:
            now, before = (
                predictive_likelihood(c, self._held, len(self._words))
                for c in (self._counts, self._before)
            )
            self.gains.append(now - before)
        self._before = self._counts.copy()
