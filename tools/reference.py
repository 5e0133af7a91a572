"""Write the reference of the book from the code: ``make reference``.

Everything comes from what runs: the command line from its parser, the settings from
their models, the library from ``halflife.__all__``, the HTTP API from its OpenAPI
description, events and metrics from what writes them. Something without words raises
``Undocumented``. With ``--check`` nothing is written and stale pages are named.
"""

import argparse
import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main

import halflife
from halflife.alerts import ALARM_MEANINGS, AlarmKind, Health
from halflife.cli.app import VERBS, app
from halflife.core.change import CHANGE_KINDS, CHANGE_MEANINGS, Change
from halflife.engine import logs
from halflife.engine.health import ServiceStatus, exposition
from halflife.web.api import Api
from halflife.web.app import AppSetting, ProjectPages
from halflife.web.openapi import describe
from tools.reference_settings import settings
from tools.reference_words import ENTRY, SECTION, Undocumented, entries, plain, table

DOCS = Path(__file__).parents[1] / "docs"
PAPERS = (
    "quality-aware-repositories",
    "content-summaries",
    "incremental-crawling",
    "sampling-with-correlation",
    "content-freshness",
)
MADE = "<!-- Made from the code by `make reference`; change the code instead. -->"


# Command line


def option(name: str, param: Any) -> list[str]:  # noqa: ANN401  (typer's own click)
    """Return the row of an option or argument of a verb."""
    if not param.help:
        raise Undocumented(f"halflife {name} {param.opts[0]}: give it a help text")
    shown = param.metavar or str(param.name).upper()
    if param.opts[0].startswith("-"):
        value = "" if param.is_flag else f" {param.metavar or value_of(param)}"
        shown = ", ".join([*param.opts, *param.secondary_opts]) + value
    known = isinstance(param.default, str | int | float) and param.default is not False
    stated = f"`{param.default}`" if known and param.default != "" else ""
    return [
        f"`{plain(shown)}`",
        "" if param.default is True else stated,
        plain(param.help),
    ]


def value_of(param: Any) -> str:  # noqa: ANN401
    """Return what stands for the value of an option."""
    kind = param.type_descriptor.annotation
    choices = [str(getattr(one, "value", one)) for one in _choices(kind)]
    name = getattr(kind, "__name__", "value")
    return "|".join(choices) or {"int": "N", "float": "X"}.get(name, "TEXT")


def _choices(kind: object) -> Iterable[object]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)
    return get_args(kind) if get_origin(kind) is Literal else ()


def verb(name: str, command: Any) -> Iterator[str]:  # noqa: ANN401
    """Return the section of a verb, and those of the verbs below it."""
    if not command.help:
        raise Undocumented(f"halflife {name}: give it a docstring")
    yield f"## `halflife {name}`\n{prose(command.help)}\n"
    shown = [p for p in command.params if "--help" not in p.opts]
    rows = [option(name, p) for p in shown if not getattr(p, "hidden", False)]
    if rows:
        yield table(("argument or option", "default", "meaning"), rows)
    if hasattr(command, "commands"):
        for below, one in command.commands.items():
            yield from verb(f"{name} {below}", one)


