"""Judge a form by its answers; each judgement gives its reason."""

from collections.abc import Iterator

from halflife.core.forms import Query, ResultPage, Term
from halflife.core.object_store import Scalar
from halflife.core.wording import count
from halflife.queries.counts import Judgement, judge_counts
from halflife.queries.form_facts import CountQuality, FormFacts, FormFinding
from halflife.queries.notes import SLACK, ProbeNotes

FEW = 3  # records that a proof needs
SEVERAL = 10  # records that an indirect proof needs
HONOURED = 0.8  # share of the records that must meet a term for it to be honoured


def judge_form(notes: ProbeNotes, requests: int, date: str = "") -> FormFacts:
    """Return what the form does, with reasons."""
    ignored = tuple(dict.fromkeys(_ignored(notes)))
    conjunctive, joined = _conjunctive(notes, ignored)
    counts, counted = judge_counts(notes, ignored, conjunctive=conjunctive)
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
        FormFinding(what, o.verdict, o.why) for what, o in opinions.items() if o
    ]
    return FormFacts(
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


def _cap(
    notes: ProbeNotes, counts: CountQuality
) -> tuple[int | None, int, Judgement | None]:
    """Return the cap that was found, the furthest result reached, and why."""
    ends = notes.ends.items()
    reached = max((end.reach(notes.size) for _, end in ends), default=0)
    for query, end in ends:
        total, reach = notes.total(query), end.reach(notes.size)
        if end.beyond is None:
            continue
        short = total is not None and reach * SLACK < total
        stops = counts == "capped" and reach == total
        if notes.shared or stops or (short and counts != "lying"):
            why = f"{query} has no page {end.beyond + 1}"
            why += f", although it reports {total} hits" if short else ""
            why += ", nor has another query" if notes.shared else ""
            about = "" if end.sharp else "at least "
            return reach, reached, Judgement(f"{about}{reach}", why)
    if not ends:
        return None, reached, None
    why = f"result {reached} of a query was reached"
    return None, reached, Judgement("none found", why)


def _stable(notes: ProbeNotes) -> tuple[bool | None, Judgement | None]:
    """Return whether the same pages show the same records, each on one page only."""
    for query, again in notes.repeated.items():
        first = notes.pages[query, 0]
        old, new = list(first.records), list(again.records)
        common = [key for key in old if key in again.records]
        moved = common != [key for key in new if key in first.records]
        if moved or len(common) < HONOURED * len(old):
            why = "the same page, requested twice, was different"
            return False, Judgement("unstable", why)
    for (query, page), found in notes.pages.items():
        before = notes.pages.get((query, page - 1))
        twice = found.records.keys() & (before.records.keys() if before else set())
        if twice and len(twice) < len(found.records):
            repeated = count(len(twice), "record")
            why = f"{repeated} of a page also came on the previous page"
            return False, Judgement("unstable", why)
    if not notes.repeated:
        return None, None
    why = "the same page, requested twice, was the same"
    return True, Judgement("stable", why)


def _paging(notes: ProbeNotes) -> tuple[bool | None, int | None, Judgement | None]:
    """Return whether later pages show other records, and the page size."""
    for (query, page), found in notes.pages.items():
        if page != 1:
            continue
        first = notes.pages[query, 0]
        new = found.records.keys() - first.records.keys()
        if found.records and not new:
            why = "its second page shows the same records as its first"
            return False, len(first.records), Judgement("only the first", why)
        if new:
            size = len(first.records)
            why = f"its second page shows {len(new)} other records"
            return True, size, Judgement(f"{size} records each", why)
    claimed = notes.claimed.page_size
    fullest = max((len(f.records) for _, f in notes.first_pages()), default=claimed)
    if fullest > claimed:
        return None, fullest, Judgement(f"{fullest} records", "a page showed so many")
    return None, None, None


def _newest(notes: ProbeNotes, date: str) -> tuple[bool | None, Judgement | None]:
    """Return whether the newest come first: whether some date falls down a page."""
    for query, found in notes.newest.items():
        plain = notes.pages[query, 0]
        if found is None:
            return False, Judgement("no", f"there was no answer: {notes.trouble}")
        name = date or _falling(found, plain)
        values = [record.get(name) for record in found.records.values()] if name else []
        if _descends(values):
            return True, Judgement("yes", f"{name} falls from record to record")
        if date:
            return False, Judgement("no", f"{date} does not fall from record to record")
        if list(found.records) == list(plain.records):
            return False, Judgement(
                "no", "sorting made no difference to the first page"
            )
        why = "the order differs, but no attribute shown falls down the page"
        return None, Judgement("not checked", why)
    return None, None


def _falling(found: ResultPage, plain: ResultPage) -> str:
    """Return the attribute that falls down the page, but not without sorting."""
    names = dict.fromkeys(
        name
        for key, record in found.records.items()
        for name, value in record.items()
        if str(value) != key
    )
    for name in names:
        values = [record.get(name) for record in found.records.values()]
        before = [record.get(name) for record in plain.records.values()]
        if len(set(values)) >= FEW and _descends(values) and not _descends(before):
            return name
    return ""


def _descends(values: list[Scalar]) -> bool:
    """Return whether values never rise; strings compare as ISO dates do.

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


def _lookup(notes: ProbeNotes) -> tuple[bool | None, Judgement | None]:
    """Return whether existing keys are found, and others are not."""
    for key, found in notes.lookups.items():
        if found is None:
            return False, Judgement("no", f"there was no answer: {notes.trouble}")
        if key not in found.records:
            return False, Judgement("no", f"{key} was shown, but is not found")
        if notes.absent:
            return False, Judgement("no", "a key that does not exist is found")
        return True, Judgement("yes", f"{key} is found, and a made-up key is not")
    return None, None


def _conjunctive(
    notes: ProbeNotes, ignored: tuple[str, ...]
) -> tuple[bool | None, Judgement | None]:
    """Return whether results meet all terms as well as they meet single terms."""
    alone: list[bool] = []
    joined: list[bool] = []
    for query, _ in notes.first_pages():
        terms = [t for t in query if t.attribute not in ignored and _shown(notes, t)]
        if terms and len(terms) == len(query):
            (joined if len(query) > 1 else alone).extend(
                notes.meets_terms(query, terms)
            )
    if len(joined) < FEW:
        return None, None
    usual = sum(alone) / len(alone) if len(alone) >= FEW else 1.0
    share = sum(joined) / len(joined)
    why = f"{share:.0%} of {len(joined)} records that they found meet all of them"
    if share < HONOURED * usual:
        return False, Judgement("not all hold", why)
    return True, Judgement("all hold", why)


def _shown(notes: ProbeNotes, term: Term) -> bool:
    """Return whether records show the requested values, not other names for them."""
    single = notes.meets_terms(Query.of(term), [term])
    return not single or sum(single) > (1.0 - HONOURED) * len(single)


def _ignored(notes: ProbeNotes) -> Iterator[str]:
    """Yield attributes that the form ignores: querying them changes nothing."""
    plain = notes.first_page(Query())
    for query, found in notes.first_pages():
        met = notes.meets_terms(query, query.terms)
        if len(query) != 1 or len(met) < FEW or sum(met) >= HONOURED * len(met):
            continue
        alike = [
            other
            for other_query, other in notes.first_pages()
            if other_query != query and list(other.records) == list(found.records)
        ]
        same = plain is not None and None not in (found.total, plain.total)
        if alike or (same and plain and found.total == plain.total):
            yield query.terms[0].attribute
    yield from _unheard(notes)


def _unheard(notes: ProbeNotes) -> Iterator[str]:
    """Yield attributes that are not met where all others of a query always are."""
    met: dict[str, list[bool]] = {}
    honoured: set[str] = set()  # attributes that single terms showed to have an effect
    for query, _ in notes.first_pages():
        for term in query:
            meets = notes.meets_terms(query, [term])
            if len(query) > 1:
                met.setdefault(term.attribute, []).extend(meets)
            elif sum(meets) >= HONOURED * max(len(meets), FEW):
                honoured.add(term.attribute)
    share = {name: sum(meets) / len(meets) for name, meets in met.items() if meets}
    for name in share.keys() - honoured:
        others = [share[other] for other in share if other != name]
        sure = len(met[name]) >= SEVERAL and others and min(others) == 1.0
        if sure and share[name] < 1.0 - HONOURED / 2:
            yield name


def _deaf(ignored: tuple[str, ...]) -> Judgement | None:
    if not ignored:
        return None
    names = ", ".join(ignored)
    return Judgement(
        f"{names} ignored", "querying it finds the same as not querying it"
    )


def _empty(notes: ProbeNotes) -> Judgement | None:
    if notes.everything is None:
        return None
    if notes.everything:
        return Judgement("answered", "it shows records")
    return Judgement("not answered", notes.trouble or "it shows nothing")


def _answers(notes: ProbeNotes) -> Judgement | None:
    if not notes.failures:
        return None
    return Judgement(f"{notes.failures} failed", notes.first_trouble)
