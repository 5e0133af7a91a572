"""A world behind HTTP: any crawler can be tested and scored against it.

``World.open`` reads a folder of recorded histories, real or made up. Every source has
an origin of its own. A further origin, the desk, has the time, the addresses and the
scores. ``docs/worlds.md`` has the protocol.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

from halflife.core.errors import UsageError
from halflife.kinds.form.recorded_source import FORM_FAULTS
from halflife.kinds.search.recorded_source import SEARCH_FAULTS
from halflife.recordings.pages import Recording
from halflife.replay.folder import recorded_in
from halflife.replay.recorded_source import RecordedSource
from halflife.replay.world import (
    RecordedAnswer,
    RecordedRequest,
    Responder,
    as_json,
    serve,
)
from halflife.worlds.scores import ClientLog, score
from halflife.worlds.served_pages import site_recordings
from halflife.worlds.site_server import NONE, WRONG, ServedSite

SECONDS_A_DAY = 86400.0
ERRORS = "errors"
FAULTS = {
    ERRORS: "one request in 20 is answered 503",
    NONE: "pages have neither ETag nor Last-Modified",
    WRONG: "one page in ten has validators that never change",
    **FORM_FAULTS,
    **SEARCH_FAULTS,
}
ONE_IN = 20  # requests that fail, where some do
KEYS = "_key", "_id"  # fields with the keys of items in answers
ServedKeys: TypeAlias = Callable[[RecordedRequest, RecordedAnswer], Sequence[str]]


@dataclass
class WorldClock:
    """The time of a world, in days; it runs, or stands still until it is moved.

    Attributes:
        begin: When the world begins.
        end: When the world ends; time stops there.
        speed: Seconds of the world per real second; 0 if time is moved by hand.
        ticks: The real clock.

    """

    begin: float
    end: float
    speed: float
    ticks: Callable[[], float] = time.monotonic
    _moved: float = 0.0

    def __post_init__(self) -> None:
        self._start = self.ticks()

    def __call__(self) -> float:
        """Return the time."""
        run = (self.ticks() - self._start) * self.speed / SECONDS_A_DAY
        return min(self.begin + run + self._moved, self.end)

    def move(self, days: float) -> None:
        """Move time forward; it does not go back."""
        if not days >= 0.0:
            raise ValueError(f"time goes on by 0 days or more, not by {days}")
        self._moved += days


@dataclass
class ServedSource:
    """One source of a world, and a log of what it served to each client.

    Attributes:
        name: The name of the source.
        kind: Its kind.
        truth: The true history of its items.
        reply: Answers requests.
        served_keys: Returns the keys of the items that an answer holds.
        settings: Returns its halflife settings for an origin.
        clients: The log of each client.
        failing: Whether some requests fail.

    """

    name: str
    kind: str
    truth: Recording
    reply: Responder
    served_keys: ServedKeys
    settings: Callable[[str], str]
    clients: dict[str, ClientLog] = field(default_factory=dict)
    failing: bool = False

    def __post_init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        for row, key in enumerate(self.truth.keys):
            self._rows.setdefault(key, []).append(row)

    def __call__(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Answer a request, and log the items that the answer holds."""
        log = self.clients.setdefault(client_name(request.headers), ClientLog())
        log.requests += 1
        number = crc32(f"{request.url}{log.requests}".encode())
        if self.failing and number % ONE_IN == 0:
            return RecordedAnswer(503, b"busy, try again\n", {"Retry-After": "1"})
        try:
            answer = self.reply(request, now)
        except (ValueError, KeyError) as error:  # a query that has no answer
            return as_json({"error": f"what is asked for is not clear: {error}"}, 400)
        for key in self.served_keys(request, answer):
            for row in self._rows.get(key, ()):
                if self.truth.born[row] <= now < self.truth.died[row]:
                    log.row.append(row)
                    log.at.append(now)
        return answer


def client_name(headers: Mapping[str, str]) -> str:
    """Return the name of a client: the first product of its User-Agent.

    >>> client_name({"User-Agent": "mybot/2.1 (+https://example.org)"})
    'mybot'
    """
    words = headers.get("User-Agent", "").split()
    return words[0].partition("/")[0][:64] if words else "unnamed"


def keys_in(request: RecordedRequest, answer: RecordedAnswer) -> list[str]:
    """Return the keys of the records in a JSON answer."""
    if answer.status != 200 or request.method == "HEAD":
        return []
    return list(_keys(json.loads(answer.body)))


def _keys(value: Any) -> Iterator[str]:  # noqa: ANN401  (any JSON)
    if isinstance(value, list):
        for element in value:
            yield from _keys(element)
    elif isinstance(value, dict):
        yield from (str(value[name]) for name in KEYS if name in value)
        for element in value.values():
            if isinstance(element, dict | list):
                yield from _keys(element)


