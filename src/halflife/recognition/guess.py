"""Answers to trial requests, and guesses of how to keep their addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Reasons: TypeAlias = Mapping[str, str]  # the reason for each guessed part
Sample: TypeAlias = tuple[Mapping[str, object], ...]

SAMPLE = 3  # records that are shown
SURE = 0.95  # the format says itself what it is
LIKELY = 0.85  # records with a key were found
PAGE = 0.7  # a web page is first of all a page
USABLE = 0.5  # a user may want it so
VAGUE = 0.3  # it could be so; a person has to check


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrections of the guess by the person who adds a source.

    Attributes:
        records: Where the records are.
        key: What names a record.
        next: Where the address of the next page is.

    """

    records: str = ""
    key: str = ""
    next: str = ""

    @property
    def given(self) -> bool:
        """Whether anything was corrected."""
        return bool(self.records or self.key or self.next)


NOTHING = Corrections()


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """The answer of an address to a trial request.

    Attributes:
        url: The address of the answer, after redirects.
        body: The content, decoded.
        content_type: The Content-Type header.
        headers: Other headers of the answer, by their names in lower case.
        corrections: Corrections of the guess.
        question: The GraphQL query that was sent; empty for a plain address.

    """

    url: str
    body: bytes = field(repr=False)
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    corrections: Corrections = NOTHING
    question: str = ""


@dataclass(frozen=True, slots=True)
class SourceGuess:
    """One way in which an address could be kept.

    Attributes:
        kind: The kind of source.
        what: What the answer is, in words.
        score: How likely the user wants it kept so, from 0 to 1.
        settings: The keys of its table, without the name.
        reasons: The reason for each guessed part.
        sample: The first records, as they will be read.
        records: Records or pages that the answer names.
        total: Records of all pages, if the answer says how many.
        reads: Requests of one full read; None if it is unknown.
        hints: What the source offers that indicates changes, such as an ETag.
        missing: Required settings that could not be guessed.
        second: The address of the second page, to check the paging guess.
        second_body: The body to post to get that page.
        rivals: The same with other ways of paging, tried if this one fails.
        instead: Another address that has the same content as data.
        package: The package to install first; empty if none.

    """

    kind: str
    what: str
    score: float
    settings: Mapping[str, object] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=dict)
    sample: Sample = ()
    records: int = 0
    total: int | None = None
    reads: int | None = None
    hints: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    second: str = ""
    second_body: bytes = b""
    rivals: tuple["SourceGuess", ...] = ()
    instead: str = ""
    package: str = ""

    @property
    def usable(self) -> bool:
        """Whether it has all the settings of a source."""
        return bool(self.settings) and not (self.missing or self.package)

    def row(self) -> dict[str, object]:
        """Return the guess as plain values, for JSON."""
        return {
            "kind": self.kind,
            "what": self.what,
            "score": self.score,
            "settings": dict(self.settings),
            "reasons": dict(self.reasons),
            "sample": [dict(record) for record in self.sample],
            "records": self.records,
            "total": self.total,
            "requests_per_read": self.reads,
            "hints": list(self.hints),
            "missing": list(self.missing),
            "package": self.package,
        }


def header_hints(answer: TrialAnswer) -> tuple[str, ...]:
    """Return a description of each validator of an answer.

    >>> header_hints(TrialAnswer("http://a.example/", b"", headers={"etag": '"x"'}))
    ('ETag: a later request can be answered with 304, unchanged',)
    """
    known = (("etag", "ETag"), ("last-modified", "Last-Modified"))
    return tuple(
        f"{name}: a later request can be answered with 304, unchanged"
        for header, name in known
        if answer.headers.get(header)
    )
