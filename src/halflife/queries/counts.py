"""What the numbers of hits that a form tells are worth; each judgement says why."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log10

from halflife.core.forms import Query
from halflife.queries.form_facts import Worth
from halflife.queries.notes import SLACK, Notes

CHANCE = -3.0  # log10 of the chance at which honest numbers end in so many zeros
MANY = 100  # hits from which on two queries hardly have as many by chance
TEN = 10  # round numbers are multiples of it
BELIEVED = 0.02  # chance of agreeing by luck at which counts are believed


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict and why."""

    verdict: str
    why: str


def judged_counts(
    notes: Notes, ignored: tuple[str, ...], *, conjunctive: bool | None
) -> tuple[Worth, Opinion]:
    """Return what the reported numbers of hits are worth."""
    answered = [found for _, found in notes.firsts() if found.records]
    totals = {
        query: total
        for query, total in notes.totals().items()
        if not any(term.attribute in ignored for term in query)
    }
    if not answered:
        return "unknown", Opinion("unknown", "no query found anything")
    if not totals:
        return "none", Opinion("not told", f"{len(answered)} answers did not say")
    top = _capped(notes, totals)
    against = next(_contradictions(notes, top, conjunctive=conjunctive), "")
    if against:
        return "lying", Opinion("not to be believed", against)
    if top:
        same = sum(total == top for total in totals.values())
        said = f"{same} queries were told to have just {top}, and none more"
        return "capped", Opinion(f"told up to {top}", said)
    rough = _rough(notes, totals)
    return ("rounded", Opinion("rounded", rough)) if rough else _exact(notes)


def _exact(notes: Notes) -> tuple[Worth, Opinion]:
    """Return that numbers are exact, if anything shows it."""
    read = [query for query, told, true in notes.whole() if told == true]
    last = any(_last(notes, query) is not None for query in notes.ends)
    if not read and not last:
        why = "no query was small enough to be counted"
        return "unknown", Opinion("not checked", why)
    proof = f"{len(read)} queries that were read whole had as many records as told"
    proof += ", and a last page was where it should be" if last else ""
    return "exact", Opinion("right", proof)


def _capped(notes: Notes, totals: dict[Query, int]) -> int:
    """Return the number at which counting stops; 0 if it does not seem to.

    Two queries that are told to have the same highest number, large or refuted by a
    record that one has shown and that does not answer the other, were cut off there.
    """
    top = max(totals.values())
    at = [query for query, total in totals.items() if total == top]
    if top == notes.claimed.cap and top >= MANY:
        return top
    for i, one in enumerate(at):
        for two in at[i + 1 :]:
            nested = set(one) <= set(two) or set(two) <= set(one)
            wide, narrow = sorted((one, two), key=len)
            apart = not all(notes.met(wide, narrow.terms))
            if apart and top > notes.size and (nested or top >= MANY):
                return top
    return 0


def _contradictions(
    notes: Notes, top: int, *, conjunctive: bool | None
) -> Iterator[str]:
    """Return what the numbers of hits contradict."""
    wrong = notes.lied() or (notes.off() and notes.luck() > BELIEVED) or _odd(notes)
    for query, told, true in notes.off() if wrong else ():
        yield f"{query}: {told} were told, {true} there"
    totals = notes.totals()
    for query, total in totals.items():
        seen = len(notes.keys(query))
        if seen > total * SLACK and total != top:
            yield f"{query}: {total} were told, {seen} shown"
        if conjunctive is False:
            continue
        for wide, bound in totals.items():
            if set(wide) < set(query) and total > bound * SLACK + 1:
                yield f"{query}: {total} were told, but {bound} for {wide}"
    yield from _sums(notes, totals, top)
    yield from _promises(notes)


def _sums(notes: Notes, totals: dict[Query, int], top: int) -> Iterator[str]:
    """Return choices that together have more hits than there are at all.

    Only where the records shown have just the value that was asked for: else one
    record may have several.
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
        single = all(all(notes.met(query, query.terms)) for query in mine)
        if attribute.kind == "select" and single:
            together = sum(mine.values())
            if together > whole * SLACK + len(mine):
                yield (
                    f"{len(mine)} values of {attribute.name} have {together} hits, "
                    f"but everything has {whole}"
                )


def _promises(notes: Notes) -> Iterator[str]:
    """Return queries whose results end elsewhere than they were told to."""
    for query, end in notes.ends.items():
        told = notes.total(query)
        reach = end.reach(notes.size)
        if told is None:
            continue
        short = reach * SLACK < told and end.beyond is not None
        if short and (notes.shared is False or _odd(notes)):
            yield f"{query}: {told} were told, its results end after {reach}"
        elif reach > told * SLACK:
            yield f"{query}: {told} were told, {reach} can be reached"


def _odd(notes: Notes) -> bool:
    """Say whether results end before they should, where no site would end them.

    In the middle of a page, at no round number, they simply end. At a full page it
    is the count that is wrong, and no cap, if small queries did not show that counts
    can be believed.
    """
    unsure = bool(notes.off()) or notes.luck() > BELIEVED
    for query, end in notes.ends.items():
        told, reach = notes.total(query), end.reach(notes.size)
        short = told is not None and end.beyond is not None and reach * SLACK < told
        middle = end.sharp and end.shown < notes.size and reach % TEN
        if short and not notes.shared and not end.usual(notes.size):
            return bool(middle) or unsure
    return False


def _last(notes: Notes, query: Query) -> tuple[int, int] | None:
    """Return the hits told and those there are, if the last page was seen."""
    told, end = notes.total(query), notes.ends[query]
    if told is None or told > (notes.claimed.cap or told):
        return None
    if end.last != (told - 1) // notes.size or not end.last:
        return None
    return told, end.reach(notes.size)


def _rough(notes: Notes, totals: dict[Query, int]) -> str:
    """Return why the numbers seem to be rounded; empty if they do not.

    Numbers that end in z zeros do so by chance once in 10^z.
    """
    large = {total for total in totals.values() if total >= MANY}
    zeros = [len(str(total)) - len(str(total).rstrip("0")) for total in large]
    digits = [int(log10(total)) + 1 for total in large]
    two = all(d - z <= 2 for d, z in zip(digits, zeros, strict=True))
    if large and two and -sum(digits) + 2 * len(digits) <= CHANCE:
        shown = ", ".join(str(total) for total in sorted(large)[:3])
        return f"none of {len(large)} large numbers has more than two digits: {shown}"
    for query, end in notes.ends.items():
        told, pair = notes.total(query), _last(notes, query)
        if pair and pair[0] != pair[1]:
            return f"{query}: {pair[0]} were told, {pair[1]} there"
        if told is None or end.beyond is None:
            continue
        beyond = end.beyond * notes.size
        if beyond < told <= end.reach(notes.size) * SLACK:
            return f"{query}: {told} were told, {beyond} not there"
    return ""
