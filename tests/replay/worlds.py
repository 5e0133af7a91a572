"""Small made-up worlds: one recorded source of each kind."""

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np

from halflife.core.forms import Attribute, Interface
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.kinds.form import recorded_source as form_recorded
from halflife.kinds.form.recorded_pages import snippet
from halflife.kinds.listing import recorded_source as listing_recorded
from halflife.kinds.pages import recorded_source as pages_recorded
from halflife.queries.table_form import TableForm
from halflife.recordings.registers import relation_of
from halflife.replay.world import Responder
from lab.search_box import search_box

BEGAN = 20_000.0
HOME = 'allow = ["127.0.0.0/8"]\nrobots = false\n'
COLORS = ("red", "green", "blue", "white", "black")
WORDS = tuple(f"word{i}" for i in range(120))


@dataclass(frozen=True)
class Part:
    """A recorded source, and how it is written into the settings."""

    name: str
    source: Responder
    head: str
    tables: str = ""


@cache
def lot(*what: object) -> float:
    """Return a number in [0, 1) that depends on nothing but what is named."""
    drawn = blake2b(repr(what).encode(), digest_size=4).digest()
    return int.from_bytes(drawn, "big") / 2**32


def text(page: str, now: float) -> str | None:
    if not page.isdigit() or int(page) >= 24:
        return None
    every = 0.2 + 6.0 * lot("page", page)
    return f"page {page}, version {int((now - BEGAN) / every)}"


def present(now: float, count: int = 90) -> dict[str, dict[str, object]]:
    """Return the objects of a moment: each comes and goes at times of its own."""
    day = now - BEGAN
    found = {}
    for i in range(count * 2):
        came, lives = 20.0 * lot("came", i) - 12.0, 1.0 + 30.0 * lot("life", i)
        if came <= day < came + lives:
            price = 100 + int(day / (2.0 + 5.0 * lot("price", i)))
            color = COLORS[int(lot("color", i) * len(COLORS))]
            found[f"car{i:03}"] = {"color": color, "price": price}
    return found


def find(word: str, now: float) -> list[str]:
    week = int((now - BEGAN) // 7.0)
    return [str(i) for i in range(week * 10, 250 + week * 10) if word in body(str(i))]


@cache
def body(name: str) -> str:
    return " ".join(w for w in WORDS if lot(name, w) < 0.06)


def site() -> Part:
    pages = ", ".join(f'"{{url}}/{i}"' for i in range(24))
    return Part("site", pages_recorded.site(text), f"{HOME}pages = [{pages}]")


def stock() -> Part:
    head = f'kind = "listing"\n{HOME}url = "{{url}}/objects"\nformat = "json"\n'
    head += 'records = "objects"\nkey = "_key"\nnext = "next"'
    return Part("cars", listing_recorded.listing(present, 25), head)


def desk() -> Part:
    interface = Interface(
        (Attribute("color", "select", COLORS),), page_size=10, cap=60, lookup=True
    )

    def table(now: float) -> TableForm:
        there = present(now)
        places = {key: lot("place", key) for key in there}
        return TableForm(interface, there, rng=np.random.default_rng(0), places=places)

    told = snippet("{url}", interface, name="desk")
    head, _, attributes = told.partition("[source.attributes]\n")
    lines = "robots = false\n" + "\n".join(head.splitlines()[2:])
    lines = lines.replace("{", "{{").replace("}", "}}").replace("{{url}}", "{url}")
    tables = f"[source.attributes]\n{attributes}"
    tables = tables.replace("{", "{{").replace("}", "}}")
    return Part("desk", form_recorded.form(table), lines, tables)


def library() -> Part:
    asked = "{url}/search?q={{query}}&from={{offset}}&size={{count}}"
    head = f'kind = "search"\n{HOME}search_url = "{asked}"\n'
    head += 'engine = "elasticsearch"\nper_page = 20'
    return Part("library", search_box(find, body), head)


def papers(began: float = BEGAN, days: float = 3.0) -> Part:
    """Return the same objects as a repository of the plug-in ``oai`` lists them."""
    from halflife_oai.recorded_source import RecordedRepository  # noqa: PLC0415  (a plug-in)

    tracker = Tracker()
    for hour in range(int(24 * days) + 1):
        there = present(BEGAN + hour / 24.0)
        rows = {f"oai:{key}": _texts(row) for key, row in there.items()}
        tracker.take(Listing(began + hour / 24.0, rows))
    relation = relation_of(tracker.register(), "papers")
    source = RecordedRepository("papers", relation, per_page=25)
    return Part("papers", source.answer, f'kind = "oai"\n{HOME}url = "{{url}}/oai"')


def _texts(row: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in row.items()}


KINDS = {
    "pages": (site,),
    "listing": (stock,),
    "form": (desk,),
    "search": (library,),
    "oai": (papers,),
    "mixed": (site, stock, desk, library),
}


def settings(parts, urls, requests: int, delay: float = 0.0) -> str:
    lines = [
        f'[budget]\nrequests = {requests}\nper = "day"',
        f"[fetch]\ndelay = {delay}",
    ]
    for part, url in zip(parts, urls, strict=True):
        lines.append(f'[[source]]\nname = "{part.name}"')
        lines += [part.head.format(url=url), part.tables.format(url=url)]
    return "\n".join(filter(None, lines)) + "\n"
