"""The book: each page answers its question first, and nothing public is missing."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from halflife.engine import logs
from halflife.readers import records
from tools import check_book, reference, reference_settings
from tools.reference_words import Undocumented

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\): (.+)$", re.MULTILINE)
CONTENTS = {
    path: ask for _, path, ask in ENTRY.findall((DOCS / "README.md").read_text())
}
DECISIONS = re.findall(
    r"^- \[(.+)\]\(([^)]+)\)$", (DOCS / "decisions/README.md").read_text(), re.MULTILINE
)
COMMON = set(
    """a an and are as at be but by can do does each every for from get has have how i
    if in is it its me my no not of on or own so than that the there they this to was we
    what when where which who why will with you your halflife""".split()  # noqa: SIM905
)


def first_sentence(text):
    """Return the first sentence of a page, without marks."""
    body = re.sub(r"<!--.*?-->\n?", "", text).partition("\n")[2].lstrip("\n")
    paragraph = " ".join(body.partition("\n\n")[0].split())
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", paragraph).replace("*", "")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`\[])", plain)[0]


def stems(text):
    """Return the words that carry meaning, cut to what their forms share."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {word[:5].removesuffix("s") for word in words if word not in COMMON}


@pytest.mark.parametrize("page", CONTENTS, ids=str)
def test_a_page_answers_its_question_in_its_first_sentence(page):
    asked, said = CONTENTS[page], first_sentence((DOCS / page).read_text())
    assert asked.endswith("?")
    assert said[0] not in "#|-!", "begin with a sentence"
    assert said.endswith((".", ":"))
    assert len(said.split()) <= 45
    shared = stems(asked) & stems(said)
    assert len(shared) >= min(2, len(stems(asked))), (asked, said)


def test_the_test_of_a_first_sentence_can_fail():
    assert first_sentence("# A\n\nIt `is` [so](b.md). Then\nmore.") == "It `is` so."
    assert stems("How do I keep a listing?") & stems("A listing keeps objects.") == {
        "keep",
        "listi",
    }
    assert not stems("What is a sink?") & stems("This page says more.")


def test_every_page_is_in_the_contents_once():
    pages = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")}
    decisions = {f"decisions/{path}" for _, path in DECISIONS}
    listed = [path for _, path, _ in ENTRY.findall((DOCS / "README.md").read_text())]
    assert len(listed) == len(set(listed))
    assert pages - {"README.md"} == set(listed) | decisions


@pytest.mark.parametrize(("title", "page"), DECISIONS)
def test_the_title_of_a_decision_says_what_was_decided(title, page):
    head = (DOCS / "decisions" / page).read_text().partition("\n")[0]
    assert head == f"# {title}"


@pytest.mark.parametrize("page", [page for _, page in DECISIONS])
def test_a_decision_begins_with_the_question_that_it_answers(page):
    text = (DOCS / "decisions" / page).read_text()
    _, question, answer, *_ = text.split("\n\n")
    assert question.startswith("**Question.** ")
    assert question.endswith("?")
    assert answer.startswith("**Answer.** ")
    assert "**What would change our mind:**" in text


@cache
def made():
    return reference.pages()


def test_the_reference_is_what_the_code_says():
    stale = [path for path, text in made().items() if path.read_text() != text]
    assert not stale, "run `make reference`"


def test_something_public_without_words_is_refused(monkeypatch):
    monkeypatch.setattr(reference_settings, "meanings", lambda _: {})
    with pytest.raises(Undocumented, match=r"BudgetConfig\.requests"):
        reference_settings.settings_table("BudgetConfig")


def test_every_setting_is_in_the_book():
    text = made()[DOCS / "config.md"]
    shown = re.findall(r"<!-- settings: (.+?) -->", text)
    assert {name for asked in shown for name in asked.split()} >= set(
        reference_settings.MODELS
    ) - {"RecordsConfig", "ResultsConfig", "SinkConfig"}


