"""Laws that every sink keeps, for the tests of new sinks.

    from halflife.sinks import laws

    @pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
    def test_the_sink_keeps_the_laws(law, tmp_path):
        law(laws.SinkTrial(MySink, {"name": "x", "kind": "mine", ...}, read, tmp_path))

``read`` returns source, key and number of each change that arrived, in the order of
arrival. A sink that stores only the current state returns what it has; then
``complete`` is False.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.sinks.protocol import Batch, Outlet, Sink, SinkKind

CHANGES = (
    Change(20_000.0, "jobs", "1", "new", {"pay": (None, 5), "name": (None, "x")}, 1),
    Change(20_000.0, "jobs", "2", "new", {"pay": (None, 7)}, 2),
    Change(20_000.5, "docs", "http://a.example/", "new", {"text": (None, "ab")}, 3),
    Change(20_001.0, "jobs", "1", "changed", {"pay": (5, 6)}, 4),
    Change(20_001.5, "jobs", "2", "gone", {}, 5),
    Change(20_002.0, "docs", "http://a.example/", "changed", {"text": ("ab", "c")}, 6),
    Change(20_002.0, "jobs", "", "held", {"why": (None, "too few")}, 7),
    Change(20_003.0, "jobs", "2", "returned", {"pay": (None, 8)}, 8),
    Change(20_003.0, "jobs", "ü\t\u2028 key", "new", {"a b": (None, "ö\n")}, 9),
)
Arrived = tuple[str, str, int]


class FixedReader:
    """A reader with the same content at all times."""

    def content(self, key: str, text: str = "") -> Content | None:
        """Return a page for every address."""
        del text
        page = key.startswith("http")
        head = "HTTP/1.1 200 OK\nContent-Type: text/html"
        body = f"<p>{key}</p>".encode()
        return Content("text/html", body, head) if page else None

    def record(self, source: str, key: str) -> Mapping[str, Any] | None:
        """Return a record for every key."""
        return {"source": source, "key": key}


@dataclass(frozen=True, slots=True)
class SinkTrial:
    """A sink to be tested.

    Attributes:
        kind: The registered class.
        settings: Its settings, as a table.
        read: Returns what arrived.
        folder: The folder of relative paths.
        complete: Whether all that arrived can be read, or only the latest of a key.
        wants: Whether it stores a change at all.

    """

    kind: SinkKind
    settings: Mapping[str, Any]
    read: Callable[[], Sequence[Arrived]]
    folder: Path
    complete: bool = True
    wants: Callable[[Change], bool] = field(default=lambda _: True)

    def open(self) -> Sink:
        """Return the sink, ready for changes."""
        settings = self.kind.Settings.model_validate(dict(self.settings))
        sink = self.kind(settings, Outlet(self.folder, self.folder / "halflife.db"))
        sink.open()
        return sink

    def expected(self, changes: Sequence[Change]) -> list[Arrived]:
        """Return the arrivals expected for changes."""
        wanted = [c for c in changes if self.wants(c)]
        if not self.complete:
            wanted = list({(c.source, c.key): c for c in wanted}.values())
        return [(c.source, c.key, c.seq) for c in wanted]


def batch(changes: Sequence[Change], sink: str = "x") -> Batch:
    """Return changes as a batch."""
    first, last = changes[0].seq, changes[-1].seq
    return Batch(sink, first, last, changes, CHANGES[-1].seq, FixedReader())


def delivers_in_order(trial: SinkTrial) -> None:
    """Check that all changes arrive, and those of a key in their order."""
    sink = trial.open()
    for start in range(0, len(CHANGES), 2):
        sink.deliver(batch(CHANGES[start : start + 2]))
    sink.close()
    _check(trial, CHANGES, repeats=False)


def goes_on_after_it_was_closed(trial: SinkTrial) -> None:
    """Check that nothing is lost between two uses."""
    for start in range(0, len(CHANGES), 3):
        sink = trial.open()
        sink.deliver(batch(CHANGES[start : start + 3]))
        sink.close()
    _check(trial, CHANGES, repeats=False)


def stands_a_second_delivery(trial: SinkTrial) -> None:
    """Check that delivering a batch twice does no harm."""
    for start in range(0, len(CHANGES), 4):
        for _ in range(2):
            sink = trial.open()
            sink.deliver(batch(CHANGES[start : start + 4]))
            sink.close()
    _check(trial, CHANGES, repeats=True)


def keeps_what_was_delivered_without_a_close(trial: SinkTrial) -> None:
    """Check that what was delivered is durable at once, as before a crash."""
    sink = trial.open()
    sink.deliver(batch(CHANGES[:5]))
    _check(trial, CHANGES[:5], repeats=False)
    sink.cancel()
    sink.close()


def may_be_closed_twice(trial: SinkTrial) -> None:
    """Check that closing does no harm, even if nothing was delivered."""
    sink = trial.open()
    sink.cancel()
    sink.close()
    sink.close()
    assert isinstance(sink, Sink)


def _check(trial: SinkTrial, changes: Sequence[Change], *, repeats: bool) -> None:
    found, expected = list(trial.read()), trial.expected(changes)
    if not repeats and trial.complete:
        assert sorted(found, key=lambda arrived: arrived[2]) == expected, found
    assert set(found) == set(expected), found
    latest: dict[tuple[str, str], int] = {}
    for source, key, seq in dict.fromkeys(found):
        assert latest.get((source, key), 0) < seq, f"{key!r} is out of order"
        latest[source, key] = seq


LAWS = (
    delivers_in_order,
    goes_on_after_it_was_closed,
    stands_a_second_delivery,
    keeps_what_was_delivered_without_a_close,
    may_be_closed_twice,
)
