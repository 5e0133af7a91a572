"""The page that adds a source: fetch an address, show the guess, save it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from halflife.core.errors import ConfigError, HalflifeError, UsageError
from halflife.engine import bootstrap
from halflife.recognition.guess import Corrections
from halflife.web import form_values, trials, words
from halflife.web.pages import Answer
from halflife.web.replies import as_json
from halflife.web.settings_desk import ClashError, Proposal, ValuesError
from halflife.web.trials import AddressTrial

if TYPE_CHECKING:
    from halflife.web.app import ProjectPages

UNUSABLE, CLASH, GONE, BROKEN = 422, 409, 410, 500
AGAIN = "2"  # seconds after which a browser without scripts reloads
LOST = "This trial is no longer kept. Fetch the address again."


@dataclass(frozen=True, slots=True)
class AddForm:
    """The form to add a source, as it was filled in.

    Attributes:
        given: The fields, by their names.
        fields: The fields of records to keep.

    """

    given: Mapping[str, str]
    fields: Sequence[str] = ()

    def values(self) -> dict[str, Any]:
        """Return its values as settings; raise ``ValuesError``."""
        name = self.given.get("name", "").strip() or None
        return {
            **form_values.source_values(self.given),
            "name": name,
            "fields": list(self.fields),
        }


class AddPage:
    """The routes of the page that adds a source.

    Args:
        site: The pages that these belong to.

    """

    def __init__(self, site: "ProjectPages") -> None:
        self._site = site

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [
            Route("/add", self.show),
            Route("/add", self.begin, methods=["POST"]),
            Route("/add/trial.json", self.state),
            Route("/add/save", self.save, methods=["POST"]),
        ]

    def show(self, request: Request) -> Response:
        """Answer with the form, or with the result of a trial."""
        params = request.query_params
        form = AddForm(dict(params), params.getlist("field"))
        name = params.get("trial", "")
        trial = self._site.trials.find(name) if name else None
        if name and trial is None:
            return self._respond(form, GONE, errors={"url": LOST})
        return self._respond(form, trial=trial)

    def state(self, request: Request) -> Response:
        """Answer with whether a trial has ended, for the script of the page."""
        trial = self._site.trials.find(request.query_params.get("trial", ""))
        return as_json(
            {
                "state": "lost" if trial is None else trial.state,
                "answered": [] if trial is None else trial.steps,
            }
        )

    async def begin(self, request: Request) -> Response:
        """Start a trial."""
        form = AddForm(form_values.given_fields(await request.form()))
        return await run_in_threadpool(self._begin, form)

    def _begin(self, form: AddForm) -> Response:
        given = form.given
        try:
            trial = start_trial(self._site, given)
        except UsageError as error:
            return self._respond(form, UNUSABLE, errors={"url": words.plain(error)})
        query = urlencode({"trial": trial.id, "url": trial.url})
        return RedirectResponse(f"/add?{query}", 303)

    async def save(self, request: Request) -> Response:
        """Write the source into the settings."""
        sent = await request.form()
        chosen = [str(name) for name in sent.getlist("field")]
        form = AddForm(form_values.given_fields(sent), chosen)
        answer = await run_in_threadpool(self._save, form)
        if isinstance(answer, Response):
            return answer
        if form.given.get("then") == "fetch":
            await self._site.start_sync(answer.source)
        return RedirectResponse(f"/edit?{urlencode(self._saved(answer))}", 303)

    def _saved(self, proposal: Proposal) -> dict[str, str]:
        last = self._site.desk.history.last()
        number = str(last.number) if last else ""
        return {"name": proposal.source, "saved": number}

    def _save(self, form: AddForm) -> Response | Proposal:
        trial = self._site.trials.find(form.given.get("trial", ""))
        if trial is None:
            return self._respond(form, GONE, errors={"url": LOST})
        try:
            proposal = propose(self._site, trial, form.values())
            self._site.desk.save(proposal, form.given.get("mark", ""))
        except ValuesError as error:
            return self._respond(form, UNUSABLE, trial=trial, errors=error.why)
        except ClashError as error:
            return self._respond(form, CLASH, trial=trial, clash=error)
        except ConfigError as error:
            wrong = {"": words.plain(error)}
            return self._respond(form, BROKEN, trial=trial, errors=wrong)
        register_pages(self._site)
        return proposal

    def _respond(
        self,
        form: AddForm,
        status: int = 200,
        *,
        trial: AddressTrial | None = None,
        errors: Mapping[str, str] | None = None,
        clash: ClashError | None = None,
    ) -> Response:
        config, wrong = self._site.board.config(), dict(errors or {})
        result = None if trial is None else trials.trial_answer(trial, config)
        proposal = self._proposed(form, trial, wrong)
        answer: Answer = {
            "trial": result,
            "inputs": self._inputs(form, result),
            "chosen": set(form.fields) or set((result or {}).get("fields", ())),
            "errors": wrong,
            "proposal": proposal,
            "clash": clash,
            "mark": proposal.mark if proposal else "",
            "file": self._site.board.path.name,
            "per": config.budget.per,
        }
        html = self._site.render(
            "add.html",
            page="add",
            title="Add a source",
            answer=answer,
            waiting=self._site.board.waiting,
        )
        running = result is not None and result["state"] == "running"
        headers = {"refresh": AGAIN} if running else {}
        return Response(html, status, headers, media_type="text/html")

    def _proposed(
        self, form: AddForm, trial: AddressTrial | None, wrong: dict[str, str]
    ) -> Proposal | None:
        """Return the change that a form makes; if there is none, fill ``wrong``."""
        if trial is not None and trial.state == "failed":
            wrong.setdefault("url", words.plain(trial.trouble))
        if trial is None or trial.state != "done" or trial.guess is None:
            return None
        try:
            return propose(self._site, trial, form.values())
        except ValuesError as error:
            if not wrong:
                wrong |= error.why
            return None

    def _inputs(self, form: AddForm, result: Answer | None) -> dict[str, str]:
        """Return the contents of the fields: what was typed, or defaults."""
        usual = {"url": "", "name": "", "target": "", "weight": "", "max_requests": ""}
        result = result or {}
        usual |= {"url": result.get("url", ""), "name": result.get("name", "")}
        usual |= dict(result.get("given", {}))
        given = {name: words.plain(value) for name, value in form.given.items()}
        target = form.given.get("target", "")
        return {**usual, **given, "target": target}


def corrections(given: Mapping[str, str]) -> Corrections:
    """Return the corrections of a guess in a form."""
    names = ("records", "key", "next")
    return Corrections(**{name: given.get(name, "").strip() for name in names})


def start_trial(site: "ProjectPages", given: Mapping[str, str]) -> AddressTrial:
    """Start a trial of an address; raise ``UsageError`` if it is none.

    If the form names an earlier trial of the same address, its answers are used again.
    """
    url, before = given.get("url", "").strip(), given.get("trial", "")
    if not url:
        raise UsageError("Give an address, such as https://example.org/news.")
    return site.trials.start(
        site.board.config(),
        url,
        given.get("kind", ""),
        corrections(given),
        site.trials.find(before),
    )


def propose(
    site: "ProjectPages", trial: AddressTrial, values: Mapping[str, Any]
) -> Proposal:
    """Return the change that adds the source of a trial; raise ``ValuesError``."""
    return site.desk.add(trials.trial_source(trial, site.board.config(), values))


def register_pages(site: "ProjectPages") -> str:
    """Write the pages of the settings to the state; return what was wrong.

    If the state cannot be written now, the next sync does it.
    """
    try:
        with bootstrap.writing(site.board.config()):
            return ""
    except HalflifeError as error:
        return str(error)