def command_line() -> str:
    """Return the page of every verb and option."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    about = (
        "`halflife` has these verbs, arguments and options. The [command line by"
        " task](../cli.md) says what each is for, and what exit codes mean."
    )
    parts = [part for name in VERBS for part in verb(name, commands[name])]
    return page("Every verb and option", about, parts)


# Library


def prose(text: str) -> str:
    """Return a docstring as Markdown, its sections as lists."""
    text = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(text).replace("\b\n", ""))
    text = text.replace("](#", "](config.md#").replace("](", "](../")
    head, *parts = SECTION.split(text)
    head = re.sub(r"(?m)((?:^ {4}.*\n?)+)", _fenced, head.rstrip())
    head = re.sub(r"(?m)((?:^>>> .*\n(?:.+\n?)*)+)", _fenced, head + "\n").rstrip()
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        found = ENTRY.findall(body)
        lines = [f"- `{key}`: {' '.join(said.split())}" for key, said in found]
        head += f"\n\n{name}:\n\n" + ("\n".join(lines) or inspect.cleandoc(body))
    return head + "\n"


def _fenced(found: re.Match[str]) -> str:
    return f"```python\n{inspect.cleandoc(found[1])}\n```\n"


def members(kind: type) -> Iterator[str]:
    """Return the public methods and properties of a class, a row each."""
    for name, value in vars(kind).items():
        inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if name.startswith("_") or not inspect.isfunction(inner):
            continue
        if not inner.__doc__:
            raise Undocumented(f"{kind.__name__}.{name}: give it a docstring")
        shown = name if isinstance(value, property) else f"{name}{signature(inner)}"
        yield f"- `{shown}`: {plain(inner.__doc__.strip().splitlines()[0])}"


def signature(call: Callable[..., Any]) -> str:
    """Return what a function takes, without types: they stand in the text."""
    given = inspect.signature(call).parameters.values()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in given]
    kept = [p for p in bare if p.name not in ("self", "cls")]
    return str(inspect.Signature(kept)).replace("'", '"')


def public(name: str) -> str:
    """Return the section of a public name."""
    value = getattr(halflife, name)
    if not value.__doc__:
        raise Undocumented(f"halflife.{name}: give it a docstring")
    is_class = inspect.isclass(value)
    shown = "" if is_class else f"```python\n{name}{signature(value)}\n```\n"
    text = f"## `{name}`\n{shown}{prose(value.__doc__)}"
    rows = "\n".join(members(value)) if is_class else ""
    return f"{text}\n{rows}\n" if rows else text


def library() -> str:
    """Return the page of every public name."""
    about = (
        "`import halflife` offers these names and no others. [The library by"
        " example](../library.md) shows how they fit together."
    )
    names = sorted(halflife.__all__, key=lambda name: (name[0].isupper(), name))
    return page("Every public name", about, [public(name) for name in names])


# HTTP API


def described() -> dict[str, Any]:
    """Return the OpenAPI description that ``halflife serve`` answers with."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "halflife.toml"
        config.write_text("", encoding="utf-8")
        site = ProjectPages(AppSetting(config, "x" * 32, ("localhost",)))
        return describe("/api/v1", Api(site).table)


def address(path: str, method: str, route: Mapping[str, Any]) -> str:
    """Return the section of an address of the API."""
    if not route["summary"]:
        raise Undocumented(f"{method} {path}: say what it answers with")
    scope = route["security"][0]["token"][0]
    text = f"## `{method.upper()} {path}`\n{route['summary']} Scope: `{scope}`.\n"
    rows = [
        [f"`{one['name']}`", one["in"], plain(one["description"])]
        for one in route["parameters"]
    ]
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {})
    needed = body.get("schema", {}).get("required", [])
    for name, schema in body.get("schema", {}).get("properties", {}).items():
        kinds = schema.get("enum", schema.get("type", "any"))
        kind = kinds if isinstance(kinds, str) else " or ".join(map(str, kinds))
        place = "body" if name in needed else "body, optional"
        rows.append([f"`{name}`", place, kind])
    return text + ("\n" + table(("name", "in", "meaning"), rows) if rows else "")


def http_api() -> str:
    """Return the page of every address of the API."""
    about = (
        "`halflife serve` answers programs at these addresses, and describes them at"
        " `/api/v1/openapi.json`. [The API by example](../api.md) has tokens, errors"
        " and the form of answers."
    )
    paths = described()["paths"].items()
    parts = [address(p, m, route) for p, found in paths for m, route in found.items()]
    return page("Every address of the HTTP API", about, parts)


# Events and metrics


