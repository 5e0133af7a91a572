"""A database behind a form, answering real HTTP on loopback.

``python -m halflife.demo.forms --history FOLDER --at 2025-06-01`` serves the records of
a recorded history on a day, as a JSON API and as a search page, until it is
interrupted. It prints its address and the settings for a source.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from aiohttp import web

from halflife.core.errors import SourceError, UsageError
from halflife.core.forms import Form, Interface, ResultPage
from halflife.kinds.form.recorded_pages import KEY, form_page, results, snippet
from halflife.kinds.form.recorded_source import query_of
from halflife.kinds.form.tables import form_attributes, parse_day
from halflife.queries.table_form import TableFaults, TableForm
from halflife.recordings.relations import load_relation
from halflife.replay.world import listen, runner_of, serve_applications


@dataclass(frozen=True, slots=True)
class ServerFaults:
    """Faults of the server, independent of the form.

    Attributes:
        busy: Every ``busy``-th request is answered 429; none if 0.
        wait: The ``Retry-After`` of these answers, in seconds.
        fails: Every ``fails``-th request is answered 500; none if 0.
        slow: Seconds before each answer.

    """

    busy: int = 0
    wait: int = 0
    fails: int = 0
    slow: float = 0.0


@dataclass
class FormServer:
    """An HTTP server of a form; ``form`` may be replaced while it is served.

    Attributes:
        form: The form.
        faults: The faults of the server.
        asked: Requests so far, robots.txt not counted.

    """

    form: Form
    faults: ServerFaults = field(default_factory=ServerFaults)
    asked: int = 0

    def application(self) -> web.Application:
        """Return the aiohttp application of the server."""
        app = web.Application()
        app.router.add_get("/robots.txt", self.robots)
        app.router.add_get("/", self.front)
        app.router.add_get("/search", self.search)
        app.router.add_get("/api/records", self.records)
        app.router.add_get("/api/records/{key:.+}", self.record)
        return app

    async def robots(self, _: web.Request) -> web.Response:
        """Allow everything but one folder."""
        return web.Response(text="User-agent: *\nDisallow: /private/\n")

    async def front(self, _: web.Request) -> web.Response:
        """Show the form."""
        return await self._fault() or _html(form_page(self.form.interface))

    async def search(self, request: web.Request) -> web.Response:
        """Answer with a page of results, as people read it."""

        def shown(number: int, found: ResultPage) -> web.Response:
            return _html(results(found, number * self.form.interface.page_size))

        def refused(why: str) -> web.Response:
            return web.Response(status=400, text=f"{why}\n")

        return await self._answered(request, shown, refused)

    async def records(self, request: web.Request) -> web.Response:
        """Answer with a page of results, as programs read it."""

        def shown(number: int, found: ResultPage) -> web.Response:
            total = {} if found.total is None else {"total": found.total}
            rows = [{**record, KEY: key} for key, record in found.records.items()]
            return web.json_response({**total, "page": number + 1, "results": rows})

        def refused(why: str) -> web.Response:
            return web.json_response({"error": why}, status=400)

        return await self._answered(request, shown, refused)

    async def record(self, request: web.Request) -> web.Response:
        """Answer with the record of a key."""
        fault = await self._fault()
        if fault:
            return fault
        found = self.form.fetch(request.match_info["key"])
        for key, record in found.records.items():
            return web.json_response({**record, KEY: key})
        return web.json_response({"error": "no such record"}, status=404)

    async def _answered(
        self,
        request: web.Request,
        shown: Callable[[int, ResultPage], web.Response],
        refused: Callable[[str], web.Response],
    ) -> web.Response:
        """Answer a query, unless a fault occurs or it is not valid."""
        fault = await self._fault()
        if fault:
            return fault
        try:
            return shown(*self._results(request))
        except (ValueError, SourceError) as error:
            return refused(str(error))

    def _results(self, request: web.Request) -> tuple[int, ResultPage]:
        arguments = request.query
        number = max(int(arguments.get("page", "1")) - 1, 0)
        query = query_of(self.form.interface, arguments)
        newest = arguments.get("sort") == "date" and self.form.interface.newest
        return number, self.form.ask(query, number, newest=newest)

    async def _fault(self) -> web.Response | None:
        """Return the answer of a fault that is due; None if there is none."""
        self.asked += 1
        faults = self.faults
        if faults.slow:
            await asyncio.sleep(faults.slow)
        if faults.busy and self.asked % faults.busy == 0:
            again = {"Retry-After": str(faults.wait)}
            return web.Response(status=429, headers=again, text="too many requests\n")
        if faults.fails and self.asked % faults.fails == 0:
            return web.Response(status=500, text="something broke\n")
        return None


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", charset="utf-8")


@contextmanager
def serving(server: FormServer) -> Iterator[str]:
    """Run a form server in a thread during the block; yield its address."""
    with serve_applications([server.application()]) as (address,):
        yield address


async def serve(server: FormServer, port: int) -> None:
    """Run a form server until interrupted; print its address and settings."""
    runner = runner_of(server.application())
    url = await listen(runner, port)
    interface = server.form.interface
    sys.stdout.write(f"# {url}/ is the search page\n{snippet(url, interface)}")
    sys.stdout.flush()
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description="Serve a database behind a form.")
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--at", required=True, help="a date in the history")
    parser.add_argument("--attributes", default="", help="a,b:keyword,c:range")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page-size", type=int, default=20)
    parser.add_argument("--cap", type=int)
    counts = ("exact", "rounded", "capped", "none")
    parser.add_argument("--counts", choices=counts, default="exact")
    parser.add_argument(
        "--lies", type=float, default=1.0, help="factor of false totals"
    )
    parser.add_argument("--unstable", action="store_true")
    parser.add_argument(
        "--busy", type=int, default=0, help="answer 429 to every N-th request"
    )
    parser.add_argument(
        "--wait", type=int, default=1, help="Retry-After of a 429, in seconds"
    )
    parser.add_argument(
        "--fails", type=int, default=0, help="answer 500 to every N-th request"
    )
    parser.add_argument(
        "--slow", type=float, default=0.0, help="seconds before each answer"
    )
    return parser


def server_of(given: argparse.Namespace) -> FormServer:
    """Return the form server that the arguments describe."""
    relation = load_relation(given.history)
    at = parse_day(given.at)
    records = relation.at(at)
    interface = Interface(
        form_attributes(records, given.attributes),
        page_size=given.page_size,
        cap=given.cap,
        counts=given.counts,
        everything=True,
        newest=True,
        lookup=True,
    )
    table = TableForm(
        interface,
        records,
        rng=np.random.default_rng(given.seed),
        dates=relation.first_seen_times(at),
        faults=TableFaults(given.lies, given.unstable),
    )
    return FormServer(
        table, ServerFaults(given.busy, given.wait, given.fails, given.slow)
    )


def main() -> None:
    """Run the form server of the command line until interrupted."""
    given = arguments().parse_args()
    try:
        asyncio.run(serve(server_of(given), given.port))
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
