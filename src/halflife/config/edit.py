"""Edit ``halflife.toml`` and keep its comments and order."""

import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflife.config import Config, SourceConfig
from halflife.config.kinds import written_kind
from halflife.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Item, Table

_JOINED = ("pages", "maps", "allow")  # lists that grow; their entries stay
_HEAD = re.compile(
    r"^[ \t]*\[{1,2}[ \t]*(?P<name>[\w-]+)(?P<rest>[^\]\n]*)\]", re.MULTILINE
)

TEMPLATE = """\
# Settings of halflife; every key is explained in docs/config.md.

store = "halflife.db"   # one SQLite file with everything halflife knows

[budget]
requests = 1000         # never more than this ...
per = "day"             # ... in any hour, day, week or month (30 days)

[policy]
name = "champion"       # `halflife policies` lists the others
objective = "harmonic"  # or "freshness", or "age"

[fetch]
# contact = "https://example.org/about-our-crawler"  # or a mail address: be reachable
delay = 1.0             # seconds between two requests to one host
concurrency = 16
timeout = 30            # seconds for one request, all in all
max_bytes = 8388608     # larger answers are refused

# [keep]
# observations_days = 90  # `halflife gc` removes single observations that are older

# Who is alerted when something is wrong; try it with `halflife alerts --test`.
#
# [[alert]]
# url = {env = "WEBHOOK"} # an address that holds a token is a secret
# every = "1d"            # how often a standing alarm is sent again

# What to keep. `halflife add URL` writes such tables for you.
#
# [[source]]
# name = "docs"
# pages = ["https://example.org/", "https://example.org/news"]
# maps = ["https://example.org/sitemap.xml"]   # sitemaps and feeds: find new pages
# weight = 1.0          # how much a fresh copy matters, relative to other sources
# kind = "site"         # or: begin at a page and follow links
# start = "https://example.org/"
# text = "visible"      # what counts as a change: visible text, "main" text, or "raw"
# [source.headers]
# Authorization = {env = "DOCS_TOKEN"}         # secrets come from the environment
"""


def init(path: Path) -> None:
    """Write a commented settings file; refuse to overwrite one."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise UsageError(f"{path} exists already; edit it, or remove it") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def add_sources(path: Path, sources: Iterable[SourceConfig]) -> Config:
    """Add sources to the file, or their pages to the sources of the same names.

    Comments and order are kept. The new text is checked first and replaces the old
    one in one step, so that a crash leaves one or the other.
    """
    text = with_sources(path, sources)
    config = Config.parse(text, path)
    replace(path, text)
    return config


def with_sources(path: Path, sources: Iterable[SourceConfig]) -> str:
    """Return the file's text with the sources added; write nothing."""
    Config.load(path)
    return text_with_sources(path.read_text(encoding="utf-8-sig"), sources)


def text_with_sources(text: str, sources: Iterable[SourceConfig]) -> str:
    """Return a settings text with the sources added."""
    import tomlkit  # noqa: PLC0415  (needed for writing only)

    document = tomlkit.parse(text)
    for source in sources:
        _add(document, source)
    return tomlkit.dumps(document)


def text_with_values(text: str, name: str, values: Mapping[str, object]) -> str:
    """Return a settings text with new values of a source; None removes a key.

    Comments and order are kept; a new key follows the last line of the source's table.
    """
    part = _part(text, "source", name)
    return _changed(text, part, lambda some: _with_values(some, name, values))


def _changed(
    text: str, part: tuple[int, int] | None, change: Callable[[str], str]
) -> str:
    """Return a text in which one table has changed; None if its place is unknown.

    To parse the table alone takes a thousandth of the time of parsing all.
    """
    if part is not None:
        begin, end = part
        try:
            return text[:begin] + change(text[begin:end]) + text[end:]
        except (ValueError, UsageError):
            pass  # the line was no table heading after all: parse the whole text
    return change(text)


def _with_values(text: str, name: str, values: Mapping[str, object]) -> str:
    """Return the text with new values of a source, after parsing all of it."""
    import tomlkit  # noqa: PLC0415

    document = tomlkit.parse(text)
    for table in document.get("source", ()):
        if table["name"] == name:
            _set(table, values)
            return tomlkit.dumps(document)
    raise UsageError(f"no source is named {name!r} in the settings")


