"""Ways of paging: from a request and its answer to the next request.

Each way of paging is a small pure function of a request and its answer. It returns the
next request, or None at the end of the list; it sends nothing, so it can be tried on
any answer.
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
"""Evaluates an expression in an answer: JMESPath in JSON, a selector in HTML."""


@dataclass(frozen=True)
class ListingRequest:
    """The request for one page.

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
        """Return the method and body to send."""
        if self.body is None:
            return Payload(self.method)
        if self.form:
            return Payload(self.method, urlencode(self.body).encode(), FORM)
        return Payload(self.method, dumps(self.body).encode(), JSON)

    @property
    def mark(self) -> tuple[str, str, str]:
        """A key that is different for different requests."""
        return self.method, self.url, dumps(self.body, sort_keys=True)


PLAIN = ListingRequest("")  # the request if the settings say nothing


@dataclass(frozen=True)
class PageAnswer:
    """What an answer says of the next page.

    Attributes:
        url: Where the answer came from.
        headers: Its headers.
        records: How many records it had, usable or not.
        find: Evaluates an expression in it.
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
        """The expressions that it evaluates in answers."""
        ...

    @property
    def counts(self) -> bool:
        """Whether the list ends with a page that is empty or has nothing new."""
        ...

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request for the first page."""
        ...

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the next page; None at the end."""
        ...


@dataclass(frozen=True)
class SinglePage:
    """The whole list is on one page."""

    wanted: tuple[str, ...] = ()
    counts: bool = False

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request unchanged."""
        return request

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return None: there is no next page."""
        del request, answer
        return None


@dataclass(frozen=True)
class NextLink:
    """The answer contains the address of the next page, absolute or relative.

    >>> paging = NextLink("links.next")
    >>> answer = PageAnswer("http://a.example/jobs", find=lambda _: "?after=7")
    >>> paging.following(ListingRequest("http://a.example/jobs"), answer).url
    'http://a.example/jobs?after=7'
    """

    at: str
    counts: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The expression of the link."""
        return (self.at,)

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request unchanged."""
        return request

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the link."""
        link = answer.find(self.at)
        return follow(request, answer, str(link)) if link else None


@dataclass(frozen=True)
class LinkHeader:
    """The header ``Link`` has the address of the next page (RFC 8288).

    >>> answer = PageAnswer("http://a.example/", {"Link": '</?p=2>; rel="next"'})
    >>> LinkHeader().following(ListingRequest("http://a.example/"), answer).url
    'http://a.example/?p=2'
    """

    relation: str = "next"
    counts: bool = False
    wanted: tuple[str, ...] = ()

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request unchanged."""
        return request

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the link of the relation."""
        link = link_of(answer.headers, self.relation)
        return follow(request, answer, link) if link else None


@dataclass(frozen=True)
class TokenPlace:
    """A place in a request: a parameter or a field of the body.

    Attributes:
        parameter: The parameter of the query.
        body: Else the path in the body, its names separated by dots.

    """

    parameter: str = ""
    body: str = ""

    def put(self, request: ListingRequest, value: str | float) -> ListingRequest:
        """Return the request with a value in this place."""
        if self.parameter:
            given = {self.parameter: str(value)}
            return replace(request, url=with_parameters(request.url, given))
        names = self.body.split(".")
        body = _deeper(request.body or {}, names, value)
        return replace(request, body=body)

    def get(self, request: ListingRequest) -> object:
        """Return the value in this place; None if there is none."""
        if self.parameter:
            return parameter(request.url, self.parameter)
        value: object = request.body
        for name in self.body.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def number(self, request: ListingRequest, usual: int) -> int:
        """Return the number in this place."""
        value = self.get(request)
        return int(value) if isinstance(value, str | int) else usual


