"""Answers of verbs about pages, as plain values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from halflife.cli.show import date, figure, span
from halflife.config import BudgetConfig, SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.evidence import Evidence
from halflife.core.forecast import Forecast
from halflife.core.observation import Seen
from halflife.core.view import View
from halflife.engine.audit_report import factor
from halflife.engine.bootstrap import Outlook
from halflife.engine.bound_widening import Trust
from halflife.engine.quality_forecast import stated
from halflife.engine.wallet import Wallet
from halflife.kinds.protocol import Reading
from halflife.kinds.registry import kind_of
from halflife.models.quality import freshness_forecast
from halflife.policies.shortlist import MANY
from halflife.stores import Store

FINE = 200  # steps of the forecast that are searched for a missed target
MOST_NAMED = 5


def freshness_now(view: View, trust: float = 1.0) -> dict[str, float]:
    """Return the estimated freshness of the copy, with its 95 % interval.

    The interval is widened by the trust factor from audits.
    """
    now = _stated(view, np.zeros(1), trust)
    return figure(now.mean[0], now.low[0], now.high[0])


def _stated(view: View, ahead: Floats, trust: float) -> Forecast:
    return stated(freshness_forecast(view, ahead), Trust(trust))


def freshness_of(view: View, rows: Ints, trust: float = 1.0) -> dict[str, float]:
    """Return the estimated freshness of the pages in these rows."""
    return freshness_now(restrict(view, rows), trust)


def restrict(view: View, rows: Ints) -> View:
    """Return a view in which only the pages in these rows have weight."""
    mine = np.zeros(len(view))
    mine[rows] = view.weight[rows]
    return replace(view, weight=mine)


def source_row(seen: Outlook, store: Store, name: str, rows: Ints) -> dict[str, object]:
    """Return the status of a source: its number of pages, and how fresh they are."""
    view, evidence = seen.view, seen.evidence
    gone = (evidence.looks[rows] > 0) & (evidence.seen[rows] == Seen.ABSENT)
    return {
        "source": name,
        "items": int(rows.size),
        "held": int(np.count_nonzero(view.held[rows] & ~gone)),
        "gone": int(np.count_nonzero(gone)),
        # Nothing is known of pages that were never fetched.
        "freshness": freshness_of(view, rows, factor(store, [name], seen.now))
        if view.held[rows].any()
        else None,
        "looks": int(view.looks[rows].sum()),
        "changes": int(view.changes[rows].sum()),
        "failing": int(np.count_nonzero(evidence.failures[rows])),
        "last_look": date(evidence.last_at[rows].max(initial=-np.inf)),
    }


def budget_left(budget: BudgetConfig, store: Store, now: float) -> dict[str, object]:
    """Return the requests spent in the current window, and those left."""
    wallet = Wallet(store, budget)
    room = wallet.room(now)
    return {
        "requests": budget.requests,
        "per": budget.per,
        "spent": wallet.spent(now),
        "left": room,
        "come_in": min(wallet.income(now), room),
    }


def plan_rows(
    seen: Outlook, most: int, found_by: Mapping[str, str] | None = None
) -> list[dict[str, object]]:
    """Return the next fetches, best first.

    ``found_by`` maps pages that were never fetched to pages that link to them.
    """
    steps = seen.plan(most)[:most]
    keys = [step.request.key for step in steps]
    return [
        {"gain": step.gain, "item": key, "why": _found(found_by, key) + step.why}
        for key, step in zip(keys, steps, strict=True)
    ]


def _found(found_by: Mapping[str, str] | None, key: str) -> str:
    """Return a clause on the link by which a new page was found; empty if unknown."""
    page = (found_by or {}).get(key)
    return f"found by a link from {page}, " if page else ""


def find_row(evidence: Evidence, text: str) -> int:
    """Return the row of the item named by ``text``; raise ``UsageError``.

    The text is its key, an equivalent URL, or a part that only one item has.
    """
    row = evidence.row(text)
    row = evidence.row(_canonical(text)) if row is None and "://" in text else row
    if row is not None:
        return row
    found = [i for i, key in enumerate(evidence.keys) if text in key]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no item has {text!r} in its name; see `halflife plan`")
    first = ", ".join(evidence.keys[i] for i in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    raise UsageError(f"{text!r} could be {first}{more}; give more of its name")


def _canonical(text: str) -> str:
    from halflife.net.addresses import canonical

    try:
        return canonical(text)
    except UsageError:
        return text


def own_tables(
    reading: Reading, sources: Sequence[SourceConfig]
) -> tuple[dict[str, list[dict[str, object]]], list[SourceConfig]]:
    """Return the tables of kinds that have one of their own, and the other sources."""
    tables: dict[str, list[dict[str, object]]] = {"searches": []}
    rest = list[SourceConfig]()
    for kind in dict.fromkeys(map(kind_of, sources)):
        mine = [source for source in sources if kind_of(source) is kind]
        table = kind.own_table(reading, mine)
        if table is None:
            rest += mine
        else:
            tables.setdefault(table.name, []).extend(table.rows)
    return tables, rest


def moments(days: float) -> list[float]:
    """Return the times from now at which a forecast is shown.

    >>> moments(2.0)
    [0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0]
    """
    return [0.0, *(days * 0.5**k for k in range(5, 0, -1)), days]


def forecast_rows(
    view: View, ahead: Sequence[float], target: float | None, trust: float = 1.0
) -> tuple[list[dict[str, object]], float]:
    """Return the forecast, and when its lower bound falls below the target.

    Its bounds are widened by the trust factor from audits.
    """
    cast = _stated(view, np.array(ahead), trust)
    rows: list[dict[str, object]] = [
        {
            "in": span(cast.at[i] - view.now) if cast.at[i] > view.now else "now",
            "at": date(cast.at[i]),
            "freshness": figure(cast.mean[i], cast.low[i], cast.high[i]),
        }
        for i in range(cast.at.size)
    ]
    below = None
    if target is not None:
        steps = np.linspace(0.0, max(ahead), FINE + 1)
        if len(view) >= MANY:
            steps = _around(view, steps, target, trust)
        below = _stated(view, steps, trust).first_below(target)
    return rows, math.inf if below is None else below


def _around(view: View, steps: Floats, target: float, trust: float) -> Floats:
    """Return the two steps between which the lower bound falls below the target.

    If nothing is fetched, it only falls, so bisection finds the step.
    """
    first, last = 0, steps.size - 1
    while last - first > 1:
        middle = (first + last) // 2
        cast = _stated(view, steps[[middle]], trust)
        first, last = (first, middle) if cast.low[0] < target else (middle, last)
    return steps[[first, last]]


def verdict(target: float, wait: float) -> str:
    """Return a sentence that says when the target will be missed."""
    if wait <= 0:
        return f"at 95 % confidence it may be below {target:g} already; sync now"
    if math.isinf(wait):
        return f"it stays above {target:g} over the whole forecast"
    return f"sync within {span(wait)} to stay above {target:g} at 95 % confidence"
