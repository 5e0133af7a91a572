"""The status of the service, for monitoring.

The row of ``/health`` says whether all is well, and if not, why; the exposition has the
figures in the text format of Prometheus (version 0.0.4).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from time import perf_counter
from typing import NamedTuple, TypeAlias

from halflife.alerts import Health
from halflife.core.forecast import Forecast

THRIFT = 20.0  # a measurement is not repeated for this many times its own duration
LATE = 2.0 * 3600.0 / 86400.0  # days without a turn after which something is wrong

RECENT = 1.0  # days for which an answer that our own code could not handle counts

Labels: TypeAlias = Mapping[str, str]
Sample: TypeAlias = tuple[Mapping[str, str], float]


class Mishap(NamedTuple):
    """Answers of a source that our own code failed at: how many, and the last one."""

    times: int
    at: float
    trouble: str


@dataclass(slots=True)
class ServiceStatus:
    """The status of the service, which it writes and the endpoint reads.

    Attributes:
        began: When it began, in days.
        turned: When its last turn ended; None before the first.
        turns: Turns so far.
        seconds: How long the last turn took.
        requests: Requests sent, by group of sources.
        failures: Failed fetches, by source.
        budget: Requests that the budget's window allows.
        left: How many are left.
        due: Offers that the last turn did not take.
        in_flight: Pieces of work under way.
        offline: Whether there is no network.
        settings: Why new settings could not be used; empty if they are in use.
        control: Whether it works: ``running``, ``paused`` or ``draining``.
        failing: Sources that are not fetched for now because they fail.
        sources: The health of each source.
        alarms: The alarms that stand, as source and kind.
        store_bytes: Size of the state file, its log included.
        mishandled: By source: how many answers our own code failed at since the
            start, when it last did, and at what.
        measure: Computes the quality of each copy at a moment; None if not available.
        measured: Its last result, by source.
        measured_at: The moment of that result.

    """

    began: float
    turned: float | None = None
    turns: int = 0
    seconds: float = 0.0
    requests: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    budget: int = 0
    left: int = 0
    due: int = 0
    in_flight: int = 0
    offline: bool = False
    settings: str = ""
    control: str = "running"
    failing: tuple[str, ...] = ()
    sources: tuple[Health, ...] = ()
    alarms: tuple[tuple[str, str], ...] = ()
    store_bytes: int = 0
    mishandled: dict[str, Mishap] = field(default_factory=dict)
    measure: Callable[[float], Mapping[str, Forecast]] | None = None
    measured: Mapping[str, Forecast] = field(default_factory=dict)
    measured_at: float = float("nan")
    _took: float = 0.0

    def mishandle(self, source: str, trouble: str, now: float) -> None:
        """Count an answer of a source that our own code failed at."""
        before = self.mishandled.get(source)
        count = 1 if before is None else before.times + 1
        self.mishandled[source] = Mishap(count, now, trouble)

    def renew(self, now: float) -> None:
        """Compute the quality of the copies now, unless that was done just before.

        However often it is called, it uses a twentieth of the time at most.
        """
        began = perf_counter()
        passed = (now - self.measured_at) * 86400.0
        if self.measure is None or 0 <= passed < THRIFT * self._took:
            return
        self.measured, self.measured_at = self.measure(now), now
        self._took = perf_counter() - began

    def reasons(self, now: float) -> list[str]:
        """Return the reasons why the service is degraded; none if all is well."""
        since = self.began if self.turned is None else self.turned
        found = ["no turn for more than two hours"] if now - since > LATE else []
        found += ["there is no network"] if self.offline else []
        found += ["the settings on disk cannot be used"] if self.settings else []
        found += [f"{name} fails" for name in self.failing]
        found += [f"{source or 'halflife'}: {kind}" for source, kind in self.alarms]
        mishaps = self.mishandled.items()
        found += [f"{n}: {it.trouble}" for n, it in mishaps if now - it.at < RECENT]
        return found

    def row(self, now: float) -> dict[str, object]:
        """Return the answer of ``/health``."""
        reasons = self.reasons(now)
        late = None if self.turned is None else (now - self.turned) * 86400.0
        return {
            "status": "degraded" if reasons else "ok",
            "reasons": reasons,
            "turns": self.turns,
            "control": self.control,
            "seconds_since_last_turn": late,
            "budget": {"requests": self.budget, "left": self.left},
            "mishandled": {name: it.times for name, it in self.mishandled.items()},
        }


def exposition(status: ServiceStatus, now: float) -> str:
    """Return the figures in the text format of Prometheus."""
    lines: list[str] = []
    for name, kind, about, samples in _families(status, now):
        found = [(labels, value) for labels, value in samples if not isnan(value)]
        if found:
            full = f"halflife_{name}"
            lines += [f"# HELP {full} {about}", f"# TYPE {full} {kind}"]
            lines += [f"{full}{_labels(labels)} {_number(v)}" for labels, v in found]
    return "\n".join(lines) + "\n"


Family: TypeAlias = tuple[str, str, str, Sequence[Sample]]


def _levels(status: ServiceStatus) -> dict[str, tuple[float, float, float]]:
    """Return mean and bounds of each source's quality."""
    found = {h.source: (h.mean, h.low, h.high) for h in status.sources}
    for name, cast in status.measured.items():
        found[name] = float(cast.mean[0]), float(cast.low[0]), float(cast.high[0])
    return found


