"""Rows of CSV, with fields of any length."""

import csv
import io
from collections.abc import Iterator
from typing import Protocol


class CsvRows(Protocol):
    """Rows as lists of cells, and the line where the last one ended."""

    @property
    def line_num(self) -> int:
        """The line read last, from 1."""
        ...

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def csv_rows(text: str, separator: str) -> CsvRows:
    """Return the rows of a text.

    Python's default limit of 131072 characters for a field is raised: the text is in
    memory already, its size is limited, and no field is longer.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)
