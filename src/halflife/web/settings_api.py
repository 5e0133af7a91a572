"""The part of the HTTP API that changes settings, as the pages Add and Settings do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from halflife.config import WINDOW_DAYS
from halflife.core.errors import UsageError
from halflife.web import add_page, trials, words
from halflife.web.openapi import ApiParameter, ApiRoute
from halflife.web.pages import Answer
from halflife.web.replies import as_json, read_json
from halflife.web.settings_desk import (
    EDITABLE,
    ClashError,
    DiffLine,
    Proposal,
    ValuesError,
)

if TYPE_CHECKING:
    from halflife.web.app import ProjectPages

Body: TypeAlias = dict[str, Any]
Work: TypeAlias = Callable[["SettingsApi", Request, Body], Answer]

TEXT: Answer = {"type": "string"}
TEXTS: Answer = {"type": "array", "items": TEXT}
COUNT: Answer = {"type": ["integer", "null"], "minimum": 1}
HOW: Answer = {
    "mark": {**TEXT, "description": "Mark of the settings as they were seen."},
    "dry_run": {"type": "boolean", "description": "Show the change; save nothing."},
}
VALUES: Answer = {
    "target": {"type": ["string", "array", "null"], "items": TEXT},
    "weight": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "max_requests": COUNT,
}
ABOUT = ("kind", "key", "records", "next", "trial")


def _answering(status: int) -> Callable[[Work], Callable[..., Any]]:
    """Answer a request for a change with this status, or with its errors."""

    def wrapped(work: Work) -> Callable[..., Any]:
        @wraps(work)
        async def answer(api: "SettingsApi", request: Request) -> Response:
            body = await _body(request)
            try:
                result = await run_in_threadpool(work, api, request, body)
            except ValuesError as error:
                wrong = {"said": words.plain(error), "values": error.why}
                return as_json({"status": 422, **wrong}, 422)
            except ClashError as error:
                theirs = None if error.theirs is None else _diff(error.theirs)
                both = {"theirs": theirs, "mine": _diff(error.mine)}
                return as_json({"status": 409, "said": str(error), **both}, 409)
            return as_json(result, status)

        return answer

    return wrapped


class SettingsApi:
    """The API routes that change settings.

    Args:
        site: The pages with the same functions.

    """

    def __init__(self, site: "ProjectPages") -> None:
        self._site = site

    def table(self) -> Iterator[ApiRoute]:
        """Return all routes."""
        name = (ApiParameter("name", "The name of a source."),)
        yield from self._trials()
        about = "Add the source of a trial; the answer is the change."
        more = {"name": TEXT, "fields": TEXTS, **VALUES, **HOW}
        yield ApiRoute(
            "POST", "/sources", "add", about, self.add, (), {"trial": TEXT}, more
        )
        about = "Change target, weight or limit of a source, or pause it; null: none."
        more = {**VALUES, "paused": {"type": "boolean"}, **HOW}
        path = "/sources/{name}"
        yield ApiRoute("PATCH", path, "edit", about, self.edit, name, {}, more)
        about = "Remove a source from the settings; its observations are kept."
        given = (*name, ApiParameter("mark", "Mark of the settings as they were seen."))
        yield ApiRoute("DELETE", path, "remove", about, self.remove, given)
        about = "Change the budget of the project."
        per = {"type": "string", "enum": list(WINDOW_DAYS)}
        body, more = (
            {"requests": {"type": "integer", "minimum": 1}},
            {"per": per, **HOW},
        )
        yield ApiRoute("PATCH", "/budget", "budget", about, self.budget, (), body, more)
        about = "The last changes of the settings, latest first."
        yield ApiRoute("GET", "/settings/changes", "settings", about, self.changes)
        about = "Undo the last change of the settings, if it is still the last."
        body = {"number": {"type": "integer", "minimum": 1}}
        path = "/settings/undo"
        yield ApiRoute("POST", path, "undo", about, self.undo, (), body)

    def _trials(self) -> Iterator[ApiRoute]:
        about = "Start to fetch an address, to recognise what it is."
        more = dict.fromkeys(ABOUT, TEXT)
        yield ApiRoute(
            "POST", "/trials", "try", about, self.begin, (), {"url": TEXT}, more
        )
        about = "The result of a trial, as far as it is known."
        given = (ApiParameter("trial", "The name of a trial."),)
        path = "/trials/{trial}"
        yield ApiRoute("GET", path, "trial", about, self.trial, given)

    @_answering(202)
    def begin(self, request: Request, body: Body) -> Answer:
        """Start a trial."""
        del request
        _only(body, ("url", *ABOUT))
        for name, value in body.items():
            if not isinstance(value, str):
                raise ValuesError({name: "should be a string"})
        try:
            trial = add_page.start_trial(self._site, body)
        except UsageError as error:
            raise ValuesError({"url": words.plain(error)}) from None
        return trials.trial_answer(trial, self._site.board.config())

    def trial(self, request: Request) -> Response:
        """Answer with a trial."""
        name = request.path_params["trial"]
        return as_json(trials.trial_answer(self._find(name), self._site.board.config()))

    def _find(self, name: object) -> trials.AddressTrial:
        trial = self._site.trials.find(str(name))
        if trial is None:
            raise UsageError("there is no such trial, or it is no longer kept")
        return trial

    @_answering(201)
    def add(self, request: Request, body: Body) -> Answer:
        """Add the source of a trial."""
        del request
        _only(body, ("trial", "name", "fields", *VALUES, *HOW))
        trial = self._find(body.pop("trial", ""))
        if trial.state == "running":
            raise HTTPException(409, "the trial has not ended yet")
        values = {k: v for k, v in body.items() if k not in HOW}
        if not isinstance(values.get("fields", []), list):
            raise ValuesError({"fields": "should be a list of names"})
        answer = self._save(add_page.propose(self._site, trial, values), body)
        if answer["saved"]:
            add_page.register_pages(self._site)
        return answer

    @_answering(200)
    def edit(self, request: Request, body: Body) -> Answer:
        """Change some values of a source."""
        _only(body, (*EDITABLE, *HOW))
        values = {k: v for k, v in body.items() if k not in HOW}
        if values.get("paused") is False:
            values["paused"] = None
        name = request.path_params["name"]
        return self._save(self._site.desk.change_source(name, values), body)

    @_answering(200)
    def remove(self, request: Request, body: Body) -> Answer:
        """Remove a source."""
        del body
        proposal = self._site.desk.remove(request.path_params["name"])
        return self._save(proposal, {"mark": request.query_params.get("mark", "")})

    @_answering(200)
    def budget(self, request: Request, body: Body) -> Answer:
        """Change the budget."""
        del request
        _only(body, ("requests", "per", *HOW))
        values = {k: v for k, v in body.items() if k not in HOW}
        return self._save(self._site.desk.change_budget(values), body)

    def changes(self, request: Request) -> Response:
        """Answer with the last changes, without texts, as read scope suffices."""
        del request
        history = self._site.desk.history
        last = history.last()
        return as_json(
            {
                "last": None if last is None else last.number,
                "results": [
                    {"number": c.number, "at": words.date(c.at), "what": c.what}
                    for c in history.changes()
                ],
            }
        )

    @_answering(200)
    def undo(self, request: Request, body: Body) -> Answer:
        """Undo the last change."""
        del request
        _only(body, ("number",))
        number = body.get("number")
        if type(number) is not int:
            raise ValuesError({"number": "should be the number of the last change"})
        done = self._site.desk.undo(number)
        return {"undone": done.number, "what": done.what}

    def _save(self, proposal: Proposal, how: Mapping[str, Any]) -> Answer:
        """Save a change, except in a dry run or if it changes nothing."""
        mark, dry = how.get("mark") or "", how.get("dry_run") or False
        if not isinstance(mark, str) or not isinstance(dry, bool):
            raise ValuesError(
                {"": "mark should be a string, and dry_run true or false"}
            )
        done = None
        if proposal.changes and not dry:
            done = self._site.desk.save(proposal, mark)
        return {
            "source": proposal.source,
            "what": proposal.what,
            "mark": proposal.mark,
            "diff": _diff(proposal.diff),
            "saved": done is not None,
            "number": None if done is None else done.number,
        }


def _diff(lines: Sequence[DiffLine]) -> list[Answer]:
    return [asdict(line) for line in lines]


def _only(body: Body, known: tuple[str, ...]) -> None:
    """Raise ``ValuesError`` if the body has an unknown key."""
    for name in body:
        if name not in known:
            why = f"is not a known key; known keys: {', '.join(known)}"
            raise ValuesError({words.plain(name)[:80]: why})


async def _body(request: Request) -> Body:
    """Return the JSON object in the body; an empty one for ``DELETE``."""
    try:
        given = await read_json(request) if request.method != "DELETE" else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise HTTPException(400, "send a JSON object")
    return given
