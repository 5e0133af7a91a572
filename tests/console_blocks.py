"""Runs what pages of the book show.

A fenced block ``console`` holds commands after ``$ `` and what they print. A comment
``<!-- file: NAME -->`` before a block of settings says that it is written to a file,
``<!-- append: NAME -->`` that it is added to one; settings may stand in the comment
itself. Times are alike, ``...`` stands for anything, and in a block ``console about``
numbers may differ by a quarter, small counts by one.

A block without a language, or ``sh``, that begins with the name of a program holds
commands, one a line, without what they print; ``#`` after a space begins a comment.
"""

import re
import shlex
import urllib.request
from dataclasses import dataclass
from pathlib import Path

PORT = "127.0.0.1:8000"
ALLOW = "--allow 127.0.0.0/8"
PROGRAMS = {
    *("halflife", "make", "python", "pip", "git", "curl", "export", "unset", "scrapy"),
    *("sqlite3", "datasette", "pg_dump", "pg_restore", "docker", "kubectl", "pytest"),
}
PLAIN = re.compile(
    r"^```(?P<info>[^\n`]*)\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL
)
PIECE = re.compile(
    r"^<!-- (?P<how>file|append): (?P<name>[\w./-]+)"
    r"(?: -->\n```\w*\n(?P<shown>.*?)^```$|\n(?P<inside>.*?)-->)"
    r"|^```console(?P<about> about)?\n(?P<console>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z?")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE]-?\d+)?")


@dataclass(frozen=True)
class Shown:
    """A command of a page, and what the page says that it prints."""

    command: str
    printed: str
    about: bool


@dataclass(frozen=True)
class Written:
    """Settings that a page tells its reader to write."""

    name: str
    text: str
    append: bool


def steps(page):
    """Return what a page tells its reader to do, in order."""
    for piece in PIECE.finditer(page):
        if piece["how"]:
            text = piece["shown"] if piece["shown"] is not None else piece["inside"]
            yield Written(piece["name"], text, piece["how"] == "append")
            continue
        for part in re.split(r"^\$ ", piece["console"], flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield Shown(command, printed, bool(piece["about"]))


def commands(page):
    """Return the commands of a page that stand without what they print.

    >>> list(commands("```\\nmake x  # so\\npip a\\n```\\n```\\nx: 1\\n```\\n"))
    ['make x', 'pip a']
    """
    for found in PLAIN.finditer(page):
        lines = re.sub(
            r"\\\n\s*|^\$ ", "", found["block"], flags=re.MULTILINE
        ).splitlines()
        if found["info"] not in {"", "sh"} or lines[0].split()[0] not in PROGRAMS:
            continue
        for line in filter(None, lines):
            assert line.split()[0] in PROGRAMS, f"no command: {line}"
            yield re.split(r"\s+# ", line)[0].strip()


def same(shown, printed, *, about=False):
    """Say whether a program printed what a page shows.

    >>> same("a  2026-01-01T00:00Z ...", "a 2027-02-02T11:00:00Z b c")
    True
    >>> same("12 of 40", "13 of 40"), same("12 of 40", "13 of 40", about=True)
    (False, True)
    """
    pattern = [re.escape(part) for part in _plain(shown).split("...")]
    if about:
        pattern = [NUMBER.sub("#", part.replace("\\", "")) for part in pattern]
        pattern = [re.escape(p).replace(r"\#", f"({NUMBER.pattern})") for p in pattern]
    found = re.fullmatch(".*?".join(pattern), _plain(printed), re.DOTALL)
    if not found or not about:
        return bool(found)
    stated = NUMBER.findall(_plain(shown))
    return all(near(a, b) for a, b in zip(stated, found.groups(), strict=True))


def near(stated, printed):
    """Say whether two numbers are about the same; a small count may be one off.

    >>> near("1", "2"), near("1.0", "2.0"), near("100", "80"), near("100", "70")
    (True, False, True, False)
    """
    least = 1.0 if stated.isdigit() and printed.isdigit() else 0.05
    return abs(float(stated) - float(printed)) <= max(0.25 * abs(float(stated)), least)


def _plain(text):
    """Return text with times alike, and one space where there are several."""
    return " ".join(TIME.sub("TIME", text).split())


class Reader:
    """Does what a page says, in a folder, against servers on this machine.

    Args:
        folder: Where the reader works.
        told: Runs the program; returns its exit code, what it answered and said.
        monkeypatch: Sets and unsets variables.
        web: Turns addresses of the book into those of this machine, and back.
        tools: Other programs: by their words but the last, what to do with that.

    """

    def __init__(self, folder, told, monkeypatch, web, tools=None):
        self._folder, self._told, self._env = Path(folder), told, monkeypatch
        self._web, self._tools = web, tools or {}

    def write(self, step):
        path = self._folder / step.name
        before = path.read_text() if step.append else ""
        path.write_text(before + self._web.here(step.text))

    def run(self, command):
        """Return what a command prints, with the addresses that the page names."""
        line, _, report = command.partition(" || ")
        local = self._web.here(line)
        public = local != line and "halflife add" in line and ALLOW not in line
        if public:
            local += f" {ALLOW}"  # these are not
        code, printed = self._do(shlex.split(local))
        if report:
            assert code
            assert report == 'echo "exit code $?"'
            printed += f"exit code {code}\n"
        else:
            assert code == 0, printed
        if public:
            printed = printed.replace('allow = ["127.0.0.0/8"]\n', "")
        return self._web.there(printed)

    def _do(self, words):
        if words[0] == "halflife":
            code, out, err = self._told(*words[1:])
            if words[1:] == ["init"]:
                self._hurry(self._folder / "halflife.toml")
            return code, out + err
        if words[0] == "curl":
            return 0, _fetch(words[1:])
        if words[0] == "export":
            self._env.setenv(*words[1].split("=", 1))
        elif words[0] == "unset":
            self._env.delenv(words[1])
        else:
            return 0, self._tools[" ".join(words[:-1])](words[-1]) or ""
        return 0, ""

    def _hurry(self, settings):
        """Wait for no server: all are on this machine."""
        written = settings.read_text()
        assert "\ndelay = 1.0 " in written
        settings.write_text(written.replace("\ndelay = 1.0 ", "\ndelay = 0.0 "))


def _fetch(words):
    """Return what an address answers to curl with ``-s``, ``-H`` and ``-d``."""
    headers, body, rest = {}, None, iter(words)
    for word in rest:
        if word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(rest).encode()
        elif word != "-s":
            url = word
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()
