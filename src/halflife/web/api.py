"""The HTTP API under ``/api/v1/``: what the pages show and do."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.engine import bootstrap, change_feed, stored_sources, versions
from halflife.engine.export_rows import ExportSelection
from halflife.engine.versions import ItemVersion, VersionChoice
from halflife.project import Project, forecast
from halflife.stores import Store
from halflife.web import api_values, words
from halflife.web.guard import API
from halflife.web.openapi import ApiParameter, ApiRoute, describe
from halflife.web.record_stream import RecordStream, export_parts
from halflife.web.replies import as_json, read_json
from halflife.web.settings_api import SettingsApi

if TYPE_CHECKING:
    from halflife.web.app import ProjectPages

PREFIX = f"{API}v1"
USUAL, MOST = 1000, 10_000  # changes in one answer
TEXT, WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}
VERDICTS = ("accept", "retry", "keep")
SORTED = tuple(
    ApiParameter(name, about)
    for name, about in (
        ("sort", "Name, health, kind, quality, rate, items, sync-by or last."),
        ("order", "`desc` to reverse the order."),
        ("health", "Only those of this health."),
        ("kind", "Only those of this kind."),
        ("q", "Only those with this in their names."),
    )
)
PAGE = ApiParameter("page", "Which page of the table, from 1 on.", WHOLE)
VERSION = "Versions back from the current one, or a time in ISO 8601"


class Api:
    """The routes of the API.

    Args:
        site: The pages with the same answers.

    """

    def __init__(self, site: "ProjectPages") -> None:
        self._site = site
        more = SettingsApi(site).table()
        self.table = (*self._shown(), *self._held(), *self._done(), *more)

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        found: list[BaseRoute] = [
            Route(PREFIX + route.path, route.endpoint, methods=[route.method])
            for route in self.table
        ]
        return found

    def _shown(self) -> Iterator[ApiRoute]:
        """Return the routes of the contents of pages."""
        name = ApiParameter("name", "The name of a source.")
        budget = ApiParameter("budget", "Requests in the window of the budget.", WHOLE)
        for path, page, about, given in (
            ("overview", "overview", "The state of all sources.", ()),
            ("sources", "sources", "All sources, 100 at a time.", (*SORTED, PAGE)),
            ("sources/{name}", "source", "All of one source.", (name, PAGE)),
            ("plan", "plan", "What is fetched in the next 24 hours, and why.", ()),
            ("whatif", "what-if", "What another budget would buy.", (budget,)),
            ("audit", "audit", "Whether forecasts came true.", ()),
            ("inbox", "inbox", "Answers that wait for a decision.", ()),
            ("league", "audit/league", "How policies fared on recorded histories.", ()),
        ):
            operation = page.replace("-", "_")
            endpoint = partial(self._site.data, page)
            yield ApiRoute("GET", f"/{path}", operation, about, endpoint, given)
        about = "The jobs, latest first."
        yield ApiRoute("GET", "/jobs", "jobs", about, self._site.jobs)

    def _held(self) -> Iterator[ApiRoute]:
        """Return the routes of copies and their changes."""
        source = ApiParameter("source", "The name of a source.")
        item = ApiParameter("item", "The key of a page or record.", required=True)
        since = ApiParameter("since", "After this number, or since a time in ISO 8601.")
        most = {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}
        about = "Changes, oldest first; `next` is the number to continue from."
        given: tuple[ApiParameter, ...]
        given = (since, source, ApiParameter("most", "How many at most.", most))
        yield ApiRoute("GET", "/changes", "changes", about, self.changes, given)
        about = "The records or pages of a source, one JSON object a line."
        given = (source, ApiParameter("as_of", "As it was then, in ISO 8601."))
        lines, path = "application/x-ndjson", "/records/{source}"
        yield ApiRoute(
            "GET", path, "records", about, self.records, given, media_type=lines
        )
        about = "The differences between two versions of a page or record."
        old = ApiParameter("from", f"{VERSION}; 1 unless given.")
        new = ApiParameter("to", f"{VERSION}; 0 unless given.")
        given = (item, source, old, new)
        yield ApiRoute("GET", "/diff", "diff", about, self.diff, given)
        about = "How good the copy will be if nothing more is fetched."
        given = (source, ApiParameter("days", "Days from now, such as 0,1,7."))
        path = "/forecast/{source}"
        yield ApiRoute("GET", path, "forecast", about, self.forecast, given)
        about = "The copy of a page, as plain text."
        yield ApiRoute(
            "GET",
            "/copy",
            "copy",
            about,
            self._site.copy,
            (item,),
            media_type="text/plain",
        )
        about = "This description."
        yield ApiRoute("GET", "/openapi.json", "openapi", about, self.description)

    def _done(self) -> Iterator[ApiRoute]:
        """Return the routes that start jobs."""
        about = "Start a sync; the answer is the job, and `jobs` shows its result."
        body: dict[str, Any] = {"source": TEXT}
        yield ApiRoute("POST", "/sync", "sync", about, self.sync, body=body)
        about = "Decide about an answer in the inbox; the answer is the job."
        body = {"run": WHOLE, "verdict": {"type": "string", "enum": list(VERDICTS)}}
        yield ApiRoute("POST", "/decide", "decide", about, self.decide, body=body)
        about = "Report that pages have changed, as IndexNow does."
        body = {"urlList": {"type": "array", "items": TEXT}}
        yield ApiRoute("POST", "/push", "push", about, self._site.push, body=body)

    def description(self, request: Request) -> Response:
        """Answer with the description of the API."""
        del request
        return as_json(describe(PREFIX, self.table))

    def changes(self, request: Request) -> Response:
        """Answer with the changes after a number, and the number to continue from."""
        given, config = request.query_params, self._site.board.config()
        most = api_values.whole("most", given.get("most", str(USUAL)), 1, MOST)
        names = [given["source"]] if given.get("source") else []
        with bootstrap.reading(config) as store:
            stored_sources.named(config, store, names)
            after = _cursor(store, given.get("since", "0"))
            end = store.changes.last()  # more may come while these are read
            changes = change_feed.read(store, after, names, end)
            found = list(islice(changes, most))
            more = next(changes, None) is not None
        return as_json(
            {
                "results": [change_feed.row(c, words.date(c.at)) for c in found],
                "next": found[-1].seq if more else end,
                "more": more,
            }
        )

    async def records(self, request: Request) -> Response:
        """Answer with the records or pages of a source, line by line."""
        config = await run_in_threadpool(self._site.board.config)
        name = request.path_params["source"]
        await run_in_threadpool(_check, config, name)
        as_of = request.query_params.get("as_of")
        at = None if as_of is None else api_values.moment("as_of", as_of)
        rows = RecordStream(export_parts(config, ExportSelection(name, at)))
        await rows.begin()
        return StreamingResponse(rows.parts(), media_type="application/x-ndjson")

    def diff(self, request: Request) -> Response:
        """Answer with the differences between two versions."""
        given, config = request.query_params, self._site.board.config()
        key = given.get("item", "")
        if not key:
            raise HTTPException(400, "item: name a page or record by its key")
        chosen = [
            api_values.version(name, given.get(name, usual))
            for name, usual in (("from", "1"), ("to", "0"))
        ]
        with bootstrap.reading(config) as store:
            source = given.get("source", "")
            old, new = (_version(store, source, key, choice) for choice in chosen)
        return as_json(versions.row(old, new, versions.compare(old, new)))

    def forecast(self, request: Request) -> Response:
        """Answer with the forecast quality of a copy."""
        name = request.path_params["source"]
        days = api_values.days("days", request.query_params.get("days", "0,1,7"))
        cast = forecast(Project(self._site.board.config()), name, days)
        rows = [] if cast is None else [days, cast.mean, cast.low, cast.high]
        return as_json(
            {
                "source": name,
                "measure": None if cast is None else cast.measure,
                "confidence": None if cast is None else cast.confidence,
                "results": [
                    {"days": d, "mean": float(m), "low": float(lo), "high": float(hi)}
                    for d, m, lo, hi in zip(*rows, strict=True)
                ],
            }
        )

    async def sync(self, request: Request) -> Response:
        """Start a sync."""
        given = await _body(request, '{"source": "NAME"}')
        name = given.get("source")
        if not isinstance(name, str):
            raise HTTPException(400, 'send JSON: {"source": "NAME"}')
        return as_json(asdict(await self._site.start_sync(name)), 202)

    async def decide(self, request: Request) -> Response:
        """Accept, retry or reject an answer that a sync held."""
        like = '{"run": 12, "verdict": "accept"}; a verdict is accept, retry or keep'
        given = await _body(request, like)
        run, verdict = given.get("run"), given.get("verdict")
        if type(run) is not int or verdict not in VERDICTS:
            raise HTTPException(400, f"send JSON: {like}")
        return as_json(asdict(await self._site.start_verdict(run, verdict)), 202)


def _check(config: Config, name: str) -> None:
    """Raise ``UsageError`` unless the settings or the state file have a source."""
    with bootstrap.reading(config) as store:
        stored_sources.named(config, store, [name])


async def _body(request: Request, like: str) -> dict[str, Any]:
    """Return the JSON object that was sent."""
    try:
        given = await read_json(request)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise HTTPException(400, f"send JSON: {like}")
    return given


def _cursor(store: Store, since: str) -> int:
    """Parse the number after which changes are requested."""
    if not api_values.is_whole(since):
        at = api_values.moment("since", since)
        return max(store.changes.before(at), store.changes.removed())
    after = int(since)
    try:
        change_feed.check(store, after)
    except UsageError as error:
        is_removed = after < store.changes.removed()
        raise HTTPException(410 if is_removed else 400, str(error)) from None
    return after


def _version(store: Store, source: str, key: str, chosen: VersionChoice) -> ItemVersion:
    """Return a version of a page, or of a record of a source if that is named."""
    if not source and store.source_of(key) is not None:
        return versions.page(store, key, chosen)
    names = store.holdings.sources_of(key)
    if source:
        names = [name for name in names if name == source]
        if not names and store.source_of(key) == source:
            return versions.page(store, key, chosen)
    if not names:
        raise UsageError(f"no page or record has the key {key!r}")
    if len(names) > 1:
        message = f"{', '.join(names)} have a record {key!r} each; name the source"
        raise HTTPException(400, message)
    return versions.record(store, names[0], key, chosen)
