"""A world behind HTTP: any crawler can be tried against it, and is scored.

``World.open`` reads a folder of recorded histories, real or made up. Every source has
an origin of its own, and beside them is the desk, where the time, the addresses and
the scores are asked for. ``docs/worlds.md`` has the protocol.
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
    Recorded,
    RecordedAnswer,
    RecordedRequest,
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
ONE_IN = 20  # requests fail where some do
KEYS = "_key", "_id"  # under which answers name their items
Handed: TypeAlias = Callable[[RecordedRequest, RecordedAnswer], Sequence[str]]


@dataclass
class WorldClock:
    """The time of a world, in days: it runs, or it stands until it is moved.

    Attributes:
        begin: When the world begins.
        end: When it ends; time does not go on from there.
        speed: Seconds of the world in a second; 0 if it is moved by hand.
        ticks: The clock on the wall.

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
        """Let time pass; it does not go back."""
        if not days >= 0.0:
            raise ValueError(f"time goes on by 0 days or more, not by {days}")
        self._moved += days


@dataclass
class Booth:
    """One source of a world, and what it handed to whom.

    Attributes:
        name: Of the source.
        kind: Its kind.
        truth: What is true of its items.
        reply: Answers requests.
        handed: Which items an answer holds.
        settings: How halflife keeps it, given its origin.
        clients: What each client asked for.
        failing: Whether some requests fail.

    """

    name: str
    kind: str
    truth: Recording
    reply: Recorded
    handed: Handed
    settings: Callable[[str], str]
    clients: dict[str, ClientLog] = field(default_factory=dict)
    failing: bool = False

    def __post_init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        for row, key in enumerate(self.truth.keys):
            self._rows.setdefault(key, []).append(row)

    def __call__(self, asked: RecordedRequest, now: float) -> RecordedAnswer:
        """Answer a request, and write down what was handed out."""
        log = self.clients.setdefault(client_name(asked.headers), ClientLog())
        log.requests += 1
        if self.failing and crc32(f"{asked.url}{log.requests}".encode()) % ONE_IN == 0:
            return RecordedAnswer(503, b"busy, try again\n", {"Retry-After": "1"})
        try:
            answer = self.reply(asked, now)
        except (ValueError, KeyError) as error:  # a query that nobody can answer
            return as_json({"error": f"what is asked for is not clear: {error}"}, 400)
        for key in self.handed(asked, answer):
            for row in self._rows.get(key, ()):
                if self.truth.born[row] <= now < self.truth.died[row]:
                    log.row.append(row)
                    log.at.append(now)
        return answer


def client_name(headers: Mapping[str, str]) -> str:
    """Return who asks: the product that the User-Agent names first.

    >>> client_name({"User-Agent": "mybot/2.1 (+https://example.org)"})
    'mybot'
    """
    words = headers.get("User-Agent", "").split()
    return words[0].partition("/")[0][:64] if words else "unnamed"


def keys_in(asked: RecordedRequest, answer: RecordedAnswer) -> list[str]:
    """Return the keys of the records that an answer in JSON holds."""
    if answer.status != 200 or asked.method == "HEAD":
        return []
    return list(_keys(json.loads(answer.body)))


def _keys(value: Any) -> Iterator[str]:  # noqa: ANN401  (any JSON)
    if isinstance(value, list):
        for one in value:
            yield from _keys(one)
    elif isinstance(value, dict):
        yield from (str(value[name]) for name in KEYS if name in value)
        for one in value.values():
            if isinstance(one, dict | list):
                yield from _keys(one)


