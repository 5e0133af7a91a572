"""An answer to a trial request, and what a kind of source makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Reasons: TypeAlias = Mapping[str, str]  # what was guessed, and why
Sample: TypeAlias = tuple[Mapping[str, object], ...]

SAMPLE = 3  # records that are shown
SURE = 0.95  # the format says itself what it is
LIKELY = 0.85  # records with a key were found
PAGE = 0.7  # a web page is first of all a page
USABLE = 0.5  # somebody may want it so
VAGUE = 0.3  # it could be so, and somebody has to look at it


@dataclass(frozen=True, slots=True)
class Corrections:
    """What the person who adds a source knows better.

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
    """What an address answered.

    Attributes:
        url: Where the answer came from in the end.
        body: The content, decoded.
        content_type: The Content-Type header.
        headers: Other headers of the answer, by their names in lower case.
        corrections: What is known better.
        question: What was asked in GraphQL; empty if it was a plain address.

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
        score: How likely somebody wants it kept so, from 0 to 1.
        settings: The keys of its table, but for the name.
        reasons: Why each part was guessed so.
        sample: The first records, as they will be read.
        records: Records or pages that the answer names.
        total: Records of all pages, if the answer says how many.
        reads: Requests that one full read takes; None if nothing says so.
        hints: What the source offers that tells of changes.
        missing: Settings that nobody could guess; without them it cannot be kept.
        second: The second page, which shows whether paging was guessed right.
        second_body: What has to be posted to get that page.
        rivals: The same with other ways of paging, to be tried if this one fails.
        instead: Another address that has the same as data.
        package: What has to be installed first; empty if nothing has to.

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
        """Whether a source can be made of it as it is."""
        return bool(self.settings) and not (self.missing or self.package)

    def row(self) -> dict[str, object]:
        """Return it for programs."""
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
