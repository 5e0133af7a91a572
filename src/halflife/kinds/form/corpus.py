"""A reference corpus of words and their counts, read from a file."""

import csv
from collections import defaultdict
from functools import lru_cache
from math import isfinite
from pathlib import Path

from halflife.core.errors import ConfigError
from halflife.queries.known.word_counts import WordCounts

MOST = 1_000_000  # words of a file; a dictionary has fewer
HEAD = ("word", "count")


def load_word_counts(path: str) -> WordCounts:
    """Return the word counts in a file; raise ``ConfigError``.

    A line has a word and a number, separated by a comma or a tab; the heading
    ``word,count`` is allowed. A line without a word has the number of records; without
    such a line it is the largest count.
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
    counts: defaultdict[str, float] = defaultdict(float)
    size = 0.0
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            tabbed = "\t" in lines.readline()
            lines.seek(0)
            rows = csv.reader(lines, delimiter="\t" if tabbed else ",")
            for row in rows:
                word, number = _row(file, rows.line_num, row)
                if word:
                    counts[word] += number
                else:
                    size = max(size, number)
                if len(counts) > MOST:
                    raise ConfigError(f"corpus {file}: more than {MOST} words")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"corpus {file}: it cannot be read: {error}") from error
    if not counts:
        raise ConfigError(f"corpus {file}: it holds no word; write word,count lines")
    return WordCounts(dict(counts), max(size, *counts.values(), 1.0))


def _row(file: Path, line: int, row: list[str]) -> tuple[str, float]:
    cells = [cell.strip() for cell in row]
    if not any(cells) or (line == 1 and tuple(c.lower() for c in cells) == HEAD):
        return "", 0.0
    try:
        word, count = cells
        number = float(count)
    except ValueError:
        number = -1.0
    if not (isfinite(number) and number >= 0):
        raise ConfigError(
            f"corpus {file}: line {line} is not a word and a number of records"
        )
    return word.lower(), number