def text_with_budget(text: str, values: Mapping[str, object]) -> str:
    """Return a settings text with new values of the budget."""
    part = _part(text, "budget")
    return _changed(text, part, lambda some: _with_budget(some, values))


def _with_budget(text: str, values: Mapping[str, object]) -> str:
    import tomlkit  # noqa: PLC0415

    document = tomlkit.parse(text)
    if "budget" not in document:
        document.append("budget", tomlkit.table())
    _set(document["budget"], values)
    return tomlkit.dumps(document)


def text_with_new_source(text: str, source: SourceConfig) -> str:
    """Return a settings text with a new source after the others."""
    parts = list(_parts(text)) if _is_plain(text) else []
    ends = [end for kind, _, end in parts if kind == "source"]
    if not ends and parts:
        return text_with_sources(text, [source])
    before, after = text[: max(ends, default=len(text))], text[max(ends, default=0) :]
    after = after if ends else ""
    # Comments at the end of a table belong to the one that follows.
    lines = before.splitlines(keepends=True)
    kept = len(lines)
    while (
        ends and kept and (not lines[kept - 1].strip() or _is_comment(lines[kept - 1]))
    ):
        kept -= 1
    above, below = "".join(lines[:kept]), "".join(lines[kept:]) + after
    above = above if not above or above.endswith("\n") else f"{above}\n"
    gap = "\n" if above.strip() else ""
    return f"{above}{gap}{source_text(source)}{below}"


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _is_plain(text: str) -> bool:
    """Return whether no string spans lines, so that every ``[`` line begins a table."""
    return '"""' not in text and "'''" not in text


def _parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the first word of each top-level table, and where it begins and ends.

    A subtable is part of its table. Parsing one table takes a thousandth of the time of
    parsing ten thousand.
    """
    heads = [
        (found["name"], found.start())
        for found in _HEAD.finditer(text)
        if not found["rest"].lstrip().startswith(".")
    ]
    ends = [*(begin for _, begin in heads[1:]), len(text)] if heads else []
    for (kind, begin), end in zip(heads, ends, strict=True):
        yield kind, begin, end


def _part(text: str, kind: str, name: str = "") -> tuple[int, int] | None:
    """Return where the only such table is; None if the whole text must be parsed."""
    if not _is_plain(text):
        return None
    found = [
        (begin, end)
        for word, begin, end in _parts(text)
        if word == kind and (not name or f'"{name}"' in text[begin:end])
    ]
    mine = [part for part in found if not name or _is_named(text[slice(*part)], name)]
    return mine[0] if len(mine) == 1 else None


def _is_named(part: str, name: str) -> bool:
    try:
        return [one["name"] for one in tomllib.loads(part)["source"]] == [name]
    except (ValueError, LookupError, TypeError):
        return False


def text_without(text: str, name: str) -> str:
    """Return a text without a source."""
    import tomlkit  # noqa: PLC0415

    document = tomlkit.parse(text)
    if name not in [str(table["name"]) for table in document.get("source", ())]:
        raise UsageError(f"no source is named {name!r} in the settings")
    _drop(document, name)
    return tomlkit.dumps(document)


def _set(table: Any, values: Mapping[str, object]) -> None:  # noqa: ANN401  (of tomlkit)
    """Change, add and remove keys of a table."""
    import tomlkit  # noqa: PLC0415

    added: dict[str, Any] = {}
    for key, value in values.items():
        if key not in table:
            added |= {} if value is None else {key: _in_line(value)}
        elif value is None:
            del table[key]
        elif _plain(table[key]) != value:
            table[key] = _in_line(value)
    last = _last_line(table)
    if last is None:
        for key, value in added.items():
            table[key] = value
    elif added:
        # Appended keys would follow the comments after the table, which belong to the
        # next one; so they are written after the last line.
        lines = "".join(
            f"{k} = {tomlkit.item(v).as_string()}\n" for k, v in added.items()
        )
        last.trivia.trail = f"{last.trivia.trail or chr(10)}{lines}"


def _plain(value: object) -> object:
    """Return a value of a document as a plain Python value."""
    unwrap = getattr(value, "unwrap", None)
    plain = unwrap() if unwrap else value
    return tuple(plain) if isinstance(plain, list) else plain


def _last_line(table: Any) -> "Item | None":  # noqa: ANN401  (of tomlkit)
    """Return the last value on its own line in a table; None if there is none."""
    from tomlkit.items import AbstractTable, AoT, InlineTable  # noqa: PLC0415

    if isinstance(table, InlineTable):
        return None
    items = [table.value.item(key) for key in table]
    lines = [item for item in items if not isinstance(item, AbstractTable | AoT)]
    return lines[-1] if lines else None


def source_text(source: SourceConfig) -> str:
    """Return the table that would be written for a source."""
    import tomlkit  # noqa: PLC0415

    document = tomlkit.document()
    _add(document, source)
    return tomlkit.dumps(document)


def with_renamed(path: Path, old: str, new: str) -> str:
    """Return the file's text with a source renamed; write nothing.

    If the file has a source of the new name, the old one's table is removed and its
    pages and maps are added to the other's. Comments and order are kept.
    """
    import tomlkit  # noqa: PLC0415

    document = tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    known = {str(table["name"]): table for table in document["source"].body}
    if new in known:
        for key in _JOINED:
            if key in known[old]:
                _extend(known[new], key, [str(url) for url in known[old][key]])
        _drop(document, old)
    else:
        known[old]["name"] = new
    return _checked(path, tomlkit.dumps(document))


def without(path: Path, name: str) -> str:
    """Return the file's text without a source; write nothing."""
    import tomlkit  # noqa: PLC0415

    document = tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    _drop(document, name)
    return _checked(path, tomlkit.dumps(document))


