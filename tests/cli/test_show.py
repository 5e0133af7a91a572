import io
import json
import re
import unicodedata

import pytest
from hypothesis import given, strategies as st

from halflife.cli import show

HOSTILE = [
    "\x1b]52;c;ZXZpbA==\x07",  # write to the clipboard
    "\x1b]0;title\x1b\\",  # rename the window
    "\x1b[2J\x1b[H$ rm -rf /",  # clear the screen and draw a prompt
    "\x9b31m",  # the same in one byte
    "a\rb\nc\u2028d",  # fake lines
    "\u202egpj.exe",  # right to left
    "\u2066x\u2069\u200f\u061c",  # isolates and marks
    "\ud800",  # half a character
    "\x00\x08\x7f",
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_loses_its_power(text):
    safe = show.plain(text)
    assert safe.isprintable()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", safe)
    safe.encode()


@given(st.text(st.characters(exclude_categories=())))
def test_only_printable_text_gets_through(text):
    safe = show.plain(text)
    assert safe.isprintable()
    kept = [c for c in text if c.isprintable()]
    assert [c for c in safe if c != " "] == [c for c in kept if c != " "]


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_ordinary_text_stays_as_it_is(text):
    assert show.plain(unicodedata.normalize("NFC", text)).isprintable()
    assert show.plain(text) == text


def test_json_keeps_hostile_text_escaped_and_has_no_nan(capsys):
    show.emit({"text": HOSTILE[0], "value": float("nan"), "rows": [float("inf"), 1]})
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert json.loads(out) == {"text": HOSTILE[0], "value": None, "rows": [None, 1]}


ROWS = [
    {"page": "a\x1b[31m", "freshness": 0.98765, "looks": 3, "seen": None},
    {"page": "long/one", "freshness": 1.0, "looks": 12, "seen": None},
]


def test_a_pipe_gets_plain_aligned_columns(capsys):
    show.table(ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "page      freshness  fetches  seen",
        "a[31m        0.9877        3     -",
        "long/one          1       12     -",
    ]


def test_no_rows_no_table(capsys):
    show.table([])
    assert capsys.readouterr().out == ""


def test_a_terminal_gets_a_drawn_table_without_remote_escapes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    show.table(ROWS)
    text = terminal.getvalue()
    assert "─" in text
    assert "\x1b[31m" not in text
    assert "a[31m" in text


def test_markup_of_a_page_is_not_ours(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    show.table([{"page": "[red]x[/red] [link=http://evil]y[/link]"}])
    assert "[red]x[/red] [link=http://evil]y[/link]" in terminal.getvalue()


def test_a_bar_is_drawn_on_terminals_only(monkeypatch, capsys):
    with show.progress("working", 3) as advance:
        advance(1, "hello")
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with show.progress("working", 3) as advance:
        advance(3, "page \x1b]0;x\x07")
    assert "working" in terminal.getvalue()
    assert "\x1b]0" not in terminal.getvalue()


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (0.0, "0 s"),
        (1 / 24, "60 min"),
        (1.0, "24 h"),
        (250.4, "250 days"),
        (7, "7 days"),
    ],
)
def test_stretches_of_time_are_said_in_fitting_units(days, said):
    assert show.span(days) == said


def test_never_has_no_date():
    assert show.date(float("-inf")) is None
    assert show.date(0.0) == "1970-01-01T00:00:00Z"