def events() -> str:
    """Return the page of every event: changes, alarms, the log of the service."""
    about = (
        "halflife reports three sorts of events: changes of pages and records, alarms,"
        " and the log of the service."
    )
    heads = ("event", "meaning")
    changes = [(f"`{kind}`", CHANGE_MEANINGS[kind]) for kind in CHANGE_KINDS]
    fields = entries(Change.__doc__ or "", "Attributes").items()
    alarms = [(f"`{kind}`", ALARM_MEANINGS[kind]) for kind in AlarmKind]
    parts = (
        "## Changes",
        "[Sinks, `halflife changes`, the feed, the API](../changes.md) deliver them.\n",
        table(heads, changes),
        "Each change has these fields:\n",
        table(("field", "meaning"), [(f"`{k}`", plain(v)) for k, v in fields]),
        "## Alarms",
        "`[[alert]]` says who gets which alarms ([alerts](../alerts.md)).\n",
        table(heads, alarms),
        "## The log of the service",
        "`halflife run` [writes](../service.md) one JSON object a line to stderr.",
        "Each has `at`, `level`, `event` and the fields of the event.\n",
        table(heads, log_rows()),
    )
    return page("Every event", about, parts)


def log_rows() -> list[tuple[str, str]]:
    """Return each event of the log, and what it means."""
    return [(f"`{name}`", about) for name, about in sorted(logs.EVENTS.items())]


def metrics() -> str:
    """Return the page of every metric."""
    status = ServiceStatus(0.0, turned=1.0, requests={"a": 1}, failures={"a": 1})
    status.sources = (Health("a", mean=0.5, low=0.4, high=0.6, target=0.4),)
    status.mishandle("a", "an answer", 1.0)
    text = exposition(status, 1.0)
    rows = []
    for name, about in re.findall(r"# HELP (\S+) (.+)", text):
        kind = re.search(rf"# TYPE {name} (\w+)", text)
        labels = re.search(rf"^{name}{{(.+?)}}", text, re.MULTILINE)
        named = ", ".join(re.findall(r'(\w+)="', labels[1])) if labels else ""
        rows.append((f"`{name}`", kind[1] if kind else "", named, about))
    about = (
        "`halflife run --health PORT` answers `/metrics` with these metrics, in the"
        " text format of Prometheus ([service](../service.md#watching-it))."
    )
    return page(
        "Every metric", about, [table(("metric", "type", "labels", "meaning"), rows)]
    )


# Papers


def pieces() -> str:
    """Return the page with every piece of the papers, from the pages of each paper."""
    papers = [
        *(DOCS / "papers" / f"{name}.md" for name in PAPERS),
        DOCS / "one-budget.md",
    ]
    rows: list[list[str]] = []
    for path in papers:
        text = path.read_text(encoding="utf-8").partition("\n## Settings\n")[2]
        where = path.relative_to(DOCS).as_posix()
        for line in re.findall(r"^\| [A-Z]+\d+ \|.*\|$", text, re.MULTILINE):
            name, *cells = line.strip("| ").split(" | ")
            rows.append([f"[{name}]({where}#settings)", *cells])
    about = (
        "Each piece of the five papers has its setting, code, command and test in this"
        " table. A piece without a setting is part of every source of its kind."
    )
    heads = ("id", "piece", "setting", "code", "command", "test")
    return page("Every piece of the papers", about, [table(heads, rows)])


# Pages


def page(title: str, about: str, parts: Iterable[str]) -> str:
    """Return a page of the reference."""
    text = "\n".join([f"# {title}\n{MADE}\n\n{about}\n", *parts])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def pages() -> dict[Path, str]:
    """Return every page that is made from the code, by its place."""
    config = DOCS / "config.md"
    return {
        config: settings(config.read_text(encoding="utf-8")),
        DOCS / "spec.md": pieces(),
        DOCS / "reference/cli.md": command_line(),
        DOCS / "reference/library.md": library(),
        DOCS / "reference/http-api.md": http_api(),
        DOCS / "reference/events.md": events(),
        DOCS / "reference/metrics.md": metrics(),
    }


def stale() -> list[Path]:
    """Return the pages that are not what the code says now."""
    return [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write the pages, or name those that are stale; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        for path in (found := stale()):
            print(f"{path.relative_to(DOCS.parent)} is stale; run `make reference`")
        return bool(found)
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