@dataclass
class World:
    """A world that is served.

    Attributes:
        booths: Its sources.
        clock: Its time.
        faults: What it does that it should not.
        origins: Where the desk and the sources are, while it is served.

    """

    booths: Sequence[Booth]
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
        """Return the last days of the histories in a folder, ready to be served."""
        for fault in faults:
            if fault not in FAULTS:
                raise UsageError(f"no fault {fault!r}; there is {', '.join(FAULTS)}")
        wrong = frozenset(faults)
        sources = recorded_in(folder, names, days=days)
        sites = dict(site_recordings(folder, days))
        booths = [_booth(source, sites, wrong) for source in sources]
        end = min(source.span[1] for source in sources)
        begin = max(end - days, *(source.span[0] for source in sources))
        if end - begin < 0.01:
            raise UsageError(
                f"{folder}: its histories have no time in common; pick some with "
                "--sources"
            )
        return cls(booths, WorldClock(begin, end, speed), wrong)

    @contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """Serve it while the block runs; yield the address of the desk."""
        with serve([self.desk, *self.booths], self.clock, port) as origins:
            self.origins = origins
            yield origins[0]

    def desk(self, asked: RecordedRequest, now: float) -> RecordedAnswer:
        """Answer what is asked of the world itself."""
        path = asked.url.path
        if path in ("/", "/world.json"):
            return as_json(self.described(now))
        if path == "/score":
            return as_json(self.scores(now))
        if path == "/halflife.toml":
            text = self.settings().encode()
            return RecordedAnswer(200, text, {"Content-Type": "text/plain"})
        if path == "/clock":
            return self._moved(asked)
        return as_json({"error": "there is /world.json, /clock, /score"}, 404)

    def _moved(self, asked: RecordedRequest) -> RecordedAnswer:
        if asked.method == "POST":
            try:
                self.clock.move(float(json.loads(asked.body or b"{}")["days"]))
            except (ValueError, KeyError, TypeError) as error:
                return as_json({"error": f'send {{"days": 0.5}}; {error}'}, 400)
        clock = self.clock
        return as_json({"now": clock(), "begin": clock.begin, "end": clock.end})

    def described(self, now: float) -> dict[str, object]:
        """Return what there is, and where."""
        return {
            "now": now,
            "begin": self.clock.begin,
            "end": self.clock.end,
            "speed": self.clock.speed,
            "faults": sorted(self.faults),
            "sources": [
                {"name": booth.name, "kind": booth.kind, "url": origin,
                 "items": len(booth.truth)}
                for booth, origin in zip(self.booths, self.origins[1:], strict=True)
            ],
        }  # fmt: skip

    def settings(self) -> str:
        """Return the sources as halflife keeps them."""
        parts = []
        for booth, origin in zip(self.booths, self.origins[1:], strict=True):
            head = f'[[source]]\nname = "{booth.name}"\nallow = ["127.0.0.0/8"]'
            parts.append(f"{head}\n{booth.settings(origin)}\n")
        return "\n".join(parts)

    def scores(self, now: float) -> dict[str, object]:
        """Return how every client did since the world began."""
        clients = sorted({name for booth in self.booths for name in booth.clients})
        return {"now": now, "results": [self._score(name, now) for name in clients]}

    def _score(self, client: str, now: float) -> dict[str, object]:
        begin = self.clock.begin
        each = {
            booth.name: score(
                booth.truth, booth.clients.get(client, ClientLog()), begin, now
            )
            for booth in self.booths
        }
        requests = sum(one["requests"] for one in each.values())
        days = now - begin
        return {
            "client": client,
            "freshness": sum(one["freshness"] for one in each.values()) / len(each),
            "requests": requests,
            "requests_a_day": requests / days if days > 0.0 else float(requests),
            "sources": each,
        }


def _booth(
    source: RecordedSource, sites: Mapping[str, Recording], faults: frozenset[str]
) -> Booth:
    """Return a source that is asked over HTTP, with its faults."""
    failing = ERRORS in faults
    if hasattr(source, "recording") and source.name in sites:
        truth = sites[source.name].moved(source.span[1])
        site = ServedSite(source.name, truth, source.span, faults)
        parts = site.answer, site.handed, site.settings
        return Booth(site.name, site.kind, truth, *parts, failing=failing)
    if not hasattr(source, "truth"):
        raise UsageError(f"{source.name}: kind {source.kind!r} cannot be served")
    if hasattr(source, "with_faults"):
        source = source.with_faults(faults)
    truth = source.truth()
    return Booth(
        source.name, source.kind, truth, source.answer, keys_in, source.settings,
        failing=failing,
    )  # fmt: skip
