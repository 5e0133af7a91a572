"""Parsers that build trees, run in a process that may fail.

A page of one megabyte can make such a parser run for half a minute or use six
gigabytes, and no check of the page beforehand is safe. So it runs in its own process
with limits of memory and CPU time that the system enforces. This file is that process:
it is started as a script, imports nothing of halflife, reads requests from its standard
input and writes answers back, as plain data.

Request:  the CPU time in milliseconds, the sizes of the two parts (three 4-byte
          numbers), then JSON ``[name, arguments]``, then the page in UTF-8.
Answer:   one 4-byte number, then JSON: ``{"found": ...}`` or ``{"error": ...}``.
"""

import fcntl
import json
import os
import re
import resource
import select as polling
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

REQUEST = struct.Struct("!III")
ANSWER = struct.Struct("!I")
MEMORY = 1 << 30  # bytes of address space: a plain page of 16 MB uses 500 MB of it
LARGE = 200 << 20  # bytes; a process that has used more is replaced
IDLE = 60.0  # seconds after which an idle process ends
MOST_TEXT = 32 << 20  # characters of an answer
MOST_VALUES = 1000  # options of one choice
MOST_FIELDS = 100  # of one form
MOST_PDF_PAGES = 2000  # of a PDF that are read
MOST_NODES = 20_000  # elements that may be records
FEWEST = 3  # similar elements that make a list

Row: TypeAlias = list[str | None]
Query: TypeAlias = tuple[str, list[tuple[str, str]], int, int]
Part: TypeAlias = tuple[str, str]


def select(page: str, queries: list[Query]) -> list[list[Row]]:
    """Return, for each query, a row for each element that it finds.

    A query has a CSS selector, the values of each element (a selector within it, empty
    for itself, and an attribute, empty for its text), the most elements, and the most
    characters of each value.
    """
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415  (one op needs it)

    tree = LexborHTMLParser(page)
    size, found = 0, []
    for css, wanted, most, longest in queries:
        rows: list[Row] = []
        for node in tree.css(css)[:most] if css else ():
            row = [
                _value(node, inner, attribute, longest) for inner, attribute in wanted
            ]
            size += sum(len(value or "") for value in row)
            if size > MOST_TEXT:
                raise MemoryError
            rows.append(row)
        found.append(rows)
    return found


def _value(node: Any, css: str, attribute: str, longest: int) -> str | None:  # noqa: ANN401
    found = node.css_first(css) if css else node
    if found is None:
        return None
    if attribute:
        value: str | None = found.attributes.get(attribute)
        return value and value[:longest]
    return " ".join(found.text(separator=" ").split())[:longest]


def forms(page: str) -> list[dict[str, Any]]:
    """Return the forms of a page: their method, action and fields."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    found = []
    for form in LexborHTMLParser(page).css("form")[:MOST_FIELDS]:
        given = form.attributes
        fields = [_field(node) for node in form.css("input, select")[:MOST_FIELDS]]
        method, action = given.get("method") or "get", given.get("action") or ""
        found.append({"method": method, "action": action, "fields": fields})
    return found


def _field(node: Any) -> dict[str, Any]:  # noqa: ANN401  (selectolax has no types)
    given = node.attributes
    options = []
    for option in node.css("option")[:MOST_VALUES] if node.tag == "select" else ():
        value = option.attributes.get("value")
        options.append(option.text(strip=True) if value is None else value)
    return {
        "tag": node.tag,
        "name": given.get("name") or "",
        "type": given.get("type") or "",
        "value": given.get("value") or "",
        "options": options,
    }


def parts(page: str, only: list[Part], ignore: list[Part]) -> str:
    """Return the selected parts of a page, as HTML.

    A part is given by its language, ``css`` or ``xpath``, and an expression in it.
    Elements to ignore are cut out first. Without ``only`` the rest is returned; else
    the elements that it selects, each once, in order.
    """
    mark = f"data-{os.urandom(8).hex()}"  # a page cannot guess it
    page = _by_css(page, only, ignore, mark)
    if any(language == "xpath" for language, _ in (*only, *ignore)):
        page = _by_xpath(page, only, ignore, mark)
    return _marked(page, mark) if only else page


def _by_css(page: str, only: list[Part], ignore: list[Part], mark: str) -> str:
    """Return a page without ignored elements, and with marks on selected ones."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    tree, out = LexborHTMLParser(page), f"{mark}-out"
    for parts, name in ((ignore, out), (only, mark)):
        for language, css in parts:
            for node in tree.css(css) if language == "css" else ():
                node.attrs[name] = "1"
    for node in _outermost(tree, out):  # inner ones are removed with it
        node.decompose()
    return tree.html or ""


