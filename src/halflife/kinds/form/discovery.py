"""Adding databases behind forms: the form of a search page, as settings."""

import asyncio
from pathlib import Path

from halflife.config import Config
from halflife.config.edit import add_sources, with_sources
from halflife.core.budget import Purse
from halflife.core.errors import SourceError, Unreachable
from halflife.engine import bootstrap, network
from halflife.engine.leased_session import Visitor
from halflife.kinds.form.description import DescribedForm, describe_form
from halflife.kinds.form.recognition import settings_of
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.search.discovery import DatabaseRequest
from halflife.net.addresses import parse_url, shown
from halflife.net.gate import Gate
from halflife.readers.reader_thread import in_thread
from halflife.readers.text import is_html, to_text
from halflife.stores import Store

MISSING = "records, key, total, {page} in form_url"  # not in any search page


def add(path: Path, wanted: DatabaseRequest) -> FormConfig:
    """Read a search page, and add its form to the settings."""
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        source = asyncio.run(_find(config, store, wanted))
    Config.parse(with_sources(path, [source]), path)
    add_sources(path, [source])
    return source


def row(source: FormConfig) -> dict[str, str | int | None]:
    """Return the result of ``add`` as a row."""
    return {
        "url": source.form_url,
        "source": source.name,
        "kind": source.kind,
        "attributes": ", ".join(
            f"{n} ({a.kind})" for n, a in source.attributes.items()
        ),
        "still_to_say": MISSING,
    }


async def _find(config: Config, store: Store, wanted: DatabaseRequest) -> FormConfig:
    visitor = Visitor(config, store, bootstrap.clock)
    async with visitor.visit(wanted.home) as (_, gate, purse):
        form = await _read(gate, purse, wanted)
        return FormConfig.of(wanted.source(settings_of(form)))


async def _read(gate: Gate, purse: Purse, wanted: DatabaseRequest) -> DescribedForm:
    """Return the form of a search page."""
    trial: dict[str, object] = {"form_url": wanted.url, "attributes": {"x": {}}}
    access = network.access(wanted.source(trial), page=True)
    reply = await gate.get(parse_url(wanted.url), purse, access=access)
    if reply.status not in {200, 203}:
        raise Unreachable(f"{shown(wanted.url)}: it answered {reply.status}")
    if not is_html(reply.content_type, reply.body):
        raise SourceError(f"{shown(wanted.url)}: it is not a web page with a form")
    text = to_text(reply.content_type, reply.body)
    try:
        return await in_thread(describe_form, text, reply.url)
    except SourceError as error:
        raise SourceError(f"{shown(wanted.url)}: {error}") from None
