"""The usual columns of the answers of a source."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from halflife.alerts.schemas import Usual
from halflife.stores.notes import NoteKind, finite, text, texts


@dataclass(frozen=True, slots=True)
class AnswerMemory:
    """What is remembered of a source's answers; times are days.

    Attributes:
        made: A mark of the settings by which they were read.
        usual: The usual fill and kind of each column.
        odd: How many syncs in a row have shown a difference.
        since: Since when something that was there is lost.
        lost: What is lost, in words.
        news: What is new, in words, and when that was noticed.

    """

    made: str = ""
    usual: Mapping[str, Usual] = field(default_factory=dict)
    odd: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[str, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    news: tuple[tuple[str, float], ...] = ()


def _usual(share: Any, kind: Any, records: Any, fetches: Any) -> Usual:  # noqa: ANN401
    return Usual(finite(share), text(kind), int(records), int(fetches))


def _read(row: Mapping[str, Any]) -> AnswerMemory:
    return AnswerMemory(
        made=text(row["made"]),
        usual={name: _usual(*values) for name, values in row["usual"].items()},
        odd={name: int(times) for name, times in row["odd"].items()},
        since={name: finite(at) for name, at in row["since"].items()},
        lost=texts(row["lost"]),
        news=tuple((text(words), finite(at)) for words, at in row["news"]),
    )


RECORD_COLUMNS = NoteKind("record_columns", 1, asdict, _read)
ANSWER_COLUMNS = NoteKind("answer_columns", 1, asdict, _read)