def test_every_event_of_the_log_has_a_meaning():
    written = {"answer mishandled"}  # below the engine, which has the name of the log
    texts = (path.read_text() for path in (ROOT / "src/halflife").rglob("*.py"))
    for text in (one for one in texts if "logs" in one and "event" in one):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if (owner, node.func.attr) in {("logs", "event"), ("self", "_log")}:
                    inside = ast.walk(node.args[0])
                    names = (n.value for n in inside if isinstance(n, ast.Constant))
                    written |= {name for name in names if isinstance(name, str)}
    assert written == set(logs.EVENTS)


BUILD = """
import gc, sys
from sphinx.cmd.build import main
gc.disable()  # a third of the time; all of it lives to the end
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    command = [sys.executable, "-c", BUILD, "-q", "-W", "--keep-going", DOCS, folder]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.timeout(300)
def test_the_book_builds_and_asks_no_other_host(book):
    assert not list(check_book.complaints(book))
    assert (book / "index.html").read_text() == (book / "README.html").read_text()
    assert "searchindex" in (book / "search.html").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn"),
        ('<link rel="stylesheet" href="//fonts.example/a">', "loads //fonts"),
        ('<p style="background: url(http://a.example/b)">', "loads http://a"),
        ('<a href="gone.html">x</a>', "gone.html, which is not there"),
        ('<a href="#here">x</a>', "#here, which has no such place"),
    ],
)
def test_what_would_ask_another_host_is_found(tmp_path, text, said):
    (tmp_path / "a.html").write_text(text)
    (complaint,) = check_book.complaints(tmp_path)
    assert said in complaint


def test_a_link_to_another_host_is_fine(tmp_path):
    (tmp_path / "a.html").write_text('<a href="https://example.org/">x</a><b id="c">')
    assert not list(check_book.complaints(tmp_path))


def test_every_feature_that_we_claim_has_its_evidence():
    text = (DOCS / "comparison.md").read_text().partition("## Forty features")[2]
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 41))
    for number, row in rows:
        ours, evidence = row.split(" | ")[1:3]
        assert ours.startswith(("yes", "partly", "no")), number
        tests = re.findall(r"\(\.\./(tests/[\w/]+\.py)\)", evidence)
        assert ours == "no" or tests, number
        assert all((ROOT / test).exists() for test in tests), number


def test_every_guarantee_names_a_test_that_exists():
    text = (DOCS / "guarantees.md").read_text()
    rows = re.findall(r"^\| P(\d+) .*$", text, re.MULTILINE)
    assert rows == [str(n) for n in range(1, 13)]
    for line in text.splitlines():
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", line)
        assert named or not line.startswith("| P")
        for path, name in named:
            assert f"def {name}" in (ROOT / path).read_text(), (path, name)


def test_the_first_changes_for_newcomers_are_still_to_be_made():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:src|tests|docs|lab|results)/[\w./-]*)`", text)
    assert len(named) > 20
    assert not [path for path in named if not (ROOT / path).exists()]
    head = "## Three good first changes"
    changes = text.partition(head)[2].partition("\n## ")[0]
    assert re.findall(r"^(\d)\. ", changes, re.MULTILINE) == ["1", "2", "3"]
    links = (ROOT / "src/halflife/kinds/pages/links.py").read_text()
    assert "X-Robots-Tag" not in links
    assert "ics" not in records.FORMATS
    assert not (ROOT / "src/halflife/watchlists/bookmarks.py").exists()


PACKAGE = ROOT / "src/halflife"
ARCHITECTURE = (DOCS / "architecture.md").read_text()


def rows_of(heading):
    """Return the cells of the table below a heading of the architecture's page."""
    part = ARCHITECTURE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[1:]]


def test_the_architecture_names_modules_that_exist():
    for names, holds in rows_of("Packages"):
        packages = re.findall(r"`([\w/]+)`", names)
        places = [ROOT, PACKAGE, *(PACKAGE / name for name in packages)]
        places += [ROOT / name for name in packages if name.startswith("lab")]
        files = re.findall(r"`([\w/<>]+(?:\.py|/))`", holds)
        for file in [*packages, *files]:
            found = [(place / file, place / f"{file}.py") for place in places]
            assert any(path.exists() for pair in found for path in pair), file


