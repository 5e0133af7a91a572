"""The page that changes settings of a source or the budget, and undoes changes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from halflife.config import WINDOW_DAYS
from halflife.config.history import SettingsChange, mark_of
from halflife.config.kinds import USUAL, settings_of
from halflife.core.errors import ConfigError, UsageError
from halflife.web import form_values, words
from halflife.web.pages import Answer, whole
from halflife.web.settings_desk import ClashError, Proposal, ValuesError, compare

if TYPE_CHECKING:
    from halflife.web.app import ProjectPages

UNUSABLE, CLASH, BROKEN = 422, 409, 500


class EditPage:
    """The routes of the page that changes settings.

    Args:
        site: The pages that these belong to.

    """

    def __init__(self, site: "ProjectPages") -> None:
        self._site, self._desk = site, site.desk

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [
            Route("/edit", self.show),
            Route("/edit/save", self.save, methods=["POST"]),
            Route("/edit/undo", self.undo, methods=["POST"]),
        ]

    def show(self, request: Request) -> Response:
        """Answer with a form, and the change that it would make."""
        return self._respond(dict(request.query_params))

    async def save(self, request: Request) -> Response:
        """Save the form, if it is valid and the file has not changed meanwhile."""
        given = form_values.given_fields(await request.form())
        return await run_in_threadpool(self._save, given)

    async def undo(self, request: Request) -> Response:
        """Undo the last change."""
        given = form_values.given_fields(await request.form())
        return await run_in_threadpool(self._undo, given)

    def _save(self, given: dict[str, str]) -> Response:
        try:
            proposal = self._proposed(given)
            if not proposal.changes:
                return _back(given.get("name", ""), unchanged="1")
            done = self._desk.save(proposal, given.get("mark", ""))
        except ValuesError as error:
            return self._respond(given, UNUSABLE, errors=error.why)
        except ClashError as error:
            return self._respond(given, CLASH, clash=error)
        except ConfigError as error:
            return self._respond(given, BROKEN, errors={"": words.plain(error)})
        removed = "remove" in given
        name = "" if removed else given.get("name", "")
        return _back(name, saved=str(done.number))

    def _undo(self, given: dict[str, str]) -> Response:
        number = whole(given.get("number", ""), 0)
        about = {"name": given["name"]} if self._is_there(given.get("name", "")) else {}
        try:
            self._desk.undo(number or None)
        except ClashError as error:
            return self._respond(about, CLASH, clash=error, undoing=True)
        except (ConfigError, UsageError) as error:
            return self._respond(about, BROKEN, errors={"": words.plain(error)})
        name = about.get("name", "")
        return _back(name if self._is_there(name) else "", undone="1")

    def _is_there(self, name: str) -> bool:
        try:
            self._desk.table(name)
        except (UsageError, ConfigError):
            return False
        return True

    def _proposed(self, given: Mapping[str, str]) -> Proposal:
        """Return the requested change; raise ``ValuesError``."""
        name = given.get("name", "")
        if not name:
            return self._desk.change_budget(form_values.budget_values(given))
        if "remove" in given:
            return self._desk.remove(name)
        return self._desk.change_source(name, form_values.source_values(given))

    def _respond(
        self,
        given: dict[str, str],
        status: int = 200,
        *,
        errors: Mapping[str, str] | None = None,
        clash: ClashError | None = None,
        undoing: bool = False,
    ) -> Response:
        name = given.get("name", "")
        answer = self._about(name) if name else self._project()
        if status != 200 or {"preview", "remove"} & {*given}:
            if not undoing:
                answer["inputs"] |= {"paused": ""} | given
            answer |= self._previewed(given) if not undoing else {}
        answer["errors"] = dict(errors or answer.get("errors", {}))
        answer |= {
            "clash": clash,
            "undoing": undoing,
            "mark": mark_of(self._desk.text()),
            "removing": "remove" in given,
            **self._past(given),
        }
        html = self._site.render(
            "edit.html",
            page="edit",
            title=_title(name, removing="remove" in given),
            answer=answer,
            waiting=self._site.board.waiting,
        )
        return Response(html, status, media_type="text/html")

    def _previewed(self, given: Mapping[str, str]) -> Answer:
        try:
            return {"proposal": self._proposed(given)}
        except ValuesError as error:
            return {"errors": error.why}

    def _about(self, name: str) -> Answer:
        """Return the form of a source as the settings have it."""
        table = self._desk.table(name)
        kind = settings_of(str(table.get("kind", USUAL)))
        return {
            "source": name,
            "measure": min(kind.measures, default="age"),
            "inputs": form_values.typed(table),
            "is_paused": bool(table.get("paused")),
            "per": self._desk.budget()["per"],
            "proposal": None,
        }

    def _project(self) -> Answer:
        """Return the form of the budget as the settings have it."""
        budget = self._desk.budget()
        return {
            "source": "",
            "inputs": {"requests": str(budget["requests"]), "per": budget["per"]},
            "windows": list(WINDOW_DAYS),
            "proposal": None,
        }

    def _past(self, given: Mapping[str, str]) -> Answer:
        """Return the earlier changes, and the one that was just saved."""
        history = self._desk.history
        changes, last = history.changes(), history.last()
        number = whole(given.get("saved", ""), 0)
        saved = next((c for c in changes if c.number == number), None)
        return {
            "file": self._site.board.path.name,
            "saved": None if saved is None else _change_answer(saved),
            "undone": "undone" in given,
            "unchanged": "unchanged" in given,
            "last": 0 if last is None else last.number,
            "changes": [_change_answer(change) for change in changes],
        }


def _title(name: str, *, removing: bool) -> str:
    if not name:
        return "Settings"
    return f"Remove {name}?" if removing else f"Edit {name}"


def _change_answer(change: SettingsChange) -> Answer:
    return {
        "number": change.number,
        "at": words.date(change.at),
        "what": words.plain(change.what),
        "diff": compare(change.before or "", change.after),
    }


def _back(name: str, **more: str) -> Response:
    query = urlencode({**({"name": name} if name else {}), **more})
    return RedirectResponse(f"/edit?{query}", 303)
