"""What a probe found out about a form."""

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from halflife.core.forms import Counts, Interface

CountQuality: TypeAlias = Literal[
    "exact", "rounded", "capped", "none", "lying", "unknown"
]


class FormFinding(NamedTuple):
    """One property that was probed, the verdict and its reason."""

    what: str
    verdict: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.verdict}; {self.why}"


@dataclass(frozen=True, slots=True)
class FormFacts:
    """What a form does, as far as a probe could show; None where it could not.

    Attributes:
        requests: Requests that it took.
        counts: How reliable the reported hit counts are.
        page_size: Records on a page of results.
        cap: Results of a query that can be reached at all, if an end was found.
        reached: The most results of one query known to be within reach.
        stable: Whether pages of one query show each record once, in one order.
        paged: Whether pages after the first show other records.
        newest: Whether the newest come first when requested.
        lookup: Whether records are found by their keys, and only those.
        everything: Whether the empty query is answered.
        conjunctive: Whether all terms of a query hold for what it finds.
        ignored: Attributes that make no difference.
        failures: Requests without a readable answer.
        findings: All findings in words.

    """

    requests: int = 0
    counts: CountQuality = "unknown"
    page_size: int | None = None
    cap: int | None = None
    reached: int = 0
    stable: bool | None = None
    paged: bool | None = None
    newest: bool | None = None
    lookup: bool | None = None
    everything: bool | None = None
    conjunctive: bool | None = None
    ignored: tuple[str, ...] = ()
    failures: int = 0
    findings: tuple[FormFinding, ...] = field(default=())

    def interface(self, claimed: Interface) -> Interface:
        """Return the claimed interface without the claims found to be wrong.

        Nothing is added that was not claimed: wrong or missing counts become none, a
        cap can only be lowered, and what was not probed stays.
        """
        size = self.page_size or claimed.page_size
        caps = [cap for cap in (claimed.cap, self.cap) if cap is not None]
        if self.paged is False:
            caps.append(size)
        return replace(
            claimed,
            attributes=tuple(
                a for a in claimed.attributes if a.name not in self.ignored
            ),
            page_size=size,
            cap=min(caps, default=None),
            counts=self._counts(claimed.counts),
            together=1 if self.conjunctive is False else claimed.together,
            everything=claimed.everything and self.everything is not False,
            newest=claimed.newest and self.newest is not False,
            lookup=claimed.lookup and self.lookup is not False,
        )

    def _counts(self, claimed: Counts) -> Counts:
        """Return the weaker of what is claimed and what was found."""
        if self.counts in {"lying", "none"} or claimed == "none":
            return "none"
        if self.counts in {"rounded", "capped"}:
            return "rounded" if self.counts == "rounded" else "capped"
        return claimed

    def row(self) -> dict[str, object]:
        """Return the facts as a row for reports."""
        return {
            "requests": self.requests,
            "counts": self.counts,
            "page_size": self.page_size,
            "cap": self.cap,
            "reached": self.reached,
            "stable": self.stable,
            "paged": self.paged,
            "newest": self.newest,
            "lookup": self.lookup,
            "everything": self.everything,
            "conjunctive": self.conjunctive,
            "ignored": list(self.ignored),
            "failures": self.failures,
            "findings": [finding._asdict() for finding in self.findings],
        }
