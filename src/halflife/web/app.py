"""The web app: its routes, and the rendering of answers as pages."""

import secrets
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from halflife.core.errors import HalflifeError, UsageError
from halflife.engine import bootstrap
from halflife.kinds.pages.hubs import PATH
from halflife.study import league, svg
from halflife.web import (
    actions,
    activity,
    atom,
    changes_page,
    diff_page,
    items_page,
    navigation,
    pages,
    remote_text,
    source_page,
    verdicts,
    what_if_page,
    words,
)
from halflife.web.actions import BackgroundJobs, Job, JobOutcome
from halflife.web.add_page import AddPage
from halflife.web.api import Api
from halflife.web.board import Board
from halflife.web.callbacks import INDEXNOW, HubCallbacks, KeyedPushes
from halflife.web.edit_page import EditPage
from halflife.web.guard import API, Guard, PublicAccess, ScopedToken
from halflife.web.pages import Answer, Params  # noqa: TC001  (as below)
from halflife.web.replies import as_json, read_json
from halflife.web.settings_desk import SettingsDesk
from halflife.web.survey import Survey
from halflife.web.trials import Trials

TITLES = {
    "overview": "Overview",
    "changes": "What changed",
    "sources": "Sources",
    "plan": "Plan",
    "what-if": "What if",
    "inbox": "Inbox",
    "audit": "Audit",
    "add": "Add",
    "edit": "Settings",
    "audit/league": "League of policies",
}
FILTERS = (
    "ago",
    "count",
    "exact",
    "gain",
    "interval",
    "share",
    "span",
    "target",
)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOVED = {"league": "audit/league"}  # addresses of earlier versions
ALWAYS = frozenset({"audit/league"})  # pages that need no source
BELIEVED = frozenset({"plan", "what-if"})  # pages that need estimates of all items
WORTH_IT = 1024  # bytes of the smallest answer to compress; less fits a packet
QUICK = 4  # zlib's level: 90 % of the saving of the highest, in a third of its time
LONG = {"item": 4096, "cursor": 8192}  # characters of long parameters
STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class AppSetting:
    """Settings of the app: its access, and the files that it shows.

    Attributes:
        config: The settings file.
        token: The secret that opens it.
        hosts: Values of ``Host`` that are accepted.
        cookie: The name of the cookie.
        league: A file with a league; None for one beside the settings.
        tokens: Further tokens, for the API.
        opening: The addresses that need no token.

    """

    config: Path
    token: str
    hosts: tuple[str, ...]
    cookie: str = "halflife"
    league: Path | None = None
    tokens: tuple[ScopedToken, ...] = ()
    opening: PublicAccess = field(default_factory=PublicAccess)


