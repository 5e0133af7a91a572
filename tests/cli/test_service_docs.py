"""What the page on the service shows is what there is."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from halflife.alerts import Health
from halflife.cli.app import app
from halflife.engine.health import ServiceStatus, exposition

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
NAMES = {"halflife", "/opt/halflife/bin/halflife"}


def commands():
    """Return the command lines of the page, from the name of the program on."""
    found = []
    for line in re.findall(r"^ExecStart=(.+)$", PAGE, re.MULTILINE):
        words = shlex.split(line)
        found.append(shlex.split(words[2]) if words[0] == "/bin/sh" else words)
    entry = re.search(r"^ENTRYPOINT \[(.+)\]$", PAGE, re.MULTILINE)[1]
    last = re.search(r"^CMD \[(.+)\]$", PAGE, re.MULTILINE)[1]
    found.append(re.findall(r'"([^"]+)"', f"{entry}, {last}"))
    found += [
        shlex.split(text) for text in re.findall(r"`(halflife [a-z][^`]+)`", PAGE)
    ]
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_of_the_page_is_one(words):
    assert words[0] in NAMES
    command = typer.main.get_command(app).commands[words[1]]
    options = {name for param in command.params for name in param.opts}
    for word in words[2:]:
        assert not word.startswith("--") or word in options


def test_the_page_has_a_unit_that_is_locked_up_and_a_container():
    assert len(commands()) >= 5
    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=",
    ):
        assert f"\n{line}\n" in PAGE
    assert "\nUSER halflife\n" in PAGE


def test_every_metric_is_on_the_page():
    status = ServiceStatus(0.0, turned=1.0, requests={"a": 1}, failures={"a": 1})
    status.sources = (Health("a", mean=0.5, low=0.4, high=0.6, target=0.4),)
    status.mishandle("a", "an answer", 1.0)
    made = set(re.findall(r"# TYPE (\S+)", exposition(status, 1.0)))
    told = set(re.findall(r"`(halflife_[a-z_]+)(?:\{[a-z,]+\})?`", PAGE))
    assert made == told
