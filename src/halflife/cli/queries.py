"""Replays of sources that only answer queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halflife.cli import show, words
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from halflife.core.forms import Attribute
    from halflife.recordings.relations import Relation

NEW = ("paper", "uniform", "default", "exhaustive", "oracle")
MONTH = 30.0  # days between the copy and now, by default
DAYS = 60.0  # days of known tuples that are replayed, by default
_SHOWN_NEW = ("policy", "seed", "icr", "pnr", "ccr", "requests", "stop")
_SHOWN_KNOWN = (
    "policy", "budget", "coverage", "tuples_per_request", "content_freshness",
    "requests",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryReplay:
    """What to replay.

    Attributes:
        folder: The history of objects.
        columns: The columns that the form can query.
        policies: Their names; empty for the usual ones.
        begin: The day of the copy, or the first one, as written.
        end: The last day, as written.
        page_size: Records on a page.
        seeds: Repetitions.

    """

    folder: Path
    columns: Sequence[str]
    policies: Sequence[str] = ()
    begin: str | None = None
    end: str | None = None
    page_size: int = 20
    seeds: int = 1

    def relation(self) -> "Relation":
        """Return the history."""
        from halflife.recordings.relations import load_relation

        if not self.columns:
            raise UsageError(
                "name the columns that can be queried, separated by commas"
            )
        return load_relation(self.folder)

    def window(self, relation: "Relation", length: float) -> tuple[float, float]:
        """Return the first and the last day; raise ``UsageError`` if out of order."""
        end = float(relation.looks[-1])
        end = words.moment("--to", self.end) if self.end else end
        begin = words.moment("--from", self.begin) if self.begin else end - length
        begin = begin if self.begin else max(begin, float(relation.looks[0]))
        if not begin < end:
            raise UsageError(
                f"--from: {show.date(begin)} must be before {show.date(end)}"
            )
        return begin, end


def replay_new(task: QueryReplay, *, json: bool) -> None:
    """Score ways to find the records that came between two days."""
    from halflife.bench import newrecords_play as play

    relation = task.relation()
    begin, end = task.window(relation, MONTH)
    attributes = _attributes(relation, task.columns, begin)
    policies = task.policies or NEW
    play.check(policies)
    # A form returns no random records: the sample is drawn by queries, which cost.
    game = play.Game(
        page_size=task.page_size, drilled="weighted", seeds=range(task.seeds)
    )
    rows = play.replay(relation, begin, end, attributes, policies, game)
    head = {
        "history": str(task.folder),
        "from": show.date(relation.last_observation(begin)),
        "to": show.date(relation.last_observation(end)),
        "attributes": {attribute.name: attribute.kind for attribute in attributes},
    }
    _print(head, rows, _SHOWN_NEW, json=json)


def _attributes(
    relation: "Relation", names: Sequence[str], at: float
) -> "list[Attribute]":
    from halflife.bench.newrecords_play import infer
    from halflife.recordings.relations import column

    parts = [name.partition(":") for name in names]
    columns = [column(relation, name) + colon + kind for name, colon, kind in parts]
    return infer(relation.at(at).values(), columns)


def replay_known(task: QueryReplay, shares: Sequence[float], *, json: bool) -> None:
    """Score ways to keep known tuples fresh through keyword search."""
    from halflife.bench import contentfreshness as known

    relation = task.relation()
    begin, end = task.window(relation, DAYS)
    tuples = relation.rows(begin).size
    rows = []
    for share in shares:
        results = known.replay(
            relation,
            task.columns,
            budget=share * tuples,
            policies=task.policies or known.POLICIES,
            page_size=task.page_size,
            begin=begin,
            end=end,
            seeds=range(task.seeds),
        )
        rows += [{**_renamed(row), "budget": share} for row in results]
    head = {
        "history": str(task.folder),
        "from": show.date(relation.last_observation(begin)),
        "to": show.date(relation.last_observation(end)),
        "tuples": int(tuples),
        "keywords": list(task.columns),
    }
    _print(head, rows, _SHOWN_KNOWN, json=json)


def _renamed(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row in which content staleness has the name that its paper gives it."""
    return {
        "content_freshness" if name == "staleness" else name: value
        for name, value in row.items()
    }


def _print(
    head: Mapping[str, object],
    rows: Sequence[Mapping[str, object]],
    shown: Sequence[str],
    *,
    json: bool,
) -> None:
    if json:
        show.emit({**head, "results": rows})
    else:
        show.table([show.flat({n: row[n] for n in shown if n in row}) for row in rows])
