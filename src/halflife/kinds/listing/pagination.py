"""How a list goes on: from a request and its answer to the next request.

Each way of paging is a small pure function of what was asked and what came back. It
returns the next request, or None at the end of the list; it sends nothing, so any of
them can be tried on an answer at hand.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from json import dumps
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlencode

from halflife.core.errors import SourceError, UsageError
from halflife.net.access import Payload
from halflife.net.addresses import canonical, host_of, resolve, shown
from halflife.net.parameters import is_writable, parameter, with_parameters

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
LONGEST = 4096  # characters of a cursor
_LINK = re.compile(
    r'<([^<>]*)>((?:\s*;\s*[^\s=;,]+\s*(?:=\s*(?:"[^"]*"|[^\s";,]*))?)*)'
)
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s";,]*))', re.IGNORECASE)

Find: TypeAlias = Callable[[str], Any]
"""What an expression finds in an answer: JMESPath in JSON, a selector in HTML."""


@dataclass(frozen=True)
class ListingRequest:
    """What is asked for one page.

    Attributes:
        url: The address, with its query.
        method: GET or POST.
        body: The fields of the body; None if there is none.
        form: Whether the body is sent as a form and not as JSON.

    """

    url: str
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    form: bool = False

    def payload(self) -> Payload:
        """Return what is sent."""
        if self.body is None:
            return Payload(self.method)
        if self.form:
            return Payload(self.method, urlencode(self.body).encode(), FORM)
        return Payload(self.method, dumps(self.body).encode(), JSON)

    @property
    def mark(self) -> tuple[str, str, str]:
        """What tells it from other requests."""
        return self.method, self.url, dumps(self.body, sort_keys=True)


PLAIN = ListingRequest("")  # what a request holds if the settings say nothing


@dataclass(frozen=True)
class PageAnswer:
    """What came back, as far as it says how the list goes on.

    Attributes:
        url: Where the answer came from.
        headers: Its headers.
        records: How many records it had, usable or not.
        find: Finds what an expression names in it.
        markup: Whether it is HTML.

    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    records: int = 0
    find: Find = lambda _: None
    markup: bool = False


class Paging(Protocol):
    """A way of paging."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """The expressions that it looks up in answers."""
        ...

    @property
    def counts(self) -> bool:
        """Whether the list ends with a page that has nothing, or nothing new."""
        ...

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Return the request for the first page."""
        ...

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the next page; None at the end."""
        ...


@dataclass(frozen=True)
class Once:
    """All of a list is on one page."""

    wanted: tuple[str, ...] = ()
    counts: bool = False

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Return the request as it is."""
        return asked

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return None: there is no other page."""
        del asked, answer
        return None


@dataclass(frozen=True)
class NextLink:
    """The address of the next page stands in the answer, whole or relative.

    >>> paging = NextLink("links.next")
    >>> answer = PageAnswer("http://a.example/jobs", find=lambda _: "?after=7")
    >>> paging.following(ListingRequest("http://a.example/jobs"), answer).url
    'http://a.example/jobs?after=7'
    """

    at: str
    counts: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The link."""
        return (self.at,)

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Return the request as it is."""
        return asked

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Follow the link."""
        link = answer.find(self.at)
        return follow(asked, answer, str(link)) if link else None


@dataclass(frozen=True)
class LinkHeader:
    """The address of the next page stands in the header ``Link`` (RFC 8288).

    >>> answer = PageAnswer("http://a.example/", {"Link": '</?p=2>; rel="next"'})
    >>> LinkHeader().following(ListingRequest("http://a.example/"), answer).url
    'http://a.example/?p=2'
    """

    relation: str = "next"
    counts: bool = False
    wanted: tuple[str, ...] = ()

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Return the request as it is."""
        return asked

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Follow the link of the relation."""
        link = link_of(answer.headers, self.relation)
        return follow(asked, answer, link) if link else None


@dataclass(frozen=True)
class TokenPlace:
    """Where something is put in a request.

    Attributes:
        parameter: The parameter of the query.
        body: The path in the body, its names parted by dots; if there is no parameter.

    """

    parameter: str = ""
    body: str = ""

    def put(self, asked: ListingRequest, value: str | float) -> ListingRequest:
        """Return the request with a value there."""
        if self.parameter:
            given = {self.parameter: str(value)}
            return replace(asked, url=with_parameters(asked.url, given))
        names = self.body.split(".")
        body = _deeper(asked.body or {}, names, value)
        return replace(asked, body=body)

    def get(self, asked: ListingRequest) -> object:
        """Return what stands there; None if nothing does."""
        if self.parameter:
            return parameter(asked.url, self.parameter)
        found: object = asked.body
        for name in self.body.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def number(self, asked: ListingRequest, usual: int) -> int:
        """Return the number that stands there."""
        found = self.get(asked)
        return int(found) if isinstance(found, str | int) else usual


@dataclass(frozen=True)
class AddressPlace:
    """A number in the address itself: ``/list/{n}``."""

    template: str

    def put(self, asked: ListingRequest, value: float) -> ListingRequest:
        """Return the request for the address with a number."""
        return replace(asked, url=self.template.replace("{n}", str(value)))

    def number(self, asked: ListingRequest, usual: int) -> int:
        """Return the number that stands there."""
        before, _, after = self.template.partition("{n}")
        part = asked.url[len(before) : len(asked.url) - len(after)]
        digits = re.match(r"\d+", part or "")
        return int(digits[0]) if digits else usual


