"""Judgements on a form from what it answered; each says why."""

from collections.abc import Iterator

from halflife.core.forms import Query, ResultPage, Term
from halflife.core.object_store import Scalar
from halflife.core.wording import count
from halflife.queries.counts import Opinion, judged_counts
from halflife.queries.form_facts import FormFinding, Measured, Worth
from halflife.queries.notes import SLACK, Notes

FEW = 3  # records that must be seen before they prove anything
SEVERAL = 10  # records that must be seen if the proof is indirect
HONOURED = 0.8  # part of the records that meet what was asked for


def judged(notes: Notes, requests: int, date: str = "") -> Measured:
    """Return what the answers show, with reasons."""
    ignored = tuple(dict.fromkeys(_ignored(notes)))
    conjunctive, joined = _conjunctive(notes, ignored)
    counts, counted = judged_counts(notes, ignored, conjunctive=conjunctive)
    stable, steady = _stable(notes)
    paged, size, page = _paging(notes)
    cap, reached, ended = _cap(notes, counts)
    newest, order = _newest(notes, date)
    lookup, keyed = _lookup(notes)
    opinions = {
        "number of hits": counted,
        "order of results": steady,
        "pages": page,
        "end of results": ended,
        "newest first": order,
        "look-up by key": keyed,
        "several terms": joined,
        "empty query": _empty(notes),
        "attributes": _deaf(ignored),
        "answers": _answers(notes),
    }
    findings = [
        FormFinding(what, one.verdict, one.why) for what, one in opinions.items() if one
    ]
    return Measured(
        requests=requests,
        counts=counts,
        page_size=size,
        cap=cap,
        reached=reached,
        stable=stable,
        paged=paged,
        newest=newest,
        lookup=lookup,
        everything=notes.everything,
        conjunctive=conjunctive,
        ignored=ignored,
        failures=notes.failures,
        findings=tuple(findings),
    )


def _cap(notes: Notes, counts: Worth) -> tuple[int | None, int, Opinion | None]:
    """Return the cap that was found, the furthest result reached, and why."""
    ends = notes.ends.items()
    reached = max((end.reach(notes.size) for _, end in ends), default=0)
    for query, end in ends:
        told, reach = notes.total(query), end.reach(notes.size)
        if end.beyond is None:
            continue
        short = told is not None and reach * SLACK < told
        stops = counts == "capped" and reach == told
        if notes.shared or stops or (short and counts != "lying"):
            said = f"{query} has no page {end.beyond + 1}"
            said += f" of the {told} that it was told to have" if short else ""
            said += ", nor has another query" if notes.shared else ""
            about = "" if end.sharp else "at least "
            return reach, reached, Opinion(f"{about}{reach}", said)
    if not ends:
        return None, reached, None
    why = f"result {reached} of a query was reached"
    return None, reached, Opinion("none found", why)


def _stable(notes: Notes) -> tuple[bool | None, Opinion | None]:
    """Return whether the same pages show the same records, each on one page only."""
    for query, again in notes.again.items():
        first = notes.pages[query, 0]
        old, new = list(first.records), list(again.records)
        common = [key for key in old if key in again.records]
        moved = common != [key for key in new if key in first.records]
        if moved or len(common) < HONOURED * len(old):
            why = "the same page, asked for twice, was not the same"
            return False, Opinion("unstable", why)
    for (query, page), found in notes.pages.items():
        before = notes.pages.get((query, page - 1))
        twice = found.records.keys() & (before.records.keys() if before else set())
        if twice and len(twice) < len(found.records):
            why = (
                f"{count(len(twice), 'record')} of a page came on the page before, too"
            )
            return False, Opinion("unstable", why)
    if not notes.again:
        return None, None
    why = "the same page, asked for twice, was the same"
    return True, Opinion("stable", why)


def _paging(notes: Notes) -> tuple[bool | None, int | None, Opinion | None]:
    """Return whether pages follow each other, and how many records they have."""
    for (query, page), found in notes.pages.items():
        if page != 1:
            continue
        first = notes.pages[query, 0]
        new = found.records.keys() - first.records.keys()
        if found.records and not new:
            why = "its second page shows the same records as its first"
            return False, len(first.records), Opinion("only the first", why)
        if new:
            size = len(first.records)
            why = f"its second page shows {len(new)} other records"
            return True, size, Opinion(f"{size} records each", why)
    claimed = notes.claimed.page_size
    fullest = max((len(f.records) for _, f in notes.firsts()), default=claimed)
    if fullest > claimed:
        return None, fullest, Opinion(f"{fullest} records", "a page showed as many")
    return None, None, None


def _newest(notes: Notes, date: str) -> tuple[bool | None, Opinion | None]:
    """Return whether the newest come first: whether some date falls down the page."""
    for query, found in notes.newest.items():
        usual = notes.pages[query, 0]
        if found is None:
            return False, Opinion("no", f"there was no answer: {notes.trouble}")
        name = date or _falling(found, usual)
        values = [record.get(name) for record in found.records.values()] if name else []
        if _descends(values):
            return True, Opinion("yes", f"{name} falls from record to record")
        if date:
            return False, Opinion("no", f"{date} does not fall from record to record")
        if list(found.records) == list(usual.records):
            return False, Opinion("no", "sorting makes no difference, as far as shown")
        why = "the order differs, but nothing that is shown falls with it"
        return None, Opinion("not checked", why)
    return None, None


