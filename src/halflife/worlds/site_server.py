"""A recorded site as crawlers see it: pages, validators, robots.txt, a sitemap."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self
from zlib import crc32

import numpy as np

from halflife.demo.pages import feed, html, sitemap
from halflife.demo.site import unchanged, validators
from halflife.demo.world import DemoWorld
from halflife.recordings.pages import Recording
from halflife.replay.world import RecordedAnswer, RecordedRequest

ONE_IN = 10  # pages that have wrong validators, where some do
WRONG, NONE = "wrong-validators", "no-validators"


@dataclass(frozen=True)
class ServedSite:
    """A site that answers as it was at a moment.

    Attributes:
        name: The name of the source.
        recording: What happened to its pages; keys are ``SITE/PATH``.
        span: The first and last moment, in days.
        faults: The faults it shows.

    """

    name: str
    recording: Recording
    span: tuple[float, float]
    faults: frozenset[str] = frozenset()
    kind: str = "site"

    @cached_property
    def world(self) -> DemoWorld:
        """The site as the demo draws its pages."""
        site = self.recording.group[0] if self.recording.group else ""
        paths = tuple(f"/{k.removeprefix(f'{site}/')}" for k in self.recording.keys)
        zeros = np.zeros(len(paths))
        return DemoWorld(
            recording=replace(self.recording, keys=paths),
            rate=zeros,
            restless=zeros.astype(np.bool_),
            seed=crc32(self.name.encode()),
            began=self.span[0],
            days=self.span[1] - self.span[0],
        )

    @cached_property
    def rows(self) -> dict[str, int]:
        """The page at each path."""
        return {path: row for row, path in enumerate(self.world.paths)}

    def moved(self, days: float) -> Self:
        """Return the same site, with everything ``days`` later."""
        begin, end = self.span
        span = begin + days, end + days
        return replace(self, recording=self.recording.moved(days), span=span)

    def settings(self, origin: str) -> str:
        """Return its halflife settings."""
        return f'kind = "pages"\nmaps = ["{origin}/sitemap.xml"]\nnoise = 0.0'

    def answer(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Return what the site answers at a moment."""
        base, path = str(request.url.origin()), request.url.path
        if path == "/robots.txt":
            return _text(f"User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n")
        if path == "/sitemap.xml":
            return _text(sitemap(self.world, base, now), "application/xml")
        if path == "/feed.xml":
            return _text(feed(self.world, base, now), "application/atom+xml")
        if path == "/":
            return _text(self._home(now), "text/html")
        return self._page(self.rows.get(path), request, now)

    def _home(self, now: float) -> str:
        """Return a page with links to all pages, for crawlers that follow links."""
        there = np.flatnonzero(self.world.truth(now)[1]).tolist()
        links = "\n".join(
            f'<li><a href="{self.world.paths[i]}">{self.world.paths[i]}</a></li>'
            for i in there
        )
        return f"<!DOCTYPE html><title>{self.name}</title><ul>\n{links}\n</ul>\n"

    def _page(
        self, row: int | None, request: RecordedRequest, now: float
    ) -> RecordedAnswer:
        if row is None or now < self.recording.born[row]:
            return _text("no such page\n", status=404)
        if now >= self.recording.died[row]:
            return _text("gone\n", status=410)
        headers = self._validators(row, now)
        if unchanged(request.headers, headers):
            return RecordedAnswer(304, b"", headers)
        version = int(self.world.version(row, now)[0])
        text = html(self.world, row, version, noise="by hand", hits=0)
        answer = _text(text, "text/html")
        return answer._replace(headers={**answer.headers, **headers})

    def _validators(self, row: int, now: float) -> dict[str, str]:
        """Return ETag and Last-Modified, or what the site's faults make of them."""
        if NONE in self.faults:
            return {}
        odd = crc32(self.world.paths[row].encode()) // 10 % ONE_IN == 0
        stuck = WRONG in self.faults and odd
        return validators(self.world, row, self.span[0] if stuck else now)

    def served_keys(
        self, request: RecordedRequest, answer: RecordedAnswer
    ) -> list[str]:
        """Return the keys of the pages that an answer holds, as in the recording."""
        row = self.rows.get(request.url.path)
        if row is None or answer.status != 200 or request.method != "GET":
            return []
        return [self.recording.keys[row]]


def _text(text: str, kind: str = "text/plain", *, status: int = 200) -> RecordedAnswer:
    headers = {"Content-Type": f"{kind}; charset=utf-8"}
    return RecordedAnswer(status, text.encode(), headers)