def _drop(document: "TOMLDocument", name: str) -> None:
    """Remove a source's table."""
    sources = document["source"]
    names = [str(table["name"]) for table in sources.body]
    del sources[names.index(name)]
    if not sources:
        del document["source"]


def _checked(path: Path, text: str) -> str:
    """Return the text if it holds valid settings; raise ``ConfigError``."""
    Config.parse(text, path)
    return text


def _add(document: "TOMLDocument", source: SourceConfig) -> None:
    """Write the keys that a source sets, values before tables as TOML requires."""
    table = _table_of(document, source.name)
    given = source.model_dump(exclude_unset=True, exclude_none=True)
    given |= written_kind(source)
    for key in _JOINED:
        if key in given:
            _extend(table, key, given[key])
    rest = {key: given[key] for key in given if key not in {"name", *_JOINED}}
    for key in sorted(rest, key=lambda key: isinstance(rest[key], dict)):
        table[key] = _written(rest[key])


def _written(value: object) -> Any:  # noqa: ANN401  (whatever TOML can hold)
    """Return a value of the settings as TOML; of a table, a line for each entry."""
    import tomlkit  # noqa: PLC0415

    if isinstance(value, tuple):
        return [*value]
    if not isinstance(value, dict):
        return value
    written = tomlkit.table()
    for name, entry in value.items():
        written[name] = _in_line(entry)
    return written


def _in_line(value: object) -> Any:  # noqa: ANN401  (whatever TOML can hold)
    """Return a value of the settings as TOML within a line."""
    import tomlkit  # noqa: PLC0415

    if isinstance(value, tuple | list):
        return [_in_line(item) for item in value]
    if not isinstance(value, dict):
        return value
    line = tomlkit.inline_table()
    line.update({key: _in_line(item) for key, item in value.items()})
    return line


def replace(path: Path, text: str) -> None:
    """Replace a file's content by ``text``, atomically."""
    target = path.resolve()
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            _write(handle, text, mode)
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)
        directory = os.open(target.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def _write(handle: int, text: str, mode: int) -> None:
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fchmod(handle, mode)
        os.fsync(handle)


def _table_of(document: "TOMLDocument", name: str) -> "Table":
    """Return the source's table; make one at the end of the file if there is none."""
    import tomlkit  # noqa: PLC0415
    from tomlkit.items import AoT  # noqa: PLC0415

    sources = document.get("source")
    if not isinstance(sources, AoT):
        sources = tomlkit.aot()
        document.append("source", sources)
    for known in sources.body:
        if known["name"] == name:
            return known
    table = tomlkit.table()
    table["name"] = name
    sources.append(table)
    return table


def _extend(table: "Table", key: str, values: Sequence[str]) -> None:
    import tomlkit  # noqa: PLC0415

    column = table.setdefault(key, tomlkit.array())
    known = set(column)
    for value in dict.fromkeys(values):
        if value not in known:
            column.append(value)
    if len(column) > 1:
        column.multiline(multiline=True)