def _deeper(body: Mapping[str, Any], names: list[str], value: object) -> dict[str, Any]:
    first, *rest = names
    if not rest:
        return {**body, first: value}
    inner = body.get(first)
    inside = inner if isinstance(inner, Mapping) else {}
    return {**body, first: _deeper(inside, rest, value)}


@dataclass(frozen=True)
class Cursor:
    """A token in the answer is sent back for the next page.

    Attributes:
        at: Where the token stands.
        into: Where it is put.
        more: Where the answer says whether there is another page; if empty, there is
            one as long as there is a token.

    """

    at: str
    into: TokenPlace
    more: str = ""
    counts: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The token, and whether there is more."""
        return (self.at, self.more) if self.more else (self.at,)

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Return the request as it is: the first page needs no token."""
        return asked

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Send the token back.

        Raise ``SourceError`` if there is more and no token, or one of no use.
        """
        if self.more and not answer.find(self.more):
            return None
        token = answer.find(self.at)
        if token is None or token == "" or token is False:
            if self.more:
                where = shown(answer.url)
                raise SourceError(
                    f"{where}: it says that there is more, and has no cursor at "
                    f"{self.at!r}"
                )
            return None
        plain = isinstance(token, str | int | float)
        if plain and len(str(token)) <= LONGEST and is_writable(str(token)):
            kept = token if self.into.body and isinstance(token, int) else str(token)
            following = self.into.put(asked, kept)
            if is_address(following.url):  # spelled for an address it may be too long
                return following
        said = f"what stands at {self.at!r} is no cursor"
        raise SourceError(f"{shown(answer.url)}: {said}")


@dataclass(frozen=True)
class PageNumber:
    """Pages are counted; the list ends with a page that has nothing new."""

    into: TokenPlace | AddressPlace
    start: int = 1
    counts: bool = True
    wanted: tuple[str, ...] = ()

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Ask for the first page."""
        return self.into.put(asked, self.start)

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Ask for the page after this one, as long as there was anything on it."""
        if not answer.records:
            return None
        return self.into.put(asked, self.into.number(asked, self.start) + 1)


@dataclass(frozen=True)
class Offset:
    """So many records are left out; the list ends with a page that has none.

    What a page had is left out next, not what it was asked for: a server may give less
    than that.

    Attributes:
        into: Where the number of records to leave out is put.
        limit: How many records are asked for; 0 to leave that to the server.
        limit_into: Where that number is put.
        start: The number of the first record.

    """

    into: TokenPlace
    limit: int = 0
    limit_into: TokenPlace = TokenPlace("limit")
    start: int = 0
    counts: bool = True
    wanted: tuple[str, ...] = ()

    def first(self, asked: ListingRequest) -> ListingRequest:
        """Ask for the first records."""
        if self.limit:
            asked = self.limit_into.put(asked, self.limit)
        return self.into.put(asked, self.start)

    def following(
        self, asked: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Ask for the records after these, as long as there were any."""
        if not answer.records:
            return None
        skipped = self.into.number(asked, self.start)
        return self.into.put(asked, skipped + answer.records)


def follow(
    asked: ListingRequest, answer: PageAnswer, link: str
) -> ListingRequest | None:
    """Return the request for the page at a link; it must lie on the same host.

    The link of a button that does nothing (``#``) leads nowhere, and in HTML neither
    does one to the page itself: so pages for people mark the last one.
    """
    where = shown(answer.url)
    if link.strip().startswith("#") or not link.strip():
        return None
    try:
        target = resolve(answer.url, link)
        same = host_of(target) == host_of(answer.url)
    except UsageError:
        raise SourceError(f"{where}: its next page has no address") from None
    if not same:
        raise SourceError(f"{where}: its next page lies on another host")
    if answer.markup and target == answer.url:
        return None
    return replace(asked, url=target)


def is_address(url: str) -> bool:
    """Say whether this can be asked for.

    >>> is_address("http://a.example/"), is_address("http://a.example/" + 4096 * "a")
    (True, False)
    """
    try:
        return bool(canonical(url))
    except UsageError:
        return False


def link_of(headers: Mapping[str, str], relation: str) -> str:
    """Return the address that a header ``Link`` names for a relation; empty if none.

    >>> link_of({"Link": '</2>; rel="next", </9>; rel=last'}, "last")
    '/9'
    """
    for target, rest in _LINK.findall(headers.get("Link", "")):
        found = _REL.search(rest)
        names = (found[1] or found[2] or "").lower().split() if found else []
        if relation.lower() in names:
            return str(target)
    return ""


def total_of(headers: Mapping[str, str], name: str) -> int | None:
    """Return the number of records that a header names; None if it names none.

    >>> total_of({"X-Total-Count": "240"}, "X-Total-Count")
    240
    >>> total_of({"Content-Range": "items 0-9/240"}, "Content-Range")
    240
    """
    text = headers.get(name, "").rpartition("/")[2].strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
