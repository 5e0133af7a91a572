"""Forms over HTTP on loopback, asked from a thread as algorithms do."""

import asyncio
from collections.abc import Callable
from typing import Any

from halflife.core.forms import Interface
from halflife.kinds.form.addresses import Addresses, Place
from halflife.kinds.form.answers import FormAnswerReader
from halflife.kinds.form.recorded_pages import KEY
from halflife.kinds.form.web_form import FormEngine, FormSettings, WebForm
from halflife.readers.records import RecordReader
from web_parts import HOME, Coins, make_gate

NAMES = ("city", "title", "price")
PLACES = {"price": Place(low="price_min", high="price_max")}
JSON = FormAnswerReader(
    RecordReader(KEY, "json", "results", {name: name for name in NAMES}), "total"
)
HTML = FormAnswerReader(
    RecordReader(
        "@data-key",
        "html",
        "li.record",
        {name: f"[data-field={name}]" for name in NAMES},
    ),
    "#count",
)


def settings(url: str, interface: Interface, *, html: bool = False) -> FormSettings:
    """Return how the simulator is asked."""
    path = "/search?page={page}" if html else "/api/records?page={page}"
    addresses = Addresses(
        url + path, PLACES, newest="sort=date", lookup=url + "/api/records/{key}"
    )
    return FormSettings(addresses, HTML if html else JSON, interface, HOME)


def at_desk(
    how: FormSettings,
    work: Callable[[WebForm], Any],
    *,
    purse: Coins | None = None,
    **gate: Any,
) -> Any:
    """Return what ``work`` returns, in a thread, with a desk."""

    async def run() -> Any:
        async with make_gate(**gate) as way:
            engine = FormEngine(way, how, purse or Coins())
            desk = WebForm(engine, asyncio.get_running_loop())
            return await asyncio.to_thread(work, desk)

    return asyncio.run(run())