def _falling(found: ResultPage, usual: ResultPage) -> str:
    """Return the attribute that falls down the page, and differs from the usual."""
    names = dict.fromkeys(
        name
        for key, record in found.records.items()
        for name, value in record.items()
        if str(value) != key
    )
    for name in names:
        values = [record.get(name) for record in found.records.values()]
        before = [record.get(name) for record in usual.records.values()]
        if len(set(values)) >= FEW and _descends(values) and not _descends(before):
            return name
    return ""


def _descends(values: list[Scalar]) -> bool:
    """Say whether values never rise; texts compare as texts, as ISO dates do.

    >>> _descends([3, 2, 2]), _descends(["2026-01-02", "2026-01-03"]), _descends([])
    (True, False, False)
    """
    if not values or len({isinstance(value, str) for value in values}) > 1:
        return False
    if isinstance(values[0], str):
        texts = [str(value) for value in values]
        return texts == sorted(texts, reverse=True)
    numbers = [float(v) for v in values if v is not None and not isinstance(v, str)]
    return len(numbers) == len(values) and numbers == sorted(numbers, reverse=True)


def _lookup(notes: Notes) -> tuple[bool | None, Opinion | None]:
    """Return whether a record is found by its key, and nothing by no key."""
    for key, found in notes.looked.items():
        if found is None:
            return False, Opinion("no", f"there was no answer: {notes.trouble}")
        if key not in found.records:
            return False, Opinion("no", f"{key} was shown, and is not found")
        if notes.absent:
            return False, Opinion("no", "a key that nobody has is found")
        return True, Opinion("yes", f"{key} is found, and what nobody has is not")
    return None, None


def _conjunctive(
    notes: Notes, ignored: tuple[str, ...]
) -> tuple[bool | None, Opinion | None]:
    """Return whether what is found meets all terms, as well as single terms are met."""
    alone: list[bool] = []
    joined: list[bool] = []
    for query, _ in notes.firsts():
        terms = [t for t in query if t.attribute not in ignored and _shown(notes, t)]
        if terms and len(terms) == len(query):
            (joined if len(query) > 1 else alone).extend(notes.met(query, terms))
    if len(joined) < FEW:
        return None, None
    usual = sum(alone) / len(alone) if len(alone) >= FEW else 1.0
    part = sum(joined) / len(joined)
    why = f"{part:.0%} of {len(joined)} records that they found meet all of them"
    if part < HONOURED * usual:
        return False, Opinion("not all hold", why)
    return True, Opinion("all hold", why)


def _shown(notes: Notes, term: Term) -> bool:
    """Say whether records show the values that are asked for, not other names."""
    single = notes.met(Query.of(term), [term])
    return not single or sum(single) > (1.0 - HONOURED) * len(single)


def _ignored(notes: Notes) -> Iterator[str]:
    """Return attributes that make no difference: what they find is like everything."""
    plain = notes.first(Query())
    for query, found in notes.firsts():
        met = notes.met(query, query.terms)
        if len(query) != 1 or len(met) < FEW or sum(met) >= HONOURED * len(met):
            continue
        alike = [
            other
            for asked, other in notes.firsts()
            if asked != query and list(other.records) == list(found.records)
        ]
        same = plain is not None and None not in (found.total, plain.total)
        if alike or (same and plain and found.total == plain.total):
            yield query.terms[0].attribute
    yield from _unheard(notes)


def _unheard(notes: Notes) -> Iterator[str]:
    """Return attributes that are not met where all others of a query always are."""
    met: dict[str, list[bool]] = {}
    alone: set[str] = set()  # those that single terms showed to be heard
    for query, _ in notes.firsts():
        for term in query:
            told = notes.met(query, [term])
            if len(query) > 1:
                met.setdefault(term.attribute, []).extend(told)
            elif sum(told) >= HONOURED * max(len(told), FEW):
                alone.add(term.attribute)
    part = {name: sum(told) / len(told) for name, told in met.items() if told}
    for name in part.keys() - alone:
        others = [part[other] for other in part if other != name]
        sure = len(met[name]) >= SEVERAL and others and min(others) == 1.0
        if sure and part[name] < 1.0 - HONOURED / 2:
            yield name


def _deaf(ignored: tuple[str, ...]) -> Opinion | None:
    if not ignored:
        return None
    names = ", ".join(ignored)
    return Opinion(f"{names} ignored", "asking for it finds the same as not asking")


def _empty(notes: Notes) -> Opinion | None:
    if notes.everything is None:
        return None
    if notes.everything:
        return Opinion("answered", "it shows records")
    return Opinion("not answered", notes.trouble or "it shows nothing")


def _answers(notes: Notes) -> Opinion | None:
    if not notes.failures:
        return None
    return Opinion(f"{notes.failures} failed", notes.began)
