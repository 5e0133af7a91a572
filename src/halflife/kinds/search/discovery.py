"""Adding databases: find out how a site can be searched, and try it once."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from halflife.config import Config, SourceConfig, problem
from halflife.config.edit import add_sources, with_sources
from halflife.config.kinds import read_source
from halflife.core.budget import Purse
from halflife.core.errors import SourceError, Unreachable, UsageError
from halflife.core.search import SearchAnswer
from halflife.engine import bootstrap, network
from halflife.engine.leased_session import Visitor
from halflife.kinds.search.client import Engine
from halflife.kinds.search.description import (
    description_link,
    is_description,
    read_description,
)
from halflife.kinds.search.recognition import settings_of
from halflife.kinds.search.runner import settings
from halflife.kinds.search.settings import SearchConfig
from halflife.net.access import Access, Answer as Reply
from halflife.net.addresses import parse_url, shown
from halflife.net.gate import Gate
from halflife.readers.text import is_html, to_text
from halflife.stores import Store

TRIED = ("time", "new", "people", "water", "data")  # words of the first query


@dataclass(frozen=True, slots=True)
class DatabaseRequest:
    """A database that a user wants to add.

    Attributes:
        url: An address with ``{query}`` in it, an OpenSearch description, a page that
            links to one, or a page with a form.
        name: Its name; its host if None.
        allow: Networks that it may lie in although they are not public.
        kind: The kind of the source.

    """

    url: str
    name: str | None = None
    allow: tuple[str, ...] = ()
    kind: str = "search"

    @property
    def home(self) -> str:
        """The name of the source; raise ``UsageError`` if its address is invalid."""
        try:
            return self.name or urlsplit(self.url).netloc or self.url
        except ValueError:
            raise UsageError(f"{shown(self.url)}: not a URL") from None

    def source(self, found: dict[str, object]) -> SourceConfig:
        """Return the settings to add; ``found`` has those that were found out."""
        given = {"name": self.home, "kind": self.kind, "allow": self.allow, **found}
        try:
            table = {key: value for key, value in given.items() if value != ()}
            return read_source(table)
        except ValidationError as error:
            raise UsageError(problem(error)) from None


@dataclass(frozen=True, slots=True)
class FoundSearch:
    """A database that can be searched, and the result of a first query.

    Attributes:
        source: Its settings.
        tried: The query; empty if none was sent.
        shown: Documents in the answer.
        total: Matches in all; None if the answer does not say.

    """

    source: SearchConfig
    tried: str = ""
    shown: int = 0
    total: int | None = None

    def row(self) -> dict[str, str | int | None]:
        """Return it as a row for programs."""
        return {
            "url": self.source.search_url,
            "source": self.source.name,
            "kind": "search",
            "tried": self.tried,
            "hits": self.shown,
            "total": self.total,
        }


def add(
    path: Path, wanted: DatabaseRequest, *, check: bool, write: bool = True
) -> FoundSearch:
    """Add a database to the settings, after a first query if ``check``.

    An address with ``{query}`` is taken unchanged; any other is fetched, to find a
    description. Nothing is sent for a preview (``write`` false), which is possible only
    for an address with ``{query}``.
    """
    config = Config.load(path)
    templated = "{query}" in wanted.url
    if templated and not (check and write):
        source = wanted.source({"search_url": wanted.url})
        added = FoundSearch(SearchConfig.of(source))
    elif not write:
        raise UsageError("a description cannot be previewed without fetching it")
    else:
        with bootstrap.writing(config) as store:
            added = asyncio.run(_find(config, store, wanted, check=check))
    text = with_sources(path, [added.source])
    Config.parse(text, path)
    if write:
        add_sources(path, [added.source])
    return added


async def _find(
    config: Config, store: Store, wanted: DatabaseRequest, *, check: bool
) -> FoundSearch:
    visitor = Visitor(config, store, bootstrap.clock)
    async with visitor.visit(wanted.home) as (_, gate, purse):
        source = SearchConfig.of(wanted.source(await _describe(gate, purse, wanted)))
        return await _try(gate, purse, source) if check else FoundSearch(source)


async def _describe(
    gate: Gate, purse: Purse, wanted: DatabaseRequest
) -> dict[str, object]:
    """Return how a database is searched, as settings."""
    if "{query}" in wanted.url:
        return {"search_url": wanted.url}
    trial = wanted.source({"search_url": f"{wanted.url}#{{query}}"})
    access = network.access(trial, page=True)
    reply = await _get(gate, purse, access, wanted.url)
    if not is_description(reply.body) and is_html(reply.content_type, reply.body):
        link = description_link(to_text(reply.content_type, reply.body), reply.url)
        if link:
            reply = await _get(gate, purse, access, link)
    if not is_description(reply.body):
        raise SourceError(
            f"{shown(wanted.url)}: it is not an OpenSearch description and names none; "
            "give the address of a search, with {query} in the place of the words"
        )
    description = read_description(reply.body, reply.url)
    if "html" in description.type:
        raise SourceError(
            f"{shown(wanted.url)}: its answers are HTML, and the settings must say "
            f'where the hits are: write kind = "search", engine = "html", search_url = '
            f'"{description.url}", hits and hit_link (CSS) into the settings'
        )
    return settings_of(description)


async def _get(gate: Gate, purse: Purse, access: Access, url: str) -> Reply:
    reply = await gate.get(parse_url(url), purse, access=access)
    if reply.status not in {200, 203}:
        raise Unreachable(f"{shown(url)}: it answered {reply.status}")
    return reply


async def _try(gate: Gate, purse: Purse, source: SearchConfig) -> FoundSearch:
    """Send common words until one has hits."""
    engine = Engine(gate, settings(source, fetch=False), purse)
    answer, word = SearchAnswer(None, ()), ""
    for word in TRIED:
        answer = await engine.search(word, source.per_page)
        if answer.documents:
            break
    return FoundSearch(source, word, len(answer.documents), answer.total)
