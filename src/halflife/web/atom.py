"""Changes as an Atom feed (RFC 4287), for feed readers."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from halflife.study.svg import text as escaped
from halflife.web.changes_page import show
from halflife.web.pages import Answer

TYPE = "application/atom+xml"
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def feed(answer: Answer, base: str, settings: str) -> str:
    """Return a feed of the changes that an answer lists.

    ``base`` is the address of this server; ``settings`` distinguishes its feeds from
    those of other settings.
    """
    rows: Sequence[Answer] = answer["results"]
    query = urlencode(answer["query"])
    title = "What changed" + (f": {answer['source']}" if answer["source"] else "")
    updated = rows[0]["at"] if rows else answer["at"]
    parts = [
        f"<title>{escaped(title)}</title>",
        f"<id>{escaped(_name(settings, 'feed', query))}</id>",
        f"<updated>{escaped(updated or answer['at'])}</updated>",
        "<author><name>halflife</name></author>",
        _link("self", f"{base}/changes.atom", answer["query"], TYPE),
        _link("alternate", f"{base}/changes", answer["query"], "text/html"),
        *(_entry(row, base, settings) for row in rows),
    ]
    inside = "\n".join(parts)
    return f'{_HEAD}<feed xmlns="http://www.w3.org/2005/Atom">\n{inside}\n</feed>\n'


def _name(settings: str, *parts: str) -> str:
    """Return the permanent id of a feed or entry."""
    return "urn:x-halflife:" + urlencode({"of": settings, "is": ":".join(parts)})


def _link(rel: str, address: str, query: Mapping[str, str], kind: str) -> str:
    more = f"?{urlencode(query)}" if query else ""
    return f'<link rel="{rel}" type="{kind}" href="{escaped(address + more)}"/>'


def _entry(row: Answer, base: str, settings: str) -> str:
    change = show(row)
    what = change["key"] or "the whole answer"
    title = f"{row['source']}: {what} {change['said']}"
    here = {"source": row["source"], "item": row["key"]}
    if row["to"]:
        address, query = f"{base}/diff", {**here, "from": row["from"], "to": row["to"]}
    else:
        address, query = f"{base}/changes", here
    body = "".join(_paragraphs(row, change))
    return (
        f"<entry><title>{escaped(title)}</title>"
        f"<id>{escaped(_name(settings, 'change', str(row['seq'])))}</id>"
        f"<updated>{escaped(row['at'] or '')}</updated>"
        f'<category term="{escaped(change["said"])}"/>'
        f"{_link('alternate', address, query, 'text/html')}"
        # The texts in the markup are escaped, and then the markup itself.
        f'<content type="html">{escaped(body)}</content></entry>'
    )


def _paragraphs(row: Answer, change: Answer) -> list[str]:
    parts = [f"<p>{escaped(change['why'])}</p>"] if change["why"] else []
    for field in change["fields"]:
        old = f"<del>{escaped(field['old'])}</del> → " if field["had"] else ""
        new = f"<ins>{escaped(field['new'])}</ins>" if field["has"] else "nothing"
        parts.append(f"<p>{escaped(field['name'])}: {old}{new}</p>")
    for line in row["lines"]:
        tag = "del" if line["sign"] == "-" else "ins"
        text = "".join(part for part, _ in line["parts"])
        parts.append(f"<p><{tag}>{escaped(text)}</{tag}></p>")
    if change["link"]:
        parts.append(f'<p><a href="{escaped(change["link"])}">The page itself</a></p>')
    return parts