def _outermost(tree: Any, mark: str) -> list[Any]:  # noqa: ANN401
    """Return the outermost marked elements; the others lose their marks."""
    for node in tree.css(f"[{mark}] [{mark}]"):
        del node.attrs[mark]
    return list(tree.css(f"[{mark}]"))


def _by_xpath(page: str, only: list[Part], ignore: list[Part], mark: str) -> str:
    """Do the same as ``_by_css`` for expressions of XPath."""
    from lxml import etree, html  # noqa: PLC0415  (an extra)

    if not page.strip():
        return ""
    tree: Any = html.document_fromstring(page)
    for node in _elements(tree, ignore):
        if node.getparent() is not None:
            node.drop_tree()
    for node in _elements(tree, only):
        node.set(mark, "1")
    return str(etree.tostring(tree, encoding="unicode", method="html"))


def _elements(tree: Any, parts: list[Part]) -> list[Any]:  # noqa: ANN401
    """Return the elements that expressions of XPath find, without other results."""
    found: list[Any] = []
    for language, path in parts:
        result = tree.xpath(path) if language == "xpath" else ()
        found += result if isinstance(result, list) else ()
    return [node for node in found if hasattr(node, "drop_tree")]


def _marked(page: str, mark: str) -> str:
    """Return the marked elements of a page, without those inside of others."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    found = _outermost(LexborHTMLParser(page), mark)
    return "\n".join(node.html or "" for node in found)


def edit(page: str, only: list[str], ignore: list[str]) -> list[str]:
    """Return the lines of a text, edited by regular expressions.

    Matches of ``ignore`` are cut out. With ``only``, each line keeps only the matches
    of these expressions.
    """
    cut = [re.compile(pattern) for pattern in ignore]
    wanted = [re.compile(pattern) for pattern in only]
    lines = []
    for whole in page.split("\n"):
        line = whole
        for pattern in cut:
            line = pattern.sub("", line)
        if wanted:
            line = " ".join(m[0] for regex in wanted for m in regex.finditer(line))
        lines.append(line)
    return lines


def pdf_text(page: str) -> str | None:
    """Return the text of a PDF, page by page; None if it cannot be read.

    The file is given as characters, one for each byte.
    """
    from io import BytesIO  # noqa: PLC0415
    from logging import CRITICAL, getLogger  # noqa: PLC0415

    from pypdf import PdfReader  # noqa: PLC0415  (an extra)

    getLogger("pypdf").setLevel(CRITICAL)  # its warnings about odd files are not used
    try:
        reader = PdfReader(BytesIO(page.encode("latin-1")))
        pages = range(min(len(reader.pages), MOST_PDF_PAGES))
        parts = [reader.pages[number].extract_text() for number in pages]
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (encrypted, cut off, or no PDF at all)
        return None
    return "\n".join(parts)[: MOST_TEXT // 4]


def repeated(page: str) -> list[dict[str, Any]]:
    """Return groups of similar sibling elements, each with a link.

    The likeliest list of records comes first. A group has its selector, its size, and
    the selector of the link to the next page, if there is one.
    """
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    tree = LexborHTMLParser(page)
    following = _following(tree)
    groups: dict[str, list[Any]] = {}
    for node in tree.css("li, tr, article, div, section, dt, p, h2, h3")[:MOST_NODES]:
        outer = node.parent
        if outer is not None and node.css_first("a[href]") is not None:
            groups.setdefault(f"{_named(outer)} > {_named(node)}", []).append(node)
    found: list[dict[str, Any]] = []
    for selector, nodes in groups.items():
        if len(nodes) >= FEWEST:
            size = sum(len(node.text()) for node in nodes[:FEWEST]) / FEWEST
            links = {node.css_first("a[href]").attributes["href"] for node in nodes}
            found.append({
                "records": selector, "size": len(nodes), "links": len(links),
                "text": size, "next": following,
            })  # fmt: skip
    found.sort(key=lambda group: -group["links"] * min(group["text"], 200.0))
    return found[:FEWEST]


def _named(node: Any) -> str:  # noqa: ANN401  (selectolax has no types)
    """Return a selector for an element and similar ones."""
    given = node.attributes
    for mark, name in (("#", "id"), (".", "class")):
        word = (given.get(name) or "").split()[:1]
        if word and re.fullmatch(r"[A-Za-z_][\w-]*", word[0]) and node.tag != "tr":
            return f"{node.tag}{mark}{word[0]}"
    return str(node.tag)


def _following(tree: Any) -> str:  # noqa: ANN401  (selectolax has no types)
    """Return a selector for the link to the next page; empty if there is none."""
    for css in ("a[rel~=next]", "link[rel~=next]", "li.next > a", "a.next"):
        node = tree.css_first(css)
        if node is not None and node.attributes.get("href"):
            return f"{css}@href"
    return ""


def main_text(page: str) -> str:
    """Return the main content of a page."""
    from trafilatura import extract  # noqa: PLC0415  (an extra, slow to import)

    return str(extract(page, include_comments=False, fast=True) or "")


OPERATIONS: dict[str, Callable[..., Any]] = {
    "select": select,
    "forms": forms,
    "repeated": repeated,
    "main_text": main_text,
    "parts": parts,
    "edit": edit,
    "pdf_text": pdf_text,
}


def perform(request: bytes, page: bytes) -> dict[str, Any]:
    """Return the answer to a request."""
    name, arguments = json.loads(request)
    text = page.decode("utf-8", "replace")
    try:
        return {"found": OPERATIONS[name](text, *arguments)}
    except MemoryError:
        return {"error": "it takes too much memory to be read"}
    except RecursionError:
        return {"error": "it is nested too deeply to be read"}
    except Exception as error:  # noqa: BLE001  (a parser may raise anything)
        why = type(error).__name__  # selectolax raises its own when out of memory
        return {"error": f"its reader failed, perhaps for lack of memory ({why})"}


def serve(channel: socket.socket) -> None:
    """Answer requests until the channel is closed or idle."""
    while polling.select([channel], [], [], IDLE)[0]:
        head = _exactly(channel, REQUEST.size)
        if len(head) < REQUEST.size:
            return
        milliseconds, named, sized = REQUEST.unpack(head)
        request, page = _exactly(channel, named), _exactly(channel, sized)
        signal.setitimer(signal.ITIMER_PROF, milliseconds / 1000)
        _watch(channel, on=True)
        try:
            answer = json.dumps(perform(request, page)).encode()
        except MemoryError:
            return
        _watch(channel, on=False)
        signal.setitimer(signal.ITIMER_PROF, 0)
        channel.sendall(ANSWER.pack(len(answer)) + answer)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > LARGE:
            return


def _watch(channel: socket.socket, *, on: bool) -> None:
    """Let the system end this process when the process that started it is gone.

    While a page is read nothing else is sent, so the only event of the channel can be
    its closing: that raises SIGIO, which ends the process.
    """
    flags = fcntl.fcntl(channel, fcntl.F_GETFL)
    asynchronous = flags | os.O_ASYNC if on else flags & ~os.O_ASYNC
    fcntl.fcntl(channel, fcntl.F_SETFL, asynchronous)
    if on and polling.select([channel], [], [], 0)[0]:
        sys.exit()


def _exactly(channel: socket.socket, size: int) -> bytes:
    """Return this many bytes; fewer if the channel is closed."""
    parts = []
    while size:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> None:
    """Serve the socket that is our standard input, within limits."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    with socket.socket(fileno=os.dup(0)) as channel:
        fcntl.fcntl(channel, fcntl.F_SETOWN, os.getpid())
        serve(channel)


if __name__ == "__main__":
    main()