class ProjectPages:
    """The pages of one settings file."""

    def __init__(self, setting: AppSetting) -> None:
        self.board = Board(setting.config)
        self.background = BackgroundJobs(self.board.forget)
        self.hubs = HubCallbacks(self.board.config)
        self.pushes = KeyedPushes(self.board.config)
        self.desk = SettingsDesk(lambda: self.board.path, self.board.forget)
        self.trials = Trials()
        self.answers: dict[str, Callable[[Survey, Params], Answer]] = {
            "overview": pages.overview,
            "changes": changes_page.changes,
            "diff": diff_page.diff,
            "items": items_page.items,
            "sources": pages.sources,
            "source": source_page.source,
            "plan": pages.plan,
            "what-if": what_if_page.what_if,
            "inbox": pages.inbox,
            "audit": verdicts.audit,
            "audit/league": lambda seen, _: verdicts.league(seen, setting.league),
        }
        self._templates = Environment(
            loader=PackageLoader("halflife.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        for name in FILTERS:
            self._templates.filters[name] = getattr(words, name)
        self._templates.filters["show_change"] = changes_page.show
        self._templates.filters["show_cell"] = items_page.cell
        self._templates.filters["web_link"] = remote_text.link
        self._templates.filters["utc"] = changes_page.utc
        self._templates.filters["day"] = self._templates.filters["moment"] = words.clock
        self._templates.globals["entry_of"] = navigation.entry_of
        self._paths: frozenset[str] = frozenset()

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        routes: list[BaseRoute] = [Route("/", partial(self.page, "overview"))]
        for name in self.answers:
            routes.append(Route(f"/{name}", partial(self.page, name)))
            routes.append(Route(f"/{name}.json", partial(self.data, name)))
        routes += [
            Route(f"/{old}{end}", redirect(f"/{new}{end}"))
            for old, new in MOVED.items()
            for end in ("", ".json")
        ]
        routes += self._further_routes()
        self._paths = frozenset(r.path for r in routes if isinstance(r, Route))
        return routes

    def _further_routes(self) -> list[BaseRoute]:
        """Return the routes that are no pages."""
        return [
            Route("/jobs.json", self.jobs),
            Route("/ready.json", self.ready),
            Route("/copy", self.copy),
            Route("/changes.atom", self.feed),
            Route("/items/all.{form}", self.items),
            Route("/what-if.svg", self.picture),
            Route("/static/{name}", static),
            Route("/sync", self.sync, methods=["POST"]),
            Route("/decide", self.decide, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/demo", self.demo, methods=["POST"]),
            Route("/leave", self.leave, methods=["POST"]),
            Route("/push.json", self.push, methods=["POST"]),
            Route(INDEXNOW, self.pushes.answer, methods=["GET", "POST"]),
            Route(PATH + "{token}", self.hubs.answer, methods=["GET", "POST"]),
            *AddPage(self).routes(),
            *EditPage(self).routes(),
            *Api(self).routes(),
        ]

    def page(self, name: str, request: Request) -> Response:
        """Answer with a page."""
        # Before the survey, so that it includes their results.
        jobs = self.background.jobs
        seen = self.board.glance()
        first = not seen.rows and name not in ALWAYS
        later = (
            name in BELIEVED if seen.working else name == "what-if" and not seen.priced
        )
        has_answer = not first and not later
        answer = self.answers[name](seen, _params(request)) if has_answer else {}
        own = name.rpartition("/")[2]
        template = "first" if first else "later" if later else own
        html = self.render(
            f"{template}.html",
            page=name,
            working=seen.working or later,
            total=seen.total,
            title=TITLES.get(name)
            or str(answer.get("title") or answer.get("source", "Source")),
            answer=answer,
            now=seen.now,
            settings=seen.config.path,
            waiting=len(seen.waiting),
            jobs=jobs,
            progress=self._progress(seen, jobs),
            query=str(request.query_params),
        )
        return Response(html, media_type="text/html")

    def _progress(self, seen: Survey, jobs: Sequence[Job]) -> dict[int, str]:
        """Return the progress of the running syncs, as text by job."""
        if not any(job.state == "running" and job.source for job in jobs):
            return {}
        with bootstrap.reading(seen.config) as store:
            running = activity.under_way(store, bootstrap.clock())
        return activity.progress(jobs, running)

    def render(self, template: str, **values: object) -> str:
        """Return a page as HTML."""
        usual: dict[str, object] = {
            "page": "",
            "now": 0.0,
            "settings": "",
            "waiting": 0,
            "query": "",
            "titles": navigation.entries(self._paths),
            "renewed": navigation.RENEWED,
            "jobs": self.background.jobs,
            "progress": {},
            "working": False,
            "total": 0,
            "visiting": self.board.visiting,
            "renewing": self.board.working,
            "trouble": words.plain(self.board.trouble),
        }
        return self._templates.get_template(template).render(usual | values)

    def data(self, name: str, request: Request) -> Response:
        """Answer with the content of a page as JSON."""
        answer = self.answers[name](self.board.survey(), _params(request))
        return as_json(answer)

    def jobs(self, request: Request) -> Response:
        """Answer with the jobs."""
        del request
        return as_json({"results": [asdict(job) for job in self.background.jobs]})

    def ready(self, request: Request) -> Response:
        """Answer whether the estimates that a page lacked are ready."""
        del request
        return as_json({"ready": self.board.ready})

    def copy(self, request: Request) -> Response:
        """Answer with the copy of a page, as a plain text file."""
        key = request.query_params.get("item", "")
        with bootstrap.reading(self.board.config()) as store:
            content = store.content(key)
        if content is None:
            raise UsageError("there is no copy of that; see the page of its source")
        headers = {
            "content-disposition": 'attachment; filename="copy.txt"',
            "content-security-policy": "default-src 'none'; sandbox",
        }
        return Response(content.body, media_type="text/plain", headers=headers)

    def feed(self, request: Request) -> Response:
        """Answer with the changes as an Atom feed."""
        seen = self.board.glance()
        answer = changes_page.changes(seen, _params(request))
        base = str(request.base_url).rstrip("/")
        text = atom.feed(answer, base, seen.config.store_name)
        return Response(text.encode(), media_type=atom.TYPE)

    async def items(self, request: Request) -> Response:
        """Answer with all matching items of a source, as a file."""
        seen = await run_in_threadpool(self.board.glance)
        form = request.path_params["form"]
        return await items_page.download(seen, _params(request), form)

    def picture(self, request: Request) -> Response:
        """Answer with the chart of quality by budget, as an SVG file."""
        drawn = what_if_page.picture(self.board.survey(), _params(request))
        headers = {
            "content-disposition": 'attachment; filename="what-if.svg"',
            "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
            "sandbox",
        }
        return Response(drawn, media_type="image/svg+xml", headers=headers)

    async def sync(self, request: Request) -> Response:
        """Start a sync."""
        name = str((await request.form()).get("source", ""))
        await self.start_sync(name)
        return _back("source", name)

    async def start_sync(self, name: str) -> Job:
        """Start a sync of a source; raise ``UsageError`` if there is none."""
        config = await run_in_threadpool(self.board.config)
        config.named([name])
        return self.background.start(
            f"sync {name}", lambda: actions.sync(config, name), name
        )

    async def decide(self, request: Request) -> Response:
        """Accept, retry or reject an answer that a sync held."""
        form = await request.form()
        run = pages.whole(str(form.get("run", "")), 0)
        await self.start_verdict(run, str(form.get("verdict", "")), actions.GRACE)
        return _back("inbox")

    async def undo(self, request: Request) -> Response:
        """Undo a decision that was not carried out yet."""
        job = pages.whole(str((await request.form()).get("job", "")), 0)
        if not self.background.undo(job):
            raise UsageError("it is too late to undo that: it was carried out")
        return _back("inbox")

    async def start_verdict(self, run: int, verdict: str, grace: float = 0.0) -> Job:
        """Start to carry out a decision about a held answer.

        For ``grace`` seconds nothing is written, and it can be undone.
        """
        config = await run_in_threadpool(self.board.config)
        jobs = {
            "accept": (f"accept run {run}", actions.accept),
            "keep": (f"keep what we have, not run {run}", actions.keep),
        }
        if verdict in jobs:
            what, work = jobs[verdict]
            decide = partial(work, config, run)
            return self.background.start(what, decide, run=run, grace=grace)
        if verdict == "retry":
            seen = await run_in_threadpool(self.board.glance)
            return await self.start_sync(
                next((s.source for s in seen.waiting if s.run == run), "")
            )
        raise UsageError("a verdict is accept, retry or keep")

    async def push(self, request: Request) -> Response:
        """Receive reports of changed pages: IndexNow's ``urlList``."""
        try:
            urls = [str(url) for url in (await read_json(request))["urlList"]]
        except (ValueError, TypeError, LookupError, RecursionError):
            raise UsageError('send JSON: {"urlList": ["https://..."]}') from None
        config = await run_in_threadpool(self.board.config)
        outcome = await run_in_threadpool(actions.push, config, urls)
        return as_json(asdict(outcome), 202 if outcome.accepted else 200)

    async def demo(self, request: Request) -> Response:
        """Generate a sample site, keep it, and show it."""
        del request
        if not any(
            j.what == "demo" and j.state == "running" for j in self.background.jobs
        ):
            self.background.start("demo", self._demo)
        return _back("overview")

    def _demo(self) -> JobOutcome:
        folder = Path(tempfile.mkdtemp(prefix="halflife-demo-"))
        self.board.visit(actions.demo(folder))
        return JobOutcome(f"a sample site was kept for 20 days; it is in {folder}")

    async def leave(self, request: Request) -> Response:
        """Show the user's own sources again."""
        del request
        await run_in_threadpool(self.board.visit, None)
        return _back("overview")

    def failed(self, request: Request, error: Exception) -> Response:
        """Answer with an error, and what to do."""
        status, text = _fault(error)
        answer = {"status": status, "said": words.plain(text)}
        path = request.url.path
        if path.endswith(".json") or path.startswith(API):
            return as_json(answer, status)
        html = self.render("error.html", title=str(status), answer=answer)
        return Response(html, status, media_type="text/html")


def _fault(error: Exception) -> tuple[int, str]:
    """Return the status of an error, and its message to the user."""
    if isinstance(error, UsageError):
        return 404, str(error)
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, HalflifeError):
        return 500, str(error)
    number = secrets.token_hex(4)
    trace = "".join(traceback.format_exception(error))
    sys.stderr.write(f"halflife: error {number}\n{trace}")
    return 500, f"an internal error; the terminal shows it as error {number}"


def _params(request: Request) -> dict[str, str]:
    given = {**request.query_params, **request.path_params}
    return {name: value[: LONG.get(name, 200)] for name, value in given.items()}


def _back(page: str, name: str = "") -> Response:
    more = f"?{urlencode({'name': name})}" if name else ""
    return RedirectResponse(f"/{page}{more}", 303)


def redirect(address: str) -> Callable[[Request], Response]:
    """Return an endpoint that redirects to a new address."""

    def answer(request: Request) -> Response:
        more = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{address}{more}", 308)

    return answer


def static(request: Request) -> Response:
    """Answer with a style sheet or script."""
    name = request.path_params["name"]
    known = {path.name: path for path in STATIC.iterdir()}
    if name not in known:
        raise HTTPException(404)
    text = known[name].read_text(encoding="utf-8")
    if name == "halflife.css":
        text += svg.STYLE + league.STYLE
    kind = TYPES[known[name].suffix]
    return Response(text, media_type=kind, headers={"cache-control": "max-age=60"})


def create(setting: AppSetting) -> tuple[Starlette, Guard]:
    """Return the app, and the guard that must wrap all of it, errors included."""
    site = ProjectPages(setting)
    app = Starlette(
        routes=site.routes(),
        exception_handlers={
            HalflifeError: site.failed,
            HTTPException: site.failed,
            Exception: site.failed,
        },
    )
    app.state.site = site
    # No answer holds a secret of the server: see docs/decisions/compressed-pages.md.
    small = GZipMiddleware(app, minimum_size=WORTH_IT, compresslevel=QUICK)
    guard = Guard(
        small,
        setting.token,
        setting.hosts,
        setting.cookie,
        setting.tokens,
        setting.opening,
    )
    return app, guard


def hosts(bind: str, port: int, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the values of ``Host`` of this server.

    >>> hosts("127.0.0.1", 8787)
    ('127.0.0.1:8787', 'localhost:8787', '[::1]:8787')
    """
    own = f"[{bind}]" if ":" in bind else bind
    names = dict.fromkeys(["127.0.0.1", "localhost", "[::1]", own, *more])
    return tuple(f"{name}:{port}" for name in names if name not in {"0.0.0.0", "[::]"})  # noqa: S104
