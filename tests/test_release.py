"""What is released: the archives, the wheel in an empty environment, the manual."""

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import man_page  # noqa: E402
import release  # noqa: E402

UV = shutil.which("uv") or (
    str(ROOT / ".uv/bin/uv") if (ROOT / ".uv/bin/uv").exists() else None
)
needs_uv = pytest.mark.skipif(UV is None, reason="uv is missing; run: make setup")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return release.build(UV, tmp_path_factory.mktemp("released") / "dist")


@needs_uv
def test_the_wheel_holds_the_package_alone_with_its_data_and_manual(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (meta,) = [n for n in names if n.endswith(".dist-info/METADATA")]
        said = Parser().parsestr(archive.read(meta).decode())
    info, data = (
        f"halflife-{said['Version']}.{part}/" for part in ("dist-info", "data")
    )
    own = {n for n in names if not n.startswith((info, data))}
    assert {n.partition("/")[0] for n in own} == {"halflife"}
    assert f"{data}data/share/man/man1/halflife.1" in names
    kept = (ROOT / "src").rglob("*")
    expected = {
        str(path.relative_to(ROOT / "src"))
        for path in kept
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert own == expected
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "Apache-2.0"
    assert "# halflife" in said.get_payload()


@needs_uv
def test_the_source_archive_holds_what_is_needed_to_build_and_test(wheel):
    (archive,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    wanted = {"pyproject.toml", "Makefile", "LICENSE", "CHANGELOG.md", "README.md"}
    wanted |= {f"requirements/{name}.txt" for name in ("bootstrap", "dev", "ray")}
    wanted |= {"tools/bootstrap"}
    assert wanted <= names
    assert {name.partition("/")[0] for name in names} >= {"src", "tests", "docs", "lab"}


@needs_uv
def test_the_wheel_alone_keeps_a_site_fresh(wheel, tmp_path):
    inside = release.install(UV, wheel, sys.executable, tmp_path / "e", lowest=False)
    program = inside.with_name("halflife")
    words = ["demo", "--pages", "12", "--days", "4", "--json", "--keep", tmp_path / "d"]
    done = subprocess.run([program, *words], capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert 0.0 < found["freshness"]["halflife"] <= 1.0
    assert found["requests"] <= found["budget"]


def test_the_manual_says_what_the_program_says():
    written = (ROOT / "docs" / "halflife.1").read_text()
    assert written == man_page.page(), "run: python tools/man_page.py > docs/halflife.1"


def test_the_tool_that_sets_everything_up_is_pinned_by_hash():
    lines = (ROOT / "requirements" / "bootstrap.txt").read_text().splitlines()
    assert lines[0].startswith("uv==")
    assert all(line.lstrip().startswith("--hash=sha256:") for line in lines[1:])
    assert "--require-hashes" in (ROOT / "tools" / "bootstrap").read_text()
