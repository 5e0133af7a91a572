"""Judge the hit counts that a form reports; each judgement gives its reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log10

from halflife.core.forms import Query
from halflife.core.wording import count
from halflife.queries.form_facts import CountQuality
from halflife.queries.notes import SLACK, ProbeNotes

CHANCE = -3.0  # log10 of the chance at which honest numbers end in so many zeros
MANY = 100  # hits: two queries rarely have equal counts this large by chance
TEN = 10  # round numbers are multiples of it
BELIEVED = (
    0.02  # counts are believed if their chance of agreeing by luck is at most this
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and why."""

    verdict: str
    why: str


def judge_counts(
    notes: ProbeNotes, ignored: tuple[str, ...], *, conjunctive: bool | None
) -> tuple[CountQuality, Judgement]:
    """Return how reliable the reported hit counts are, and why."""
    answered = [page for _, page in notes.first_pages() if page.records]
    totals = {
        query: total
        for query, total in notes.totals().items()
        if not any(term.attribute in ignored for term in query)
    }
    if not answered:
        return "unknown", Judgement("unknown", "no query found anything")
    if not totals:
        return "none", Judgement(
            "not reported", f"{len(answered)} answers gave no count"
        )
    top = _capped(notes, totals)
    contradiction = next(_contradictions(notes, top, conjunctive=conjunctive), "")
    if contradiction:
        return "lying", Judgement("unreliable", contradiction)
    if top:
        same = sum(total == top for total in totals.values())
        why = f"{same} queries report exactly {top} hits, and none more"
        return "capped", Judgement(f"reported up to {top}", why)
    rough = _rough(notes, totals)
    return ("rounded", Judgement("rounded", rough)) if rough else _exact(notes)


def _exact(notes: ProbeNotes) -> tuple[CountQuality, Judgement]:
    """Return that counts are exact if a query that was read whole shows it."""
    agreeing = [
        query for query, total, shown in notes.one_page_answers() if total == shown
    ]
    last = any(_last(notes, query) is not None for query in notes.ends)
    if not agreeing and not last:
        why = "no query was small enough to be counted"
        return "unknown", Judgement("not checked", why)
    read = count(len(agreeing), "query", "queries")
    proof = f"{read} read whole had as many records as reported"
    proof += ", and a last page was where it was expected" if last else ""
    return "exact", Judgement("exact", proof)


def _capped(notes: ProbeNotes, totals: dict[Query, int]) -> int:
    """Return the number at which counting stops; 0 if it does not seem to stop.

    Two queries with the same highest count were cut off there if the count is large,
    or if a record that one of them showed does not match the other.
    """
    top = max(totals.values())
    at = [query for query, total in totals.items() if total == top]
    if top == notes.claimed.cap and top >= MANY:
        return top
    for i, first in enumerate(at):
        for second in at[i + 1 :]:
            nested = set(first) <= set(second) or set(second) <= set(first)
            broader, narrower = sorted((first, second), key=len)
            differ = not all(notes.meets_terms(broader, narrower.terms))
            if differ and top > notes.size and (nested or top >= MANY):
                return top
    return 0


def _contradictions(
    notes: ProbeNotes, top: int, *, conjunctive: bool | None
) -> Iterator[str]:
    """Yield the observations that contradict the reported hit counts."""
    wrong = (
        notes.counts_lie()
        or (notes.wrong_counts() and notes.luck() > BELIEVED)
        or _odd(notes)
    )
    for query, total, true in notes.wrong_counts() if wrong else ():
        yield f"{query}: {total} reported, {true} found"
    totals = notes.totals()
    for query, total in totals.items():
        seen = len(notes.keys(query))
        if seen > total * SLACK and total != top:
            yield f"{query}: {total} reported, {seen} shown"
        if conjunctive is False:
            continue
        for broader, bound in totals.items():
            if set(broader) < set(query) and total > bound * SLACK + 1:
                yield f"{query}: {total} reported, but {bound} for {broader}"
    yield from _sums(notes, totals, top)
    yield from _promises(notes)


def _sums(notes: ProbeNotes, totals: dict[Query, int], top: int) -> Iterator[str]:
    """Yield selections whose values together have more hits than the empty query.

    Only attributes with one value a record count: the records shown have just the
    requested value.
    """
    whole = totals.get(Query())
    if whole is None or whole == top:
        return
    for attribute in notes.claimed.attributes:
        mine = {
            query: total
            for query, total in totals.items()
            if len(query) == 1 and query.terms[0].attribute == attribute.name
        }
        single = all(all(notes.meets_terms(query, query.terms)) for query in mine)
        if attribute.kind == "select" and single:
            together = sum(mine.values())
            if together > whole * SLACK + len(mine):
                yield (
                    f"{len(mine)} values of {attribute.name} have {together} hits, "
                    f"but the empty query has {whole}"
                )


def _promises(notes: ProbeNotes) -> Iterator[str]:
    """Yield queries whose results end elsewhere than their hit count says."""
    for query, end in notes.ends.items():
        total = notes.total(query)
        reach = end.reach(notes.size)
        if total is None:
            continue
        short = reach * SLACK < total and end.beyond is not None
        if short and (notes.shared is False or _odd(notes)):
            yield f"{query}: {total} reported, its results end after {reach}"
        elif reach > total * SLACK:
            yield f"{query}: {total} reported, {reach} can be reached"


def _odd(notes: ProbeNotes) -> bool:
    """Return whether results end too early at a place where no site would cap them.

    Results that end in the middle of a page, at no round number, are complete. If they
    end at a full page, the count is wrong unless small queries confirmed the counts.
    """
    unsure = bool(notes.wrong_counts()) or notes.luck() > BELIEVED
    for query, end in notes.ends.items():
        total, reach = notes.total(query), end.reach(notes.size)
        short = total is not None and end.beyond is not None and reach * SLACK < total
        middle = end.sharp and end.shown < notes.size and reach % TEN
        if short and not notes.shared and not end.usual(notes.size):
            return bool(middle) or unsure
    return False


def _last(notes: ProbeNotes, query: Query) -> tuple[int, int] | None:
    """Return the reported and the true number of hits, if the last page was read."""
    total, end = notes.total(query), notes.ends[query]
    if total is None or total > (notes.claimed.cap or total):
        return None
    if end.last != (total - 1) // notes.size or not end.last:
        return None
    return total, end.reach(notes.size)


def _rough(notes: ProbeNotes, totals: dict[Query, int]) -> str:
    """Return why the hit counts seem to be rounded; empty if they do not.

    A number ends in z zeros by chance with probability 10^-z.
    """
    large = {total for total in totals.values() if total >= MANY}
    zeros = [len(str(total)) - len(str(total).rstrip("0")) for total in large]
    digits = [int(log10(total)) + 1 for total in large]
    two_digits = all(d - z <= 2 for d, z in zip(digits, zeros, strict=True))
    if large and two_digits and -sum(digits) + 2 * len(digits) <= CHANCE:
        shown = ", ".join(str(total) for total in sorted(large)[:3])
        return f"none of {len(large)} large counts has more than two digits: {shown}"
    for query, end in notes.ends.items():
        total, pair = notes.total(query), _last(notes, query)
        if pair and pair[0] != pair[1]:
            return f"{query}: {pair[0]} reported, {pair[1]} found"
        if total is None or end.beyond is None:
            continue
        beyond = end.beyond * notes.size
        if beyond < total <= end.reach(notes.size) * SLACK:
            return f"{query}: {total} reported, fewer than {beyond} found"
    return ""
