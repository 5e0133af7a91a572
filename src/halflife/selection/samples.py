"""An index over the documents that were sampled from all databases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.search import Document
from halflife.selection.table import FrequencyTable

# BM25 as usually set: how soon a repeated word adds nothing, and how far long
# documents are marked down.
SATURATION, BY_LENGTH = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class SampleIndex:
    """Sampled documents, grouped by word, and how many documents each represents.

    Attributes:
        names: The databases.
        code: The row of each indexed word; may be shared.
        start: Where each word's entries start and, last, where they end.
        document: The document of each entry.
        home: The database of each document. Of documents with equal scores the earlier
            is ranked first, so their order should be arbitrary.
        length: Distinct words of each document.
        weight: Documents that one of a database's samples represents, |D| / |S|.
        size: |D| of each database.

    """

    names: tuple[str, ...]
    code: Mapping[str, int]
    start: Ints
    document: Ints
    home: Ints
    length: Floats
    weight: Floats
    size: Floats

    @classmethod
    def of(
        cls, size: Mapping[str, float], samples: Mapping[str, Sequence[Document]]
    ) -> "SampleIndex":
        """Return the index of each database's samples; ``size`` names them all."""
        for name in samples:
            if name not in size:
                raise UsageError(f"{name!r} has samples, but its size is not given")
        names = tuple(sorted(size))
        documents = [sorted(samples.get(n, ()), key=lambda d: d.key) for n in names]
        vocabulary = sorted({w for docs in documents for d in docs for w in d.words})
        code = {w: j for j, w in enumerate(vocabulary)}
        words = [sorted({code[w] for w in d.words}) for docs in documents for d in docs]
        document = np.repeat(np.arange(len(words)), [len(w) for w in words])
        word = np.array(
            [j for document_words in words for j in document_words], np.intp
        )
        home = np.repeat(np.arange(len(names)), [len(docs) for docs in documents])
        sizes = np.array([size[n] for n in names], np.float64)
        return cls.of_entries(names, code, (word, document), home, size=sizes)

    @classmethod
    def of_entries(
        cls,
        names: Sequence[str],
        code: Mapping[str, int],
        entries: tuple[Ints, Ints],
        home: Ints,
        *,
        size: Floats,
        length: Floats | None = None,
    ) -> "SampleIndex":
        """Return the index of (word, document) entries, each pair once.

        ``length`` is given where the entries are only some of the documents' words.
        """
        word, document = entries
        order = np.lexsort((document, word))
        start = np.searchsorted(word[order], np.arange(len(code) + 1))
        if length is None:
            length = np.bincount(document, minlength=home.size).astype(np.float64)
        drawn = np.bincount(home, minlength=len(names))
        weight = size / np.maximum(drawn, 1)
        return cls(
            tuple(names), code, start, document[order], home, length, weight, size
        )

    def ranked(self, words: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the documents with any of the words, best first, and their scores.

        BM25 with each word once a document:
        sum(idf(w) (k + 1) / (1 + k (1 - b + b len / mean(len)))), with
        k = ``SATURATION``, b = ``BY_LENGTH`` and
        idf = ln(1 + (N - n + .5) / (n + .5)). Robertson and Zaragoza, "The
        probabilistic relevance framework", 2009; idf above 0 as in Lucene.
        """
        score = np.zeros(self.home.size)
        matched = np.zeros(self.home.size, np.bool_)
        for word in words:
            j = self.code.get(word, -1)
            if j >= 0:
                rows = self.document[self.start[j] : self.start[j + 1]]
                n = rows.size
                score[rows] += np.log1p((self.home.size - n + 0.5) / (n + 0.5))
                matched[rows] = True
        hits = np.flatnonzero(matched)
        relative_length = self.length[hits] / (self.length.mean() if hits.size else 1.0)
        share = 1.0 - BY_LENGTH + BY_LENGTH * relative_length
        score = score[hits] * (SATURATION + 1.0) / (1.0 + SATURATION * share)
        order = np.argsort(-score, kind="stable")
        return hits[order], score[order]

    def table(self) -> FrequencyTable:
        """Return the summaries by these samples, each scaled to its database's size."""
        databases = len(self.names)
        word = np.repeat(np.arange(len(self.code)), np.diff(self.start))
        cell, count = np.unique(
            word * databases + self.home[self.document], return_counts=True
        )
        word, database = np.divmod(cell, databases)
        entries = (word, database, count * self.weight[database])
        length = np.bincount(self.home, self.length, len(self.names)) * self.weight
        return FrequencyTable.of_entries(
            self.names, self.code, entries, self.size, length
        )
