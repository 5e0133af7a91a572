"""Faults in readers: functions that raise for the answers that a test marks."""

import functools
import importlib
import re
import sys

ERRORS = {
    error.__name__: error
    for error in (
        ValueError,
        KeyError,
        IndexError,
        RecursionError,
        MemoryError,
        UnicodeError,
        OverflowError,
        AssertionError,
        StopIteration,
    )
}
CANARY = "c4n4ry"  # the message of every injected error; it must not be repeated
_MARK = re.compile(r"POISON-(\w+)")


def poison(error):
    """Return the mark that makes an injected reader raise this error."""
    return f"POISON-{error}"


def fail(error):
    """Raise an error as a reader would; recursion is real."""
    if error == "RecursionError":
        fail(error)
    if error == "UnicodeError":
        b"\xff".decode("utf-8")
    raise ERRORS[error](CANARY)


def inject(monkeypatch, where):
    """Let the reader ``module:name`` or ``module:Class.name`` fail at marked answers.

    It raises the error that a mark in its arguments names; without a mark it does what
    it always does. If ``module`` is where it is defined, those that imported it by name
    get the failing one, too.
    """
    module, _, name = where.partition(":")
    owner, _, method = name.rpartition(".")
    home = importlib.import_module(module)
    holder = getattr(home, owner) if owner else home
    real = getattr(holder, method)

    @functools.wraps(real)
    def reader(*args, **named):
        for value in (*args, *named.values()):
            found = _MARK.search(_text(value))
            if found:
                fail(found[1])
        return real(*args, **named)

    monkeypatch.setattr(holder, method, reader)
    everywhere = not owner and real.__module__ == module
    for other in list(sys.modules.values()) if everywhere else ():
        known = getattr(other, "__name__", "").startswith("halflife.")
        if known and vars(other).get(method) is real:
            monkeypatch.setattr(other, method, reader)


def _text(value):
    value = getattr(value, "body", value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value) if isinstance(value, str) or hasattr(value, "raw_host") else ""
