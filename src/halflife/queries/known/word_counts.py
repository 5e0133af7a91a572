"""A reference corpus of which only the counts of words are known."""

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from pathlib import Path

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import ConfigError
from halflife.queries.known.keywords import Pool

MOST = 1_000_000  # words of a file; a dictionary has fewer
HEAD = ("word", "count")


@dataclass(frozen=True)
class WordCounts:
    """How many records of a collection that lies open have each word.

    Attributes:
        words: The records that have each word, in small letters.
        size: Records in all.

    """

    words: Mapping[str, float] = field(repr=False)
    size: float

    def counts(self, pool: Pool) -> Floats:
        """Return how many of its records answer each candidate.

        Words of one query are taken to go together by chance: size times the product
        of their shares.
        """
        known = self.words
        each = [known.get(term.value.lower(), 0.0) for term in pool.local.terms]
        share = np.append(np.array(each, dtype=np.float64) / self.size, 1.0)
        together: Floats = self.size * share[pool.parts].prod(axis=1)
        return np.where(pool.lookup, 1.0, together)


def load_word_counts(path: str) -> WordCounts:
    """Return the counts of words in a file; raise ``ConfigError``.

    A line holds a word and a number, parted by a comma or a tab, and may be the
    heading ``word,count``. A line with no word has the number of records; without one
    it is taken to be the largest number.
    """
    file = Path(path).expanduser()
    try:
        about = file.stat()
    except OSError as error:
        raise ConfigError(f"corpus {path}: {error.strerror}") from error
    return _read(file, about.st_mtime_ns, about.st_size)


@lru_cache(8)
def _read(file: Path, *mark: int) -> WordCounts:
    del mark
    found: Counter[str] = Counter()
    size = 0.0
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            tabbed = "\t" in lines.readline()
            lines.seek(0)
            rows = csv.reader(lines, delimiter="\t" if tabbed else ",")
            for row in rows:
                word, number = _row(file, rows.line_num, row)
                if word:
                    found[word] += number
                else:
                    size = max(size, number)
                if len(found) > MOST:
                    raise ConfigError(f"corpus {file}: more than {MOST} words")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"corpus {file}: it cannot be read: {error}") from error
    if not found:
        raise ConfigError(f"corpus {file}: it holds no word; write word,count lines")
    return WordCounts(dict(found), max(size, *found.values(), 1.0))


def _row(file: Path, line: int, row: list[str]) -> tuple[str, float]:
    cells = [cell.strip() for cell in row]
    if not any(cells) or (line == 1 and tuple(c.lower() for c in cells) == HEAD):
        return "", 0.0
    try:
        word, said = cells
        number = float(said)
    except ValueError:
        number = -1.0
    if not (isfinite(number) and number >= 0):
        raise ConfigError(
            f"corpus {file}: line {line} is not a word and a number of records"
        )
    return word.lower(), number
