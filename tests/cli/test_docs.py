"""The reference pages name everything there is, and what pages name is there."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

from halflife.cli import exits
from halflife.cli.app import VERBS, app
from halflife.config import (
    AuditConfig,
    BudgetConfig,
    Config,
    FetchConfig,
    PolicyConfig,
)
from halflife.config.alerts import AlertConfig, KeepConfig
from halflife.config.credentials import BasicAuth, BearerAuth, ClientAuth, ProxyConfig
from halflife.config.serve import TokenConfig
from halflife.config.sinks import sink_kinds, sink_settings
from halflife.kinds.form.settings import AttributeConfig, FormConfig
from halflife.kinds.listing.request_settings import (
    CursorPaging,
    GraphqlConfig,
    HeaderPaging,
    OffsetPaging,
)
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.search.settings import SearchConfig
from halflife.readers.records import RecordReader

DOCS = Path(__file__).parents[2] / "docs"
CLI = (DOCS / "cli.md").read_text()
CONFIG = (DOCS / "config.md").read_text()
ROOT = DOCS.parent
BOOK = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
FLAGS = re.MULTILINE | re.DOTALL
TABLES = {
    "path", "budget", "policy", "fetch", "keep", "audit", "alert", "sink", "source",
    "headers", "serve",
}  # fmt: skip


def test_the_verbs_are_those_that_are_listed():
    names = {c.name or c.callback.__name__ for c in app.registered_commands}
    assert names == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_option_is_in_the_reference(verb):
    assert f"`halflife {verb}" in CLI
    command = typer.main.get_command(app).commands[verb]
    for param in command.params:
        names = [name for name in param.opts if name.startswith("--")]
        if names and names[0] not in ("--help", "--check"):
            assert names[0] in CLI, f"{verb} {names[0]}"


def test_every_exit_code_is_in_the_reference():
    codes = [v for k, v in vars(exits).items() if k.isupper() and isinstance(v, int)]
    assert len(codes) == 10
    for code in codes:
        assert f"| {code} |" in CLI or f"{code}, " in CLI or f", {code} |" in CLI


@pytest.mark.parametrize(
    "table",
    [
        Config,
        AuditConfig,
        BudgetConfig,
        PolicyConfig,
        FetchConfig,
        PagesConfig,
        ListingConfig,
        SearchConfig,
        FormConfig,
        AttributeConfig,
        AlertConfig,
        KeepConfig,
        TokenConfig,
        BasicAuth,
        BearerAuth,
        ClientAuth,
        ProxyConfig,
        HeaderPaging,
        CursorPaging,
        OffsetPaging,
        GraphqlConfig,
    ],
)
def test_every_setting_is_in_the_reference(table):
    elsewhere = TABLES if table is Config else {"headers"}
    for key in table.model_fields:
        if key not in elsewhere:
            assert f"| `{key}` |" in CONFIG, key


@pytest.mark.parametrize("kind", sink_kinds())
def test_every_setting_of_a_sink_is_in_the_reference(kind):
    table = CONFIG.partition("## `[[sink]]`")[2].partition("\n## ")[0]
    for key in sink_settings(kind).model_fields:
        assert f"| `{key}` |" in table, key
    assert f"`{kind}`" in table


def test_the_example_of_the_reference_is_valid():
    example = CONFIG.partition("```toml\n")[2].partition("```")[0]
    config = Config.parse(example)
    assert config.source[0].name == "docs"
    assert config.source[0].from_env == {"Authorization"}


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", BOOK, ids=named)
def test_every_command_that_prints_a_figure_is_there(page):
    text = page.read_text()
    for module in re.findall(r"python -m ((?:halflife|lab)[.\w]*)", text):
        assert find_spec(module), module
    for script in re.findall(r"(?:lab|tests|tools)/[\w/]+\.py", text):
        assert (ROOT / script).exists(), script
    for goal in re.findall(r"`make ([a-z-]+)(?:`| DATA)", text):
        assert f"\n{goal}:" in (ROOT / "Makefile").read_text(), goal


@pytest.mark.parametrize("page", BOOK, ids=named)
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, part = link.partition("#")
        if ":" in path:
            continue
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), link
        if part:
            heads = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            assert part in {_anchor(head) for head in heads}, link


def _anchor(head):
    """Return what a heading is called in links."""
    kept = re.sub(r"[^\w\s-]", "", head.lower())
    return kept.replace(" ", "-")


def test_the_settings_for_well_known_servers_can_be_used(tmp_path):
    page = (DOCS / "servers.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 9
    path = tmp_path / "halflife.toml"
    for block in blocks:
        path.write_text(block)
        for source in Config.load(path).source:
            if source.kind == "listing":
                RecordReader(
                    *(source.key, source.format or "json", source.records),
                    *(source.fields, source.next),
                )


def commands_of(page):
    """Return the command lines of the program in the blocks of a page."""
    for info, block in re.findall(r"^```([^\n`]*)\n(.*?)^```", page, FLAGS):
        if info.partition(" ")[0] not in {"", "sh", "console"}:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ )?(halflife [a-z].*)", line)
            if found and not found[1].startswith("halflife: "):
                yield found[1].partition("  #")[0].partition(" || ")[0]


def inline_commands(page):
    """Return the command lines of the program within sentences and tables."""
    text = re.sub(r"^```.*?^```", "", page, flags=FLAGS)
    for found in re.findall(r"`(halflife\s[a-z][^`]*)`", text):
        yield " ".join(found.replace("\\|", "|").split())
    for found in re.findall(rf"`((?:{'|'.join(VERBS)})\s--[^`]*)`", text):
        yield " ".join(["halflife", *found.split()])


@pytest.mark.parametrize("page", BOOK, ids=named)
def test_every_command_that_a_page_shows_is_one(page):
    verbs = typer.main.get_command(app).commands
    text = page.read_text()
    for line in (*commands_of(text), *inline_commands(text)):
        words = shlex.split(line)
        assert words[1] in verbs, line
        options = {
            o for p in verbs[words[1]].params for o in (*p.opts, *p.secondary_opts)
        }
        given = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
        assert given <= options | {"--help"}, line


def test_the_commands_of_pages_are_found():
    page = "```\nhalflife sync a --all   # all\nhalflife: no\n```\n"
    page += "```toml\nx = 1\n```\nhalflife is\n```console about\n$ halflife b\n```\n"
    assert list(commands_of(page)) == ["halflife sync a --all ", "halflife b"]
    assert len(list(commands_of((DOCS / "changes.md").read_text()))) > 15
    assert list(inline_commands(page + "`halflife sync\n--all` `x` `run --x`")) == [
        "halflife sync --all",
        "halflife run --x",
    ]
