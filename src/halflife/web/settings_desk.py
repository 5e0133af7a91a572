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
REMEMBERED = 16  # texts for which forms were made
LINES = 400  # of a difference that are shown
LONGEST = 500  # characters of a line of it
AROUND = 3  # lines that stay, shown around what changes


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a difference: ``+``, ``-``, or a space for one that stays."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the settings that was not saved yet.

    Attributes:
        what: What it changes, in words.
        mark: Stands for the text that it was made for.
        before: That text; None if there is no file.
        after: The text that it makes of it.
        source: The source that it is about; empty if none.

    """

    what: str
    mark: str
    before: str | None
    after: str
    source: str = ""

    @property
    def diff(self) -> list[DiffLine]:
        """What it changes, line by line."""
        return compare(self.before or "", self.after)

    @property
    def changes(self) -> bool:
        """Whether anything becomes different."""
        return (self.before or "") != self.after


class ValuesError(HalflifeError):
    """Values that cannot be used.

    Args:
        why: What is wrong with each, by its name; an empty name is for all together.

    """

    def __init__(self, why: Mapping[str, str]) -> None:
        said = [f"{name}: {one}" if name else one for name, one in why.items()]
        super().__init__("; ".join(said))
        self.why = dict(why)


class ClashError(HalflifeError):
    """Somebody else has written the settings meanwhile; nothing was saved.

    Args:
        said: What happened, in words.
        theirs: What they changed; None if that is not known any more.
        mine: What was not saved.

    """

    def __init__(
        self, said: str, theirs: Sequence[DiffLine] | None, mine: Sequence[DiffLine]
    ) -> None:
        super().__init__(said)
        self.theirs, self.mine = theirs, mine


class SettingsDesk:
    """Proposes changes of a settings file, saves and undoes them.

    Args:
        path: Returns the settings file that is shown.
        saved: Is called when the file has been written.

    """

    def __init__(self, path: Callable[[], Path], saved: Callable[[], None]) -> None:
        self._path, self._saved = path, saved
        self._seen: OrderedDict[str, str | None] = OrderedDict()
        self._read: tuple[str, dict[str, Any]] = ("", {})

    @property
    def history(self) -> SettingsHistory:
        """What was changed before."""
        path = self._path()
        try:
            written = SettingsHistory(path, bootstrap.clock).read() or ""
            store = self._tables(written).get("store", Config().store)
        except ConfigError:
            store = ""
        return SettingsHistory(path, bootstrap.clock, str(store))

    def _tables(self, text: str) -> dict[str, Any]:
        """Return what a text holds; the last one is remembered, for it may be long."""
        mark, (known, tables) = mark_of(text), self._read
        if mark != known:
            try:
                tables = tomllib.loads(text)
            except ValueError as error:
                said = f"{self._path()}: not valid TOML: {words.plain(error)}"
                raise ConfigError(said) from None
            self._read = mark, tables
        return tables

    def text(self) -> str | None:
        """Return the settings as they are; they are remembered for a later clash."""
        found = SettingsHistory(self._path(), bootstrap.clock).read()
        self._seen[mark_of(found)] = found
        self._seen.move_to_end(mark_of(found))
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return found

    def add(self, source: SourceConfig) -> Proposal:
        """Propose to add a source, or its pages to the one of the same name."""
        before = self.text()
        written = edit.TEMPLATE if before is None else before
        names = [one.get("name") for one in self._tables(written).get("source", ())]
        known = source.name in names
        if known and not by_item([source]):
            raise ValuesError({"name": f"a source is named {source.name!r} already"})
        what = f"more of {source.name}" if known else f"new source {source.name}"
        if known:
            text = edit.text_with_sources(written, [source])
        else:
            text = edit.text_with_new_source(written, source)
        return self._proposal(what, before, text, source.name)

    def table(self, name: str) -> dict[str, Any]:
        """Return what is written of a source; raise ``UsageError`` if nothing is."""
        return self._table(self._there(), name)

    def budget(self) -> dict[str, Any]:
        """Return what is written of the budget, and what holds where nothing is."""
        given = self._tables(self.text() or "").get("budget", {})
        try:
            written = BudgetConfig.model_validate(given)
        except ValidationError as error:
            raise ConfigError(f"{self._path()}: budget: {problem(error)}") from None
        return {"requests": written.requests, "per": written.per}

    def change_source(self, name: str, values: Mapping[str, Any]) -> Proposal:
        """Propose other values of a source; None takes one out."""
        before = self._there()
        table = self._table(before, name)
        for key in values:
            if key not in EDITABLE:
                said = f"cannot be changed here; these can: {', '.join(EDITABLE)}"
                raise ValuesError({key: said})
        wanted = {k: v for k, v in {**table, **values}.items() if v is not None}
        try:
            read_source(wanted)
        except ValidationError as error:
            raise ValuesError(by_field(error.errors())) from None
        return self._proposal(
            f"{name}: {_listed(table, values)}",
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
        return self._proposal(f"budget: {_listed(table, values)}", before, text)

    def remove(self, name: str) -> Proposal:
        """Propose to take a source out; what is known of it is kept."""
        before = self._there()
        self._table(before, name)
        text = edit.text_without(before, name)
        return self._proposal(f"remove {name}", before, text, name)

    def save(self, proposal: Proposal, mark: str = "") -> SettingsChange:
        """Write a change; raise ``ClashError`` if it was made for an older file.

        ``mark`` is of the text that somebody has seen; if that is not the one that the
        proposal was made for, the proposal was not what they agreed to.
        """
        seen = mark or proposal.mark
        if seen != proposal.mark:
            name = self._path().name
            said = f"{name} has changed on disk meanwhile; nothing was saved"
            raise ClashError(said, self._theirs(seen), proposal.diff)
        try:
            Config.parse(proposal.after, self._path())
        except ConfigError as error:  # of another table: what is changed was checked
            raise ValuesError({"": words.plain(error)}) from None
        try:
            done = self.history.write(proposal.mark, proposal.after, proposal.what)
        except SettingsChanged as error:
            said = str(error)
            raise ClashError(said, self._theirs(seen), proposal.diff) from None
        self._saved()
        return done

    def undo(self, number: int | None = None) -> SettingsChange:
        """Take back the last change; raise ``ClashError`` if it was not the last."""
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
        for one in self._tables(text).get("source", ()):
            if one.get("name") == name:
                return dict(one)
        raise UsageError(f"no source is named {name!r} in the settings")

    def _there(self) -> str:
        found = self.text()
        if found is None:
            raise UsageError("there are no settings yet; add a source first")
        return found

    def _proposal(
        self, what: str, before: str | None, after: str, source: str = ""
    ) -> Proposal:
        return Proposal(words.plain(what), mark_of(before), before, after, source)


def compare(before: str, after: str) -> list[DiffLine]:
    r"""Return what differs between two texts, with three lines around each place.

    >>> compare("a = 1\n", "a = 2\n")
    [DiffLine(sign='-', text='a = 1'), DiffLine(sign='+', text='a = 2')]
    """
    old, new = before.splitlines(), after.splitlines()
    same = _shared(old, new)  # few lines change, of files that may be long
    end = _shared(old[same:][::-1], new[same:][::-1])
    begin, end = max(same - AROUND, 0), max(end - AROUND, 0)
    old, new = old[begin : len(old) - end], new[begin : len(new) - end]
    lines = list(difflib.unified_diff(old, new, lineterm="", n=AROUND))[2:]
    found = [_line(one) for one in lines[:LINES]]
    if found and found[0].sign == "@":
        found = found[1:]
    if len(lines) > LINES:
        found.append(DiffLine("@", f"{len(lines) - LINES} lines more"))
    return found


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _line(text: str) -> DiffLine:
    if text.startswith("@@"):
        return DiffLine("@", "…")
    said = words.plain(text[1:])
    return DiffLine(text[:1], said if len(said) <= LONGEST else f"{said[:LONGEST]}…")


def _listed(table: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Say which values change."""
    said = [
        f"{key} {'none' if value is None else _written(value)}"
        for key, value in values.items()
        if _same(table.get(key)) != _same(value)
    ]
    return ", ".join(said) or "nothing"


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
    found: dict[str, str] = {}
    for one in errors:
        name = str(one["loc"][0]) if one["loc"] else ""
        said = one["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if not name and "target" in said:
            name = "target"
        found.setdefault(name, words.plain(said[:1].lower() + said[1:]))
    return found
