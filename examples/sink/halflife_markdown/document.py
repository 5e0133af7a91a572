"""A record or page as Markdown: what a server sent is text there, never markup."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.readers.text import readable, to_text
from halflife.readers.titles import title
from halflife.sinks.event import stamp

_MARKUP = re.compile(r"([\\`*_\[\]<>#|&~$!])")
_AT_THE_START = re.compile(r"^([-+=]|\d+(?=[.)]))")
# Characters that end a line or a file for some reader of YAML, though not of JSON.
_UNSAFE = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def of_record(change: Change, record: Mapping[str, Any]) -> str:
    """Return a record as a list of its fields."""
    lines = [f"- **{escaped(name)}:** {_value(record[name])}" for name in record]
    return "\n".join([*_head(change, change.key), *lines, ""])


def of_page(change: Change, content: Content | None) -> str:
    """Return a page as its text; only its address if there is no text."""
    heading, text = change.key, ""
    if content is not None:
        heading = title(to_text(content.media_type, content.body)) or heading
        text = readable(content.media_type, content.body) or ""
    shown = [escaped(line) for line in text.splitlines()]
    if shown[:1] == [escaped(heading)]:  # the title is the first line of a page
        del shown[0]
    paragraphs = [f"{line}\n" for line in shown if line]
    return "\n".join([*_head(change, heading), *paragraphs])


def escaped(text: str) -> str:
    r"""Return a text as one line of Markdown that shows it as it is.

    >>> print(escaped("<b>a_b</b>\n[x](y)"))
    \<b\>a\_b\</b\> \[x\](y)
    >>> print(escaped("1. one"), escaped("- two"))
    1\. one \- two
    """
    line = " ".join(text.replace("\0", "\ufffd").split())
    line = _MARKUP.sub(r"\\\1", line)
    return _AT_THE_START.sub(_escape_start, line)


def _escape_start(found: re.Match[str]) -> str:
    number = found[1].isdigit()
    return f"{found[1]}\\" if number else f"\\{found[1]}"


def _head(change: Change, heading: str) -> Iterator[str]:
    """Yield the front matter, by which the file can be traced, and the heading.

    Its values are JSON, which every reader of YAML understands.
    """
    yield "---"
    yield f"source: {_quoted(change.source)}"
    yield f"key: {_quoted(change.key)}"
    yield f"change: {change.seq}"
    yield f"at: {stamp(change.at)}"
    yield "---"
    yield ""
    yield f"# {escaped(heading)}"
    yield ""


def _quoted(text: str) -> str:
    whole = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", whole)


def _value(value: Any) -> str:  # noqa: ANN401  (of a field)
    plain = isinstance(value, str)
    return escaped(value if plain else json.dumps(value, ensure_ascii=False))