def test_the_architecture_names_every_package():
    named = {
        word.split("/")[0]
        for names, _ in rows_of("Packages")
        for word in re.findall(r"`([\w/]+)`", names)
    }
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages - named == set()


@pytest.mark.parametrize("heading", ["Nouns", "Protocols", "The parts of a store"])
def test_the_architecture_says_where_its_names_are_defined(heading):
    last = []
    for names, modules, _ in rows_of(heading):
        last = re.findall(r"`([\w/]+\.py)`", modules) or last
        text = "".join((PACKAGE / module).read_text() for module in last)
        for name in re.findall(r"[A-Z]\w+", names.partition("(")[0].partition(".")[0]):
            assert re.search(rf"^class {name}\b|^{name}\b.* = ", text, re.MULTILINE), (
                name,
                last,
            )


GROUPS = {f"halflife.policies.{kind}" for kind in ("listing", "form", "search")}


def test_pages_name_files_and_names_that_exist():
    places = (ROOT, PACKAGE, DOCS, PACKAGE / "stores", PACKAGE / "kinds", ROOT / "lab")
    pages = {*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"}
    for page in pages - {DOCS / "comparison.md"}:  # it names files of other programs
        text = page.read_text()
        for path in re.findall(r"`((?:[\w-]+/)+[\w-]+\.py)(?:::\w+)?`", text):
            assert any((place / path).exists() for place in places), (page.name, path)
        for name in set(re.findall(r"`((?:halflife|lab)(?:\.\w+)+)`", text)) - GROUPS:
            there = name.endswith((".toml", ".db")) or defined(name)
            assert there, (page.name, name)


def defined(name):
    """Say whether a dotted name is a module of ours, or defined in one."""
    base = ROOT if name.startswith("lab") else ROOT / "src"
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        folder = base.joinpath(*parts[:end])
        for path in (folder.with_suffix(".py"), folder / "__init__.py"):
            if path.is_file():
                rest = parts[end : end + 1]
                return all(re.search(rf"\b{one}\b", path.read_text()) for one in rest)
    return False


WRITTEN = sorted(
    page
    for page in (ROOT / "README.md", *DOCS.rglob("*.md"))
    if page.parent.name != "reference"  # made from the code
)
PYTHON = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python_of(text):
    """Return the Python that a page shows, without prompts and output."""
    for block in PYTHON.findall(text):
        lines = block.splitlines()
        if any(line.startswith(">>> ") for line in lines):
            lines = [line[4:] for line in lines if line[:4] in {">>> ", "... "}]
        yield "\n".join(lines)


def names_in(code):
    """Return the names of ours that Python imports, or takes from a module of ours."""
    modules, named = {}, set()
    for node in ast.walk(ast.parse(code, mode="exec")):
        if isinstance(node, ast.Import):
            modules |= {part.asname or part.name: part.name for part in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for part in node.names:
                modules[part.asname or part.name] = f"{node.module}.{part.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            named.add((node.value.id, node.attr))
    named = {f"{modules[name]}.{last}" for name, last in named if name in modules}
    return {
        one for one in {*modules.values(), *named} if re.match("(halflife|lab)[.]", one)
    }


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_the_python_that_a_page_shows_can_be_imported(page):
    for code in python_of(page.read_text()):
        for name in sorted(names_in(code)):
            assert reached(name), name


def reached(name):
    """Say whether a dotted name leads somewhere from its package."""
    first, *rest = name.split(".")
    found = import_module(first)
    for place, part in enumerate(rest, 1):
        if not hasattr(found, part):
            try:
                import_module(".".join([first, *rest[:place]]))
            except ModuleNotFoundError:
                return False
        found = getattr(found, part)
    return True


def test_a_name_that_cannot_be_imported_is_found():
    code = "from halflife.engine import alerts\nimport halflife\nhalflife.sync()"
    assert names_in(code) == {"halflife.engine.alerts", "halflife.sync"}
    assert not reached("halflife.engine.alerts")
    assert reached("halflife.sync")


def test_a_name_that_does_not_exist_is_found():
    assert defined("halflife.allocation.allocate")
    assert defined("halflife.market.share")
    assert not defined("halflife.allocation.alocate")
    assert not defined("lab.nothing")
