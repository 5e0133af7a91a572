"""Changes of the settings from the page and the API: proposed, shown, saved, undone."""

import difflib
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from halflife.config import BudgetConfig, Config, SourceConfig, edit, problem
from halflife.config.history import SettingsChange, SettingsHistory, mark_of
from halflife.config.kinds import read_source
from halflife.core.errors import (
    ConfigError,
    HalflifeError,
    SettingsChanged,
    UsageError,
)
from halflife.engine import bootstrap
from halflife.engine.groups import by_item
from halflife.web import words

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

EDITABLE = ("target", "weight", "max_requests", "paused")
REMEMBERED = 16  # texts that forms were filled from
LINES = 400  # lines of a diff that are shown
LONGEST = 500  # characters of a line of it
AROUND = 3  # unchanged lines shown around a change


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff: ``+``, ``-``, or a space for an unchanged one."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the settings that is not saved yet.

    Attributes:
        what: A short description of the change.
        mark: The mark of the text before.
        before: The text before; None if there is no file.
        after: The text after.
        source: The source that it changes; empty if none.

    """

    what: str
    mark: str
    before: str | None
    after: str
    source: str = ""

    @property
    def diff(self) -> list[DiffLine]:
        """The change as a diff."""
        return compare(self.before or "", self.after)

    @property
    def changes(self) -> bool:
        """Whether the texts differ."""
        return (self.before or "") != self.after


class ValuesError(HalflifeError):
    """Values that cannot be used.

    Args:
        why: What is wrong with each, by its name; an empty name is for all together.

    """

    def __init__(self, why: Mapping[str, str]) -> None:
        texts = [f"{name}: {text}" if name else text for name, text in why.items()]
        super().__init__("; ".join(texts))
        self.why = dict(why)


class ClashError(HalflifeError):
    """The settings have changed on disk meanwhile; nothing was saved.

    Args:
        message: What happened.
        theirs: The other change; None if it is no longer known.
        mine: The change that was not saved.

    """

    def __init__(
        self, message: str, theirs: Sequence[DiffLine] | None, mine: Sequence[DiffLine]
    ) -> None:
        super().__init__(message)
        self.theirs, self.mine = theirs, mine


class SettingsDesk:
    """Proposes changes of a settings file, saves and undoes them.

    Args:
        path: Returns the settings file that is shown.
        saved: Called when the file has been written.

    """

    def __init__(self, path: Callable[[], Path], saved: Callable[[], None]) -> None:
        self._path, self._saved = path, saved
        self._seen: OrderedDict[str, str | None] = OrderedDict()
        self._read: tuple[str, dict[str, Any]] = ("", {})

    @property
    def history(self) -> SettingsHistory:
        """The history of the settings file."""
        path = self._path()
        try:
            written = SettingsHistory(path, bootstrap.clock).read() or ""
            store = self._tables(written).get("store", Config().store)
        except ConfigError:
            store = ""
        return SettingsHistory(path, bootstrap.clock, str(store))

    def _tables(self, text: str) -> dict[str, Any]:
        """Parse a text; the result of the last one is cached, as it may be long."""
        mark, (known, tables) = mark_of(text), self._read
        if mark != known:
            try:
                tables = tomllib.loads(text)
            except ValueError as error:
                message = f"{self._path()}: not valid TOML: {words.plain(error)}"
                raise ConfigError(message) from None
            self._read = mark, tables
        return tables

    def text(self) -> str | None:
        """Return the text of the settings; remember it to explain a later clash."""
        text = SettingsHistory(self._path(), bootstrap.clock).read()
        self._seen[mark_of(text)] = text
        self._seen.move_to_end(mark_of(text))
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return text

    def add(self, source: SourceConfig) -> Proposal:
        """Propose to add a source, or its pages to the one of the same name."""
        before = self.text()
        written = edit.TEMPLATE if before is None else before
        tables = self._tables(written).get("source", ())
        known = source.name in [table.get("name") for table in tables]
        if known and not by_item([source]):
            raise ValuesError({"name": f"a source is named {source.name!r} already"})
        what = f"more of {source.name}" if known else f"new source {source.name}"
        if known:
            text = edit.text_with_sources(written, [source])
        else:
            text = edit.text_with_new_source(written, source)
        return self._proposal(what, before, text, source.name)

    def table(self, name: str) -> dict[str, Any]:
        """Return the settings table of a source; raise ``UsageError`` if none."""
        return self._table(self._existing_text(), name)

    def budget(self) -> dict[str, Any]:
        """Return the budget in the settings, with defaults for missing keys."""
        given = self._tables(self.text() or "").get("budget", {})
        try:
            written = BudgetConfig.model_validate(given)
        except ValidationError as error:
            raise ConfigError(f"{self._path()}: budget: {problem(error)}") from None
        return {"requests": written.requests, "per": written.per}

    def change_source(self, name: str, values: Mapping[str, Any]) -> Proposal:
        """Propose new values of a source; None removes one."""
        before = self._existing_text()
        table = self._table(before, name)
        for key in values:
            if key not in EDITABLE:
                why = f"cannot be changed here; these can: {', '.join(EDITABLE)}"
                raise ValuesError({key: why})
        wanted = {k: v for k, v in {**table, **values}.items() if v is not None}
        try:
            read_source(wanted)
        except ValidationError as error:
            raise ValuesError(by_field(error.errors())) from None
        return self._proposal(
            f"{name}: {_summary(table, values)}",
            before,
            edit.text_with_values(before, name, values),
            name,
        )

    def change_budget(self, values: Mapping[str, Any]) -> Proposal:
        """Propose another budget."""
        before = self.text()
        written = edit.TEMPLATE if before is None else before
        table = self._tables(written).get("budget", {})
        try:
            BudgetConfig.model_validate({**table, **values})
        except ValidationError as error:
            raise ValuesError(by_field(error.errors())) from None
        text = edit.text_with_budget(written, values)
        return self._proposal(f"budget: {_summary(table, values)}", before, text)

    def remove(self, name: str) -> Proposal:
        """Propose to remove a source; its observations are kept."""
        before = self._existing_text()
        self._table(before, name)
        text = edit.text_without(before, name)
        return self._proposal(f"remove {name}", before, text, name)

    def save(self, proposal: Proposal, mark: str = "") -> SettingsChange:
        """Write a change; raise ``ClashError`` if it was made for an older file.

        ``mark`` is that of the text the user has seen; if it differs from that of the
        proposal, the user has agreed to another change.
        """
        seen = mark or proposal.mark
        if seen != proposal.mark:
            name = self._path().name
            message = f"{name} has changed on disk meanwhile; nothing was saved"
            raise ClashError(message, self._theirs(seen), proposal.diff)
        try:
            Config.parse(proposal.after, self._path())
        except ConfigError as error:  # in another table: the change was checked
            raise ValuesError({"": words.plain(error)}) from None
        try:
            done = self.history.write(proposal.mark, proposal.after, proposal.what)
        except SettingsChanged as error:
            clash = ClashError(str(error), self._theirs(seen), proposal.diff)
            raise clash from None
        self._saved()
        return done

    def undo(self, number: int | None = None) -> SettingsChange:
        """Undo the last change; raise ``ClashError`` if ``number`` is another."""
        history = self.history
        try:
            done = history.undo(number)
        except SettingsChanged as error:
            last = next(
                (c for c in history.changes() if number in {None, c.number}), None
            )
            if last is None:
                raise UsageError("that change is no longer kept") from None
            raise ClashError(
                str(error),
                compare(last.after, self.text() or ""),
                compare(last.after, last.before or ""),
            ) from None
        self._saved()
        return done

    def _theirs(self, mark: str) -> list[DiffLine] | None:
        if mark not in self._seen:
            return None
        return compare(self._seen[mark] or "", self.text() or "")

    def _table(self, text: str, name: str) -> dict[str, Any]:
        """Return the table of a source; raise ``UsageError``."""
        for table in self._tables(text).get("source", ()):
            if table.get("name") == name:
                return dict(table)
        raise UsageError(f"no source is named {name!r} in the settings")

    def _existing_text(self) -> str:
        text = self.text()
        if text is None:
            raise UsageError("there are no settings yet; add a source first")
        return text

    def _proposal(
        self, what: str, before: str | None, after: str, source: str = ""
    ) -> Proposal:
        return Proposal(words.plain(what), mark_of(before), before, after, source)


def compare(before: str, after: str) -> list[DiffLine]:
    r"""Return the diff of two texts, with three lines around each change.

    >>> compare("a = 1\n", "a = 2\n")
    [DiffLine(sign='-', text='a = 1'), DiffLine(sign='+', text='a = 2')]
    """
    old, new = before.splitlines(), after.splitlines()
    same = _shared(old, new)  # files may be long, and few lines change
    end = _shared(old[same:][::-1], new[same:][::-1])
    begin, end = max(same - AROUND, 0), max(end - AROUND, 0)
    old, new = old[begin : len(old) - end], new[begin : len(new) - end]
    lines = list(difflib.unified_diff(old, new, lineterm="", n=AROUND))[2:]
    diff = [_line(line) for line in lines[:LINES]]
    if diff and diff[0].sign == "@":
        diff = diff[1:]
    if len(lines) > LINES:
        diff.append(DiffLine("@", f"{len(lines) - LINES} lines more"))
    return diff


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines two texts have in common at their beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _line(text: str) -> DiffLine:
    if text.startswith("@@"):
        return DiffLine("@", "…")
    line = words.plain(text[1:])
    return DiffLine(text[:1], line if len(line) <= LONGEST else f"{line[:LONGEST]}…")


def _summary(table: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return a line of the values that change."""
    changes = [
        f"{key} {'none' if value is None else _written(value)}"
        for key, value in values.items()
        if _same(table.get(key)) != _same(value)
    ]
    return ", ".join(changes) or "nothing"


def _same(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return str(value).removesuffix(".0")
    return "; ".join(value) if isinstance(value, list | tuple) else f"{value}"


def by_field(errors: "list[ErrorDetails]") -> dict[str, str]:
    """Return what is wrong with each value, by its name."""
    wrong: dict[str, str] = {}
    for error in errors:
        name = str(error["loc"][0]) if error["loc"] else ""
        message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if not name and "target" in message:
            name = "target"
        wrong.setdefault(name, words.plain(message[:1].lower() + message[1:]))
    return wrong