@dataclass(frozen=True)
class AddressPlace:
    """A number in the address itself: ``/list/{n}``."""

    template: str

    def put(self, request: ListingRequest, value: float) -> ListingRequest:
        """Return the request for the address with this number."""
        return replace(request, url=self.template.replace("{n}", str(value)))

    def number(self, request: ListingRequest, usual: int) -> int:
        """Return the number in the address."""
        before, _, after = self.template.partition("{n}")
        part = request.url[len(before) : len(request.url) - len(after)]
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
        at: Where the token is.
        into: Where it is sent.
        more: Where the answer says whether there is another page; if empty, there is
            one as long as there is a token.

    """

    at: str
    into: TokenPlace
    more: str = ""
    counts: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The expressions of the token, and of whether there is more."""
        return (self.at, self.more) if self.more else (self.at,)

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request unchanged: the first page needs no token."""
        return request

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request with the token.

        Raise ``SourceError`` if there is more without a usable token.
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
            following = self.into.put(request, kept)
            if is_address(following.url):  # percent-encoded it may be too long
                return following
        problem = f"what stands at {self.at!r} is no cursor"
        raise SourceError(f"{shown(answer.url)}: {problem}")


@dataclass(frozen=True)
class PageNumber:
    """Pages are counted; the list ends with a page that has nothing new."""

    into: TokenPlace | AddressPlace
    start: int = 1
    counts: bool = True
    wanted: tuple[str, ...] = ()

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request for the first page."""
        return self.into.put(request, self.start)

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the next page; None after an empty one."""
        if not answer.records:
            return None
        return self.into.put(request, self.into.number(request, self.start) + 1)


@dataclass(frozen=True)
class Offset:
    """A number of records is skipped; the list ends with a page that has none.

    The number grows by the records that a page had, not by the limit: a server may
    return fewer.

    Attributes:
        into: Where the number of skipped records is sent.
        limit: The number of records to request; 0 to leave that to the server.
        limit_into: Where that limit is sent.
        start: The number of the first record.

    """

    into: TokenPlace
    limit: int = 0
    limit_into: TokenPlace = TokenPlace("limit")
    start: int = 0
    counts: bool = True
    wanted: tuple[str, ...] = ()

    def first(self, request: ListingRequest) -> ListingRequest:
        """Return the request for the first records."""
        if self.limit:
            request = self.limit_into.put(request, self.limit)
        return self.into.put(request, self.start)

    def following(
        self, request: ListingRequest, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the next records; None after an empty page."""
        if not answer.records:
            return None
        skipped = self.into.number(request, self.start)
        return self.into.put(request, skipped + answer.records)


def follow(
    request: ListingRequest, answer: PageAnswer, link: str
) -> ListingRequest | None:
    """Return the request for the page at a link; it must be on the same host.

    A button that does nothing (``#``) has no next page; in HTML neither has a link to
    the page itself, which often marks the last page.
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
    return replace(request, url=target)


def is_address(url: str) -> bool:
    """Say whether this is a valid address.

    >>> is_address("http://a.example/"), is_address("http://a.example/" + 4096 * "a")
    (True, False)
    """
    try:
        return bool(canonical(url))
    except UsageError:
        return False


def link_of(headers: Mapping[str, str], relation: str) -> str:
    """Return the address in a header ``Link`` for a relation; empty if none.

    >>> link_of({"Link": '</2>; rel="next", </9>; rel=last'}, "last")
    '/9'
    """
    for target, rest in _LINK.findall(headers.get("Link", "")):
        match = _REL.search(rest)
        names = (match[1] or match[2] or "").lower().split() if match else []
        if relation.lower() in names:
            return str(target)
    return ""


def total_of(headers: Mapping[str, str], name: str) -> int | None:
    """Return the number of records in a header; None if it has none.

    >>> total_of({"X-Total-Count": "240"}, "X-Total-Count")
    240
    >>> total_of({"Content-Range": "items 0-9/240"}, "Content-Range")
    240
    """
    text = headers.get(name, "").rpartition("/")[2].strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
