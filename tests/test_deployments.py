"""The files to deploy with: their settings are read, their commands are real."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer.main
import yaml

from halflife import cli  # noqa: F401  (adds the verbs)
from halflife.cli.app import app
from halflife.config import Config

EXAMPLES = Path(__file__).parents[1] / "examples"
COMPOSE = yaml.safe_load((EXAMPLES / "compose" / "compose.yaml").read_text())
MANIFEST = list(
    yaml.safe_load_all((EXAMPLES / "kubernetes" / "halflife.yaml").read_text())
)


def containers():
    for one in MANIFEST:
        if one["kind"] == "Deployment":
            yield from one["spec"]["template"]["spec"]["containers"]


def unit_command():
    text = (EXAMPLES / "systemd" / "halflife.service").read_text()
    (line,) = [one for one in text.splitlines() if one.startswith("ExecStart=")]
    return line.split()[1:]


COMMANDS = [one["command"] for name, one in COMPOSE["services"].items() if name != "db"]
COMMANDS += [one["args"] for one in containers()]
COMMANDS.append(unit_command())


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_the_program_understands_each_command(words):
    verbs = typer.main.get_command(app).commands
    verb, *rest = words
    context = verbs[verb].make_context(verb, rest)  # unknown options raise
    assert context.args == []
    assert str(context.params["config"]).endswith("halflife.toml")


@pytest.mark.parametrize(
    "text",
    [
        (EXAMPLES / "compose" / "halflife.toml").read_text(),
        MANIFEST[0]["data"]["halflife.toml"],
    ],
    ids=["compose", "kubernetes"],
)
def test_the_settings_can_be_read_and_name_a_shared_store(text):
    config = Config.parse(text)
    assert str(config.store_place).startswith("postgresql://")
    assert config.source
    assert ":" not in str(config.store_place).partition("@")[0].partition("//")[2]


def test_the_image_is_built_from_the_clone_that_has_it():
    build = COMPOSE["services"]["worker"]["build"]
    clone = EXAMPLES / "compose" / build["context"]
    text = (clone / build["dockerfile"]).read_text()
    copied = [line.split()[1:-1] for line in text.splitlines() if line[:4] == "COPY"]
    kept = {name for names in copied for name in names}
    assert all((clone / name).exists() for name in kept)
    project = tomllib.loads((clone / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["shared-data"], project["project"]["readme"], "LICENSE", "src"}
    assert needed <= kept
    assert '"/src[postgres,serve]"' in text


PAGES = sorted([*EXAMPLES.rglob("README.md"), *EXAMPLES.rglob("Dockerfile")])
INSTALLS = re.compile(r"pip install (.+?)(?:`|\s#|\\|$)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_examples_install_this_halflife_and_none_from_elsewhere(page):
    for line in INSTALLS.findall(page.read_text()):
        words = [word for word in shlex.split(line) if not word.startswith("--")]
        assert re.match(r"\.(\[|$)|/src\[", words[0]), line


@pytest.mark.parametrize("name", ["index", "oai", "policy", "sink"])
def test_a_package_of_the_examples_asks_for_a_halflife_that_it_fits(name):
    text = (EXAMPLES / name / "pyproject.toml").read_text()
    assert "halflife>=0.1" in tomllib.loads(text)["project"]["dependencies"]


def test_no_container_may_do_more_than_it_must():
    for one in containers():
        assert one["securityContext"]["readOnlyRootFilesystem"]
        assert not one["securityContext"]["allowPrivilegeEscalation"]
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert one["resources"]["limits"]["memory"]
    for name in ("worker", "page"):
        assert COMPOSE["services"][name]["read_only"]
        assert COMPOSE["services"][name]["cap_drop"] == ["ALL"]


def test_the_unit_is_the_one_that_the_page_on_the_service_prints():
    unit = (EXAMPLES / "systemd" / "halflife.service").read_text()
    assert unit in (EXAMPLES.parent / "docs" / "service.md").read_text()
