"""What the first pages show is what the program prints."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    command = [sys.executable, "-m", "halflife", "demo"]
    environment = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("demo"))}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=110,
        env=environment,
    ).stdout  # fmt: skip


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_demo_prints_what_the_page_shows(demo, page):
    shown = [
        line
        for block in (ROOT / page).read_text().split("```")[1::2]
        if "nutch-adaptive   " in block
        for line in block.splitlines()
    ]
    assert len(shown) > 8
    for line in shown:
        assert line in demo


def test_the_examples_in_the_readme_are_true():
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried >= 2
    assert not failed


def test_the_pictures_of_the_readme_are_there_and_light():
    told = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(told) == 3
    for path in told:
        body = (ROOT / path).read_bytes()
        assert body.startswith(b"\x89PNG")
        assert len(body) <= 150_000
