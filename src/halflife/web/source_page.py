"""What stands on the page of one source."""

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection
from halflife.core.wording import count, number
from halflife.engine import bootstrap
from halflife.engine.appraisal import Appraiser
from halflife.kinds.registry import kind_named, kind_of
from halflife.stores import Store, summaries
from halflife.stores.run_history import Ran
from halflife.web import charts, groups, words
from halflife.web.charts import Figure
from halflife.web.pages import Answer, Params, asked, told, whole
from halflife.web.rows import Row
from halflife.web.survey import Survey

DAYS = 30  # of a timeline
PAGE = 25  # items at a time
RUNS = 20
STEPS = 10  # queries that would be asked next
MOST = 2000  # pages whose looks are drawn
WORDS = 20  # of a summary


def source(seen: Survey, params: Params) -> Answer:
    """Return all that is known of one source; raise ``UsageError`` if it is none."""
    name = params.get("name", "")
    row = seen.row(name)
    if row is None:
        raise UsageError(f"no source is named {words.plain(name)!r}")
    settings = seen.source(name)
    figures = []
    if name in seen.casts:
        cast = seen.casts[name]
        figures.append(charts.decay("decay", cast, seen.now, row.target, row.sync_by))
    with bootstrap.reading(seen.config) as store:
        answer = _of_kind(seen, store, row, settings, params)
        ran = store.reports.recent_runs(name, RUNS)
    figures += answer.pop("figures", [])
    held = [s.run for s in seen.waiting if s.source == name]
    return {
        "at": words.date(seen.now),
        **told(row, seen.now),
        "addresses": [words.plain(url) for url in settings.addresses[:3]],
        "more_addresses": max(len(settings.addresses) - 3, 0),
        "targets": [str(target) for target in settings.targets],
        "held_run": held[0] if held else None,
        "syncs": kind_of(settings).verb == "sync",
        "card": [],
        "items_shown": [],
        "grouped": "",
        "groups": [],
        "queries": [],
        "tried": [],
        "findings": [],
        **answer,
        "runs": [_run(one) for one in ran],
        "figures": figures,
    }


def _run(one: Ran) -> Answer:
    return {
        "run": one.id,
        "state": one.state,
        "began": words.date(one.began),
        "lasted": None if one.ended is None else one.ended - one.began,
        "requests": one.requests,
    }


def _of_kind(
    seen: Survey, store: Store, row: Row, settings: SourceConfig, params: Params
) -> Answer:
    kind = kind_of(settings)
    if kind.view == "pages":
        return _pages(seen, store, row, params)
    if kind.view == "summary":
        return _search(store, row)
    if kind.view != "objects" or row.name not in store.collections():
        return {}
    known = store.collection(row.name)
    answer = _objects(known, row, seen.now)
    answer["grouped"], answer["groups"] = groups.of_objects(
        known, kind.grouped_by(settings)
    )
    details = kind.details(store, settings)
    if kind.is_open_ended:
        state = Appraiser(seen.config, store, seen.now).state(settings)
        steps = kind.steps(state, STEPS)
        answer["queries"] = [asked(row.name, step) for step in steps]
    answer["tried"] = [
        {**asdict(one), "what": words.plain(one.what), "at": words.date(one.at)}
        for one in details.get("tried", ())
    ]
    return {**answer, "findings": details.get("findings", [])}