def _families(status: ServiceStatus, now: float) -> Iterable[Family]:
    """Return name, type, meaning and samples of every figure."""
    last = float("nan") if status.turned is None else status.turned * 86400.0
    yield "up", "gauge", "1 if all is well, else 0.", _one(not status.reasons(now))
    yield "turns_total", "counter", "Turns since the start.", _one(status.turns)
    yield "turn_seconds", "gauge", "How long the last turn took.", _one(status.seconds)
    yield "last_turn_timestamp_seconds", "gauge", "When it ended.", _one(last)
    yield "budget_requests", "gauge", "Requests a window allows.", _one(status.budget)
    yield "budget_left", "gauge", "Requests left in the window.", _one(status.left)
    yield "due", "gauge", "Offers that the last turn had to leave.", _one(status.due)
    yield "in_flight", "gauge", "Pieces of work under way.", _one(status.in_flight)
    yield "offline", "gauge", "1 if there is no network.", _one(status.offline)
    yield "alarms", "gauge", "Alarms that stand.", _one(len(status.alarms))
    yield "store_bytes", "gauge", "Size of the state file.", _one(status.store_bytes)
    yield from _of_sources(status)


def _of_sources(status: ServiceStatus) -> Iterable[Family]:
    """Return the figures of each source."""
    levels = _levels(status)
    sent = _counted("sources", status.requests)
    failed = _counted("source", status.failures)
    broken = _counted("source", {n: it.times for n, it in status.mishandled.items()})
    targets = [({"source": one.source}, one.target) for one in status.sources]
    met = [
        ({"source": one.source}, float(levels[one.source][0] >= one.target))
        for one in status.sources
        if not (isnan(one.target) or isnan(levels[one.source][0]))
    ]
    alone = [
        ({"source": one.source}, float(one.source in status.failing))
        for one in status.sources
    ]
    yield "requests_total", "counter", "Requests sent since the start.", sent
    yield "failures_total", "counter", "Fetches that failed since the start.", failed
    yield "mishandled_total", "counter", "Answers that broke our code.", broken
    yield "quality", "gauge", "Believed quality of a copy, 0 to 1.", _quality(levels)
    at = status.turned if isnan(status.measured_at) else status.measured_at
    measured = _one(float("nan") if at is None else at * 86400.0)
    yield "quality_timestamp_seconds", "gauge", "When quality was worked out.", measured
    yield "target", "gauge", "Quality that was asked for.", targets
    yield "target_met", "gauge", "1 if the target is met.", met
    yield "failing", "gauge", "1 if a source is left alone: it fails.", alone


def _counted(label: str, numbers: Mapping[str, int]) -> list[Sample]:
    return [({label: name}, float(n)) for name, n in sorted(numbers.items())]


def _one(value: float) -> list[Sample]:
    return [({}, float(value))]


def _quality(levels: Mapping[str, tuple[float, float, float]]) -> list[Sample]:
    return [
        ({"source": source, "bound": bound}, value)
        for source, values in levels.items()
        for bound, value in zip(("mean", "low", "high"), values, strict=True)
    ]


def _labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if not isfinite(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)
