"""Local files that are not what they should be: one clear line, no wait, no trace."""

import os
import socket
import threading

import pytest

SOURCE = '[[source]]\nname = "s"\npages = ["http://127.0.0.1:9/"]\n'


def odd(path, kind):
    """Make something at a path that is no plain file."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.fixture(autouse=True)
def impatient():
    """End the test if a verb waits for what never comes."""
    timer = threading.Timer(60.0, os._exit, (99,))
    timer.start()
    yield
    timer.cancel()


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
@pytest.mark.parametrize("verb", ["sync", "status", "verify", "run"])
def test_a_state_file_that_is_no_file_is_refused(here, fails, kind, verb):
    (here / "halflife.toml").write_text(SOURCE)
    odd(here / "halflife.db", kind)
    code, said = fails(verb)
    assert code == 1
    assert f"halflife.db is a {kind}; name a file" in said


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
def test_settings_that_are_no_file_are_refused(here, fails, kind):
    odd(here / "halflife.toml", kind)
    code, said = fails("status")
    assert code == 2
    assert "halflife.toml: not a file; name one with --config" in said


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
def test_a_copy_that_is_no_file_is_not_restored(here, fails, kind):
    (here / "halflife.toml").write_text(SOURCE)
    odd(here / "copy.db", kind)
    code, said = fails("restore", "copy.db")
    assert code == 1
    assert f"copy.db is a {kind}; name a file" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = " + "9" * 5000, "not valid TOML: Exceeds the limit"),
        ("a = " + "[" * 5000, "not valid TOML: it is nested too deeply"),
        ("a = 1999-99-99", "not valid TOML"),
        ("a = 0x" + "f" * 100_000, "a: unknown key"),
    ],
)
def test_settings_that_break_the_parser_are_refused(here, fails, text, why):
    (here / "halflife.toml").write_text(text + "\n")
    code, said = fails("status")
    assert code == 2
    assert f"halflife.toml: {why}" in said
    assert len(said) < 600


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"key,at\n\xff\xfe,1\n", "not UTF-8 text (byte 7)"),
        (b"key,at\na\n", "line 2: it lacks a key or a time"),
        (b"key,at\na,inf\n", "line 2: its time and weight must be finite"),
        (b"key,at\na,nan\n", "line 2: its time and weight must be finite"),
        (b"key,at,weight\na,1,1e999\n", "line 2: its time and weight must be finite"),
        (b"key,at\na,never\n", "line 2: Invalid isoformat string"),
        (b"at\n1\n", "line 1: needs the columns key and at"),
        (b"", "line 1: needs the columns key and at"),
        (b"key,at\n" + b"a" * 200_000 + b",1\n", "line 1: field larger than"),
    ],
)
def test_a_history_that_cannot_be_read_is_refused(here, fails, body, why):
    (here / "h.csv").write_bytes(body)
    code, said = fails("replay", "h.csv")
    assert code == 2
    assert f"h.csv{',' if why.startswith('line') else ':'} {why}" in said


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_a_history_that_is_no_file_is_refused(here, fails, kind):
    odd(here / "h.csv", kind)
    code, said = fails("replay", "h.csv")
    assert code == 2
    assert "h.csv: not a file" in said