def _pages(seen: Survey, store: Store, row: Row, params: Params) -> Answer:
    """Return the pages that are likeliest out of date, and what was seen of them."""
    rows = seen.rows_of(row.name)
    if seen.outlook is None or not rows.size:
        return {}
    view = seen.outlook.view
    stale = np.where(view.held[rows], np.nan, 1.0)
    if len(view) <= 200_000:
        alive = view.survival.alive(np.where(view.held, view.exposure, 0.0))[rows]
        stale = np.where(view.held[rows], 1.0 - alive, 1.0)
    rate = view.rate[rows]
    order = np.argsort(-np.where(np.isnan(stale), rate, stale), kind="stable")
    pages = max(1, -(-rows.size // PAGE))
    page = min(max(whole(params.get("page", ""), 1), 1), pages)
    shown = order[(page - 1) * PAGE : page * PAGE].tolist()
    evidence = seen.outlook.evidence
    items = [
        {
            "item": words.plain(view.keys[int(rows[i])]),
            "changed": float(stale[i]),
            "rate": float(rate[i]),
            "looks": int(view.looks[rows[i]]),
            "changes": int(view.changes[rows[i]]),
            "last_look": words.date(float(evidence.last_at[rows[i]])),
            "failing": bool(evidence.failures[rows[i]] > 0),
            "held": bool(view.held[rows[i]]),
        }
        for i in shown
    ]
    keys = [view.keys[int(row)] for row in rows] if rows.size <= groups.MANY else []
    return {
        "items_shown": items,
        "page": page,
        "pages": pages,
        "grouped": "folder",
        "groups": groups.of_pages(keys, rate, stale),
        "card": _page_card(row, rate, view.looks[rows], view.changes[rows]),
        "figures": _looked(store, evidence.number[rows], seen.now),
    }


def _page_card(row: Row, rate: Floats, looks: Ints, changes: Ints) -> list[str]:
    """Say what is believed of pages, in plain sentences."""
    if not looks.sum():
        return ["Nobody has looked yet; nothing is believed of its pages."]
    low, middle, high = np.quantile(rate, [0.1, 0.5, 0.9]).tolist()
    quiet = int(np.count_nonzero(changes == 0))
    said = [
        (
            f"{count(int(changes.sum()), 'change')} found in "
            f"{count(int(looks.sum()), 'look')} at "
            f"{count(rate.size, 'page')}."
        ),
        (
            f"The middle page changes every {words.span(1.0 / middle)}; one in ten "
            f"more often than every {words.span(1.0 / high)}, one in ten less often "
            f"than every {words.span(1.0 / low)}."
        ),
        (
            "Each page has its own rate of change: what its looks say, drawn towards "
            "what pages of its site usually do while there are few of them."
        ),
    ]
    if quiet:
        said.append(
            f"{quiet} pages were never seen to change; their rates are small, not 0."
        )
    if row.failing:
        said.append(
            f"The last look failed at {count(row.failing, 'page')}; these are "
            "tried less often."
        )
    return said


def _looked(store: Store, numbers: Ints, now: float) -> list[Figure]:
    """Return looks and changes on each of the last days."""
    some = numbers[numbers >= 0][:MOST]
    found = store.reports.observations(some.tolist(), math.floor(now) - DAYS + 1.0)
    if not found:
        return []
    at = np.array([moment for _, moment, _ in found])
    changed = np.array([change for *_, change in found])
    days = _days(float(at.min()), now)
    looks, changes = _daily(at, days), _daily(at[changed], days)
    title = "Looks, and changes that they found"
    if numbers.size > MOST:
        title += f" (of {MOST} pages)"
    counts = {"looks without a change": looks - changes, "changes found": changes}
    return [charts.timeline(title, counts, days)]


def _days(first: float, now: float) -> Floats:
    """Return the last days, from the first on of which anything is known."""
    today = math.floor(now)
    return np.arange(max(today - DAYS + 1, math.floor(first)), today + 1.0)


def _daily(at: Floats, days: Floats) -> Floats:
    """Return how many moments fall on each day."""
    edges = np.append(days, days[-1] + 1.0)
    return np.histogram(at, edges)[0].astype(np.float64)


def _objects(known: Collection, row: Row, now: float) -> Answer:
    """Return what came and went, and what is there."""
    if not known.looks.size:
        return {}
    lives, looks = known.lives, known.looks
    came = lives.first_seen[lives.first_seen > looks[0]]
    gone = lives.gone_by[lives.ended]
    moments = {"arrived": came, "gone": gone, "updated": known.changed_at}
    days = _days(float(looks[0]), now)
    columns = {name: _daily(at, days) for name, at in moments.items()}
    there = np.flatnonzero(lives.present(float(looks[-1])))
    return {
        "card": _set_card(known, row),
        "items_shown": _some(known, there[:PAGE].tolist()),
        "page": 1,
        "pages": 1,
        "figures": [charts.timeline("Objects that came and went", columns, days)],
    }


def _some(known: Collection, rows: Sequence[int]) -> list[Answer]:
    names = list(known.lives.attributes)[:4]
    return [
        {
            "item": words.plain(known.lives.keys[i]),
            "first_seen": words.date(float(known.lives.first_seen[i])),
            "last_look": words.date(float(known.lives.last_seen[i])),
            "about": ", ".join(
                f"{words.plain(n)}: {words.plain(known.lives.attributes[n][i])[:80]}"
                for n in names
            ),
        }
        for i in rows
    ]


def _set_card(known: Collection, row: Row) -> list[str]:
    """Say what is believed of a set source, in plain sentences."""
    lives, looks = known.lives, known.looks
    days = float(looks[-1] - looks[0])
    ended = int(lives.ended.sum())
    spent = float(np.sum(np.minimum(lives.gone_by, looks[-1]) - lives.first_seen))
    said = [
        (
            f"{looks.size} whole looks in {words.span(days)} saw {len(lives)} lives of "
            f"objects; {row.items} are there now."
        ),
    ]
    if days > 0 and not math.isnan(row.rate):
        came = row.rate * days
        spread = 1.96 * math.sqrt(max(came, 1.0)) / days
        said.append(
            f"{count(row.rate, 'object')} a day arrive, give or take "
            f"{number(spread, 2)} (95 %)."
        )
    if ended and spent > 0:
        rate = ended / spent
        said.append(
            f"An object goes at a rate of {number(rate, 2)} a day: half are gone after "
            f"{words.span(math.log(2.0) / rate)}."
        )
    elif days > 0:
        most = 3.0 / max(spent, 1e-9)
        said.append(
            f"No object was seen to go in {words.span(days)}; the rate is at most "
            f"{number(most, 2)} a day at 95 % confidence."
        )
    return [*said, kind_named(row.kind).foreseen_by]


def _search(store: Store, row: Row) -> Answer:
    """Return the summary in use, and the versions before."""
    kept = summaries.current(store, row.name)
    if kept is None:
        return {}
    summary = kept.summary
    order = np.argsort(-summary.count)[:WORDS].tolist()
    high = f"{kept.high:,.0f}" if math.isfinite(kept.high) else "no bound"
    return {
        "card": [
            (
                f"Version {kept.version} of the summary rests on {summary.sampled} "
                f"documents, read with {count(kept.requests, 'request')} "
                f"({words.plain(kept.ending)})."
            ),
            (
                f"The database has about {summary.size:,.0f} documents "
                f"({kept.low:,.0f} to {high}), by "
                f"{words.plain(kept.sized) or 'its sample'}."
            ),
            (
                "How long a summary holds follows from the size and the domain; "
                f"totals: {words.plain(kept.told) or 'nothing is known of them'}."
            ),
        ],
        "items_shown": [
            {
                "item": words.plain(summary.words[i]),
                "about": f"in {float(summary.count[i]):,.0f} of the documents read",
                "last_look": words.date(kept.at),
            }
            for i in order
        ],
        "page": 1,
        "pages": 1,
    }
