"""A linear classifier of documents by their words."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import NotFitted, UsageError


def incidence(documents: Iterable[Iterable[str]], words: Sequence[str]) -> Any:  # noqa: ANN401  (a scipy.sparse matrix)
    """Return which document (row) has which word (column), as a sparse matrix."""
    from scipy import sparse  # noqa: PLC0415  (slow)

    place = {word: j for j, word in enumerate(words)}
    column: list[int] = []
    start = [0]
    for document in documents:
        column += sorted({place[w] for w in document if w in place})
        start.append(len(column))
    shape = (len(start) - 1, len(words))
    return sparse.csr_matrix((np.ones(len(column)), column, start), shape=shape)


def softmax_loss(
    weight: Floats,
    rows: Any,  # noqa: ANN401  (a scipy.sparse matrix)
    label: Ints,
    ridge: float,
) -> tuple[float, Floats]:
    """Return the penalised negative log-likelihood and its gradient.

    -sum log p(label | row) + ridge/2 |weight|^2 with p = softmax(rows @ weight); the
    last row of ``weight`` belongs to the constant and is not penalised.
    """
    score = rows @ weight
    score -= score.max(1, keepdims=True)
    chance = np.exp(score)
    chance /= chance.sum(1, keepdims=True)
    at = np.arange(label.size), label
    free = weight.copy()
    free[-1] = 0.0
    loss = -np.log(np.maximum(chance[at], 1e-300)).sum() + 0.5 * ridge * (free**2).sum()
    chance[at] -= 1.0
    return float(loss), np.asarray(rows.T @ chance) + ridge * free


class LinearClassifier:
    """Multinomial logistic regression with an L2 penalty, on binary words.

    p(c | d) = softmax(b_c + sum(v_cw, w in d) / sqrt(|d|)), by L-BFGS.

    >>> model = LinearClassifier().fit([["a", "x"], ["b", "x"]] * 3, ["p", "q"] * 3)
    >>> model.predict([["a"], ["b", "x", "y"]])
    ('p', 'q')

    Args:
        ridge: Weight of the penalty; must be above 0.
        fewest: Documents, at least, that a word must be in.
        rounds: The most iterations.

    """

    words_: tuple[str, ...]
    classes_: tuple[str, ...]
    weight_: Floats  # a row a word, a column a class
    bias_: Floats

    def __init__(
        self, *, ridge: float = 0.1, fewest: int = 2, rounds: int = 100
    ) -> None:
        self.ridge = ridge
        self.fewest = fewest
        self.rounds = rounds

    def fit(self, documents: Sequence[Iterable[str]], labels: Sequence[str]) -> Self:
        """Learn from documents, each with the name of its class."""
        from scipy.optimize import minimize  # noqa: PLC0415  (slow)

        texts = [frozenset(d) for d in documents]
        self.words_ = _common(texts, self.fewest)
        self.classes_ = tuple(sorted(set(labels)))
        if len(self.classes_) < 2 or not self.words_:
            raise UsageError(
                "a classifier needs two classes and words that they share, "
                f"got classes {self.classes_} and {len(self.words_)} words"
            )
        label = np.searchsorted(self.classes_, np.asarray(labels))
        rows = _scaled(texts, self.words_)
        shape = (len(self.words_) + 1, len(self.classes_))

        def loss(flat: Floats) -> tuple[float, Floats]:
            value, slope = softmax_loss(flat.reshape(shape), rows, label, self.ridge)
            return value, slope.ravel()

        start = np.zeros(shape[0] * shape[1])
        options = {"maxiter": self.rounds}
        result = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        weight = result.x.reshape(shape)
        self.weight_, self.bias_ = weight[:-1], weight[-1]
        return self

    def predict(self, documents: Iterable[Iterable[str]]) -> tuple[str, ...]:
        """Return the most likely class of each document."""
        if not hasattr(self, "weight_"):
            raise NotFitted("call fit before predict")
        rows = _scaled([frozenset(d) for d in documents], self.words_)
        score = rows @ np.vstack([self.weight_, self.bias_])
        return tuple(self.classes_[int(i)] for i in score.argmax(1))


def _common(texts: Sequence[frozenset[str]], fewest: int) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for text in texts:
        for word in text:
            counts[word] = counts.get(word, 0) + 1
    return tuple(sorted(w for w, n in counts.items() if n >= fewest))


def _scaled(texts: Sequence[frozenset[str]], words: Sequence[str]) -> Any:  # noqa: ANN401
    """Return the documents as rows of length 1, with a constant at the end."""
    from scipy import sparse  # noqa: PLC0415  (slow)

    rows = incidence(texts, words)
    length = np.sqrt(np.maximum(np.asarray(rows.sum(1)).ravel(), 1.0))
    constant = np.ones((len(texts), 1))
    return sparse.hstack([sparse.diags(1.0 / length) @ rows, constant], "csr")
