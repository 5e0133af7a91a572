"""Runs what pages of the book show.

A fenced block ``console`` holds commands after ``$ `` and what they print. A comment
``<!-- file: NAME -->`` before a block of settings says that it is written to a file,
``<!-- append: NAME -->`` that it is added to one; settings may stand in the comment
itself. Times are alike, ``...`` stands for anything, and in a block ``console about``
numbers may differ by a quarter, small counts by one.
"""

import re
import shlex
import urllib.request
from dataclasses import dataclass
from pathlib import Path

PORT = "127.0.0.1:8000"
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
    """Does what a page says, in a folder, against a server on some port."""

    def __init__(self, folder, told, monkeypatch, tools, port):
        self._folder, self._told, self._env = folder, told, monkeypatch
        self._tools, self._here = tools, f"127.0.0.1:{port}"

    def write(self, step):
        path = Path(self._folder) / step.name
        before = path.read_text() if step.append else ""
        path.write_text(before + step.text.replace(PORT, self._here))

    def run(self, command):
        """Return what a command prints, with the port that the page names."""
        line, _, report = command.partition(" || ")
        words = shlex.split(line.replace(PORT, self._here))
        code, printed = self._do(words)
        if report:
            assert code
            assert report == 'echo "exit code $?"'
            printed += f"exit code {code}\n"
        else:
            assert code == 0, printed
        return printed.replace(self._here, PORT)

    def _do(self, words):
        if words[0] == "halflife":
            code, out, err = self._told(*words[1:])
            return code, out + err
        if words[0] == "curl":
            with urllib.request.urlopen(words[-1]) as answer:
                return 0, answer.read().decode()
        if words[0] == "export":
            self._env.setenv(*words[1].split("=", 1))
        elif words[0] == "unset":
            self._env.delenv(words[1])
        else:
            self._tools[" ".join(words[:-1])](Path(words[-1]))
        return 0, ""
