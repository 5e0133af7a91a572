"""A database behind a form, answering real HTTP on loopback.

``python -m halflife.demo.forms --history FOLDER --at 2025-06-01`` serves what a
recorded history held on a day, as a JSON API and as a search page, until it is
interrupted. It prints its address and the settings to use it with.
"""

import argparse
import asyncio
import sys
import threading
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


@dataclass(frozen=True, slots=True)
class Hours:
    """How well the server behaves, whatever the form does.

    Attributes:
        busy: Every how many requests it answers 429; never if 0.
        wait: The seconds to wait that it then tells.
        fails: Every how many requests it answers 500; never if 0.
        slow: Seconds before each answer.

    """

    busy: int = 0
    wait: int = 0
    fails: int = 0
    slow: float = 0.0


@dataclass
class Office:
    """A form and who serves it; ``form`` may be replaced while it is served.

    Attributes:
        form: What answers.
        hours: How well the server behaves.
        asked: Requests so far, robots.txt not counted.

    """

    form: Form
    hours: Hours = field(default_factory=Hours)
    asked: int = 0

    def application(self) -> web.Application:
        """Return the office as something aiohttp can serve."""
        app = web.Application()
        app.router.add_get("/robots.txt", self.robots)
        app.router.add_get("/", self.front)
        app.router.add_get("/search", self.search)
        app.router.add_get("/api/records", self.records)
        app.router.add_get("/api/records/{key:.+}", self.record)
        return app

    async def robots(self, _: web.Request) -> web.Response:
        """Allow everything but a private corner."""
        return web.Response(text="User-agent: *\nDisallow: /private/\n")

    async def front(self, _: web.Request) -> web.Response:
        """Show the form."""
        return await self._troubled() or _html(form_page(self.form.interface))

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
            told = {} if found.total is None else {"total": found.total}
            rows = [{**record, KEY: key} for key, record in found.records.items()]
            return web.json_response({**told, "page": number + 1, "results": rows})

        def refused(why: str) -> web.Response:
            return web.json_response({"error": why}, status=400)

        return await self._answered(request, shown, refused)

    async def record(self, request: web.Request) -> web.Response:
        """Answer with the record of a key."""
        trouble = await self._troubled()
        if trouble:
            return trouble
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
        """Answer a query, unless there is trouble or it is none."""
        trouble = await self._troubled()
        if trouble:
            return trouble
        try:
            return shown(*self._found(request))
        except (ValueError, SourceError) as error:
            return refused(str(error))

    def _found(self, request: web.Request) -> tuple[int, ResultPage]:
        asked = request.query
        number = max(int(asked.get("page", "1")) - 1, 0)
        query = query_of(self.form.interface, asked)
        newest = asked.get("sort") == "date" and self.form.interface.newest
        return number, self.form.ask(query, number, newest=newest)

    async def _troubled(self) -> web.Response | None:
        """Return trouble, whenever its time has come."""
        self.asked += 1
        hours = self.hours
        if hours.slow:
            await asyncio.sleep(hours.slow)
        if hours.busy and self.asked % hours.busy == 0:
            again = {"Retry-After": str(hours.wait)}
            return web.Response(status=429, headers=again, text="too many requests\n")
        if hours.fails and self.asked % hours.fails == 0:
            return web.Response(status=500, text="something broke\n")
        return None


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", charset="utf-8")


@contextmanager
def serving(office: Office) -> Iterator[str]:
    """Serve an office from a thread while the block runs; yields its address."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(office.application(), access_log=None, shutdown_timeout=1.0)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        begun = asyncio.run_coroutine_threadsafe(_begin(runner, 0), loop)
        yield begun.result(10.0)
    finally:
        asyncio.run_coroutine_threadsafe(_end(runner), loop).result(10.0)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _begin(runner: web.AppRunner, port: int) -> str:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, bound = runner.addresses[0][:2]
    return f"http://{host}:{bound}"


async def _end(runner: web.AppRunner) -> None:
    """Close the server; answers that are not given yet are given up."""
    await runner.cleanup()
    late = asyncio.all_tasks() - {asyncio.current_task()}
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


async def serve(office: Office, port: int) -> None:
    """Serve an office until it is interrupted; print how to ask it."""
    runner = web.AppRunner(office.application(), access_log=None, shutdown_timeout=1.0)
    url = await _begin(runner, port)
    interface = office.form.interface
    sys.stdout.write(f"# {url}/ is the search page\n{snippet(url, interface)}")
    sys.stdout.flush()
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def arguments() -> argparse.ArgumentParser:
    """Return what the command line takes."""
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
    parser.add_argument("--lies", type=float, default=1.0, help="off by this factor")
    parser.add_argument("--unstable", action="store_true")
    parser.add_argument("--busy", type=int, default=0, help="429 to every so manieth")
    parser.add_argument("--wait", type=int, default=1, help="seconds to wait then")
    parser.add_argument("--fails", type=int, default=0, help="500 to every so manieth")
    parser.add_argument("--slow", type=float, default=0.0, help="seconds an answer")
    return parser


def office_of(given: argparse.Namespace) -> Office:
    """Return the office that the arguments describe."""
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
    return Office(table, Hours(given.busy, given.wait, given.fails, given.slow))


def main() -> None:
    """Serve what the arguments say until interrupted."""
    given = arguments().parse_args()
    try:
        asyncio.run(serve(office_of(given), given.port))
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