@dataclass
class World:
    """A world that is served.

    Attributes:
        sources: Its sources.
        clock: Its time.
        faults: The faults it shows.
        origins: The addresses of the desk and the sources, while it is served.

    """

    sources: Sequence[ServedSource]
    clock: WorldClock
    faults: frozenset[str] = frozenset()
    origins: Sequence[str] = ()

    @classmethod
    def open(
        cls,
        folder: Path,
        names: Sequence[str] = (),
        *,
        days: float = 30.0,
        speed: float = 0.0,
        faults: Sequence[str] = (),
    ) -> "World":
        """Return a world with the last days of the histories in a folder."""
        for fault in faults:
            if fault not in FAULTS:
                raise UsageError(f"no fault {fault!r}; there is {', '.join(FAULTS)}")
        wrong = frozenset(faults)
        recorded = recorded_in(folder, names, days=days)
        sites = dict(site_recordings(folder, days))
        sources = [_served_source(source, sites, wrong) for source in recorded]
        end = min(source.span[1] for source in recorded)
        begin = max(end - days, *(source.span[0] for source in recorded))
        if end - begin < 0.01:
            raise UsageError(
                f"{folder}: its histories have no time in common; pick some with "
                "--sources"
            )
        return cls(sources, WorldClock(begin, end, speed), wrong)

    @contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """Serve the world while the block runs; yield the address of the desk."""
        with serve([self.desk, *self.sources], self.clock, port) as origins:
            self.origins = origins
            yield origins[0]

    def desk(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Answer a request about the world itself."""
        path = request.url.path
        if path in ("/", "/world.json"):
            return as_json(self.describe(now))
        if path == "/score":
            return as_json(self.scores(now))
        if path == "/halflife.toml":
            text = self.settings().encode()
            return RecordedAnswer(200, text, {"Content-Type": "text/plain"})
        if path == "/clock":
            return self._move_clock(request)
        return as_json({"error": "there is /world.json, /clock, /score"}, 404)

    def _move_clock(self, request: RecordedRequest) -> RecordedAnswer:
        if request.method == "POST":
            try:
                self.clock.move(float(json.loads(request.body or b"{}")["days"]))
            except (ValueError, KeyError, TypeError) as error:
                return as_json({"error": f'send {{"days": 0.5}}; {error}'}, 400)
        clock = self.clock
        return as_json({"now": clock(), "begin": clock.begin, "end": clock.end})

    def describe(self, now: float) -> dict[str, object]:
        """Return the time, the faults and the sources with their addresses."""
        return {
            "now": now,
            "begin": self.clock.begin,
            "end": self.clock.end,
            "speed": self.clock.speed,
            "faults": sorted(self.faults),
            "sources": [
                {"name": source.name, "kind": source.kind, "url": origin,
                 "items": len(source.truth)}
                for source, origin in zip(self.sources, self.origins[1:], strict=True)
            ],
        }  # fmt: skip

    def settings(self) -> str:
        """Return the halflife settings of all sources."""
        parts = []
        for source, origin in zip(self.sources, self.origins[1:], strict=True):
            head = f'[[source]]\nname = "{source.name}"\nallow = ["127.0.0.0/8"]'
            parts.append(f"{head}\n{source.settings(origin)}\n")
        return "\n".join(parts)

    def scores(self, now: float) -> dict[str, object]:
        """Return the scores of all clients since the world began."""
        clients = sorted({name for source in self.sources for name in source.clients})
        return {"now": now, "results": [self._score(name, now) for name in clients]}

    def _score(self, client: str, now: float) -> dict[str, object]:
        begin = self.clock.begin
        scores = {
            source.name: score(
                source.truth, source.clients.get(client, ClientLog()), begin, now
            )
            for source in self.sources
        }
        requests = sum(row["requests"] for row in scores.values())
        days = now - begin
        return {
            "client": client,
            "freshness": sum(row["freshness"] for row in scores.values()) / len(scores),
            "requests": requests,
            "requests_a_day": requests / days if days > 0.0 else float(requests),
            "sources": scores,
        }


def _served_source(
    source: RecordedSource, sites: Mapping[str, Recording], faults: frozenset[str]
) -> ServedSource:
    """Return a source to be served over HTTP, with its faults."""
    failing = ERRORS in faults
    if hasattr(source, "recording") and source.name in sites:
        truth = sites[source.name].moved(source.span[1])
        site = ServedSite(source.name, truth, source.span, faults)
        parts = site.answer, site.served_keys, site.settings
        return ServedSource(site.name, site.kind, truth, *parts, failing=failing)
    if not hasattr(source, "truth"):
        raise UsageError(f"{source.name}: kind {source.kind!r} cannot be served")
    if hasattr(source, "with_faults"):
        source = source.with_faults(faults)
    truth = source.truth()
    return ServedSource(
        source.name, source.kind, truth, source.answer, keys_in, source.settings,
        failing=failing,
    )  # fmt: skip
