"""The rules of databases in a live store, evaluated for all of them at once.

Databases with the same rule share an income: a share of the daily requests according to
their weights among all sources. The rule decides what is due. What is due is offered at
the value of a lost summary, the mean life of a new one, so that it is done before other
sources that merely age; what is not due offers nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, nan

import numpy as np

from halflife import plugins
from halflife.core.arrays import Bools, Floats
from halflife.core.errors import UsageError
from halflife.kinds.protocol import NEVER_SEEN, Reading
from halflife.kinds.search import selection
from halflife.kinds.search.settings import SearchConfig
from halflife.models.drift import WeibullSurvival
from halflife.plugins.containment import blaming
from halflife.policies.texts import CountChecks, Refreshes
from halflife.policies.texts.live import (
    WEEK,
    Choices,
    Databases,
    SearchPolicy,
    SummaryChecks,
)
from halflife.stores import Store, summary_counts, summary_drift
from halflife.stores.summaries import StoredSummary


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """The decision of a rule for one database.

    Attributes:
        policy: The name of the rule.
        renews: Whether the summary is renewed; otherwise it is checked.
        due: Whether that is due now.
        every: Days between two; ``inf`` if it is not planned.
        since: When the present interval began, in days.
        requests: Requests of the next one.
        usual: Requests of one in the long run, with those of its consequences.
        price: The least weighted value of a request for what is due.
        gain: The weighted value of a request for the next one; 0 if it is not due.
        why: The reason.
        survival: How long its summaries hold according to the rule; None if it has no
            such model.

    """

    policy: str
    renews: bool
    due: bool
    every: float
    since: float
    requests: int
    usual: float
    price: float
    gain: float
    why: str
    survival: WeibullSurvival | None = None


def rule_of(source: SearchConfig) -> SearchPolicy | None:
    """Return the rule that a source names; None if the market decides."""
    names = source.policies
    if not names or names == source.usual_policies:
        return None
    return _loaded(names[0])


@lru_cache(32)  # entry points are searched for in all installed packages
def _loaded(name: str) -> SearchPolicy:
    group, made = SearchConfig.policy_group, SearchPolicy
    found: SearchPolicy = plugins.load(group, name, made)  # type: ignore[type-abstract]
    return found


def uses_match_counts(source: SearchConfig) -> bool:
    """Say whether checks of a source request match counts before documents.

    A rule that samples documents needs these, and so may one of a plug-in.
    """
    rule = rule_of(source)
    return rule is None or bool(getattr(rule, "by_counts", False))


def choices(
    reading: Reading, source: SearchConfig, kept: Mapping[str, StoredSummary]
) -> Mapping[str, SearchChoice]:
    """Return the decisions of a source's rule, for all databases that name it.

    ``kept`` are the summaries in use of databases of this rule; those without one are
    left out: they are summarised under any rule.
    """
    rule = rule_of(source)
    members = [s for s in sharing(reading, source) if s.name in kept]
    if rule is None or not members:
        return {}
    data = databases(reading, members, [kept[s.name] for s in members])
    with blaming(source.policies[0]):
        chosen = rule.choose(data)
        wrong = "" if chosen is None else bad_choices(chosen, len(data))
    if wrong:
        raise UsageError(f"the policy {source.policies[0]!r}: {wrong}")
    if chosen is None:
        return {}
    return _priced(source.policies[0], members, data, chosen)


def sharing(reading: Reading, source: SearchConfig) -> list[SearchConfig]:
    """Return the databases with the same rule, in the order of the settings."""
    sources = SearchConfig.among(reading.config.source)
    return [other for other in sources if other.policies == source.policies]


def bad_choices(chosen: Choices, n: int) -> str:
    """Return what is wrong with the decisions of a rule; empty if nothing is."""
    if not isinstance(chosen, Choices):
        return "it does not return Choices"
    columns = (chosen.renews, chosen.due, chosen.every, chosen.since, chosen.rank)
    if (
        any(np.shape(c) != (n,) for c in (*columns, chosen.cost))
        or len(chosen.why) != n
    ):
        return "it must choose once for each database"
    if np.isnan(chosen.every).any() or np.any(chosen.every <= 0):
        return "an interval is not above 0"
    if not (np.isfinite(chosen.rank).all() and np.all(chosen.rank >= 0)):
        return "a rank is negative or infinite"
    fine = np.isfinite(chosen.cost).all() and np.all(chosen.cost > 0)
    return "" if fine else "a cost is not above 0"


def _priced(
    name: str, sources: Sequence[SearchConfig], data: Databases, chosen: Choices
) -> dict[str, SearchChoice]:
    """Return each decision with its value by request.

    What is due is worth at least ``price`` and at most twice that: the higher its rank,
    the more.
    """
    price = _price(data, chosen)
    gain = np.where(chosen.due, price * (1.0 + chosen.rank / (1.0 + chosen.rank)), 0.0)
    step = np.where(chosen.renews, data.cost, np.minimum(data.check, data.cost))
    lives = chosen.survival
    return {
        source.name: SearchChoice(
            name,
            bool(chosen.renews[i]),
            bool(chosen.due[i]),
            float(chosen.every[i]),
            float(chosen.since[i]),
            int(step[i]),
            float(chosen.cost[i]),
            price,
            float(gain[i]),
            chosen.why[i],
            None
            if lives is None
            else WeibullSurvival(lives.rate[i : i + 1], lives.shape[i : i + 1]),
        )
        for i, source in enumerate(sources)
    }


def _price(data: Databases, chosen: Choices) -> float:
    """Return the weighted days that renewals gain at most, over their cost."""
    if chosen.survival is None:
        days = np.full(len(data), NEVER_SEEN)
    else:
        days = np.minimum(np.nan_to_num(chosen.survival.life(), posinf=inf), NEVER_SEEN)
    return float((data.weight * days).sum() / data.cost.sum())


def databases(
    reading: Reading, sources: Sequence[SearchConfig], kept: Sequence[StoredSummary]
) -> Databases:
    """Return what the store has on databases that share a rule."""
    store, config = reading.store, reading.config
    pairs = list(zip(sources, kept, strict=True))
    whole = sum(source.weight for source in config.source)
    share = sum(source.weight for source in sources) / whole
    lives = [selection.life(store, one) for one in kept]
    counts = _counts(store, kept) if uses_match_counts(sources[0]) else None
    check = np.array([_check(source, one) for source, one in pairs], np.float64)
    if counts is not None:
        check = np.minimum(check, counts.price)
    method = ["FPS" if one.method == "fps" else "QBS" for one in kept]
    return Databases(
        now=reading.now,
        domain=tuple(selection.domain(source) for source in sources),
        method=tuple(method),
        size=np.array([max(one.summary.size, 1.0) for one in kept]),
        tau=np.array([source.tau for source in sources]),
        made=np.array([one.at for one in kept]),
        looked=np.array([selection.last_checked(store, one) for one in kept]),
        doubted=np.array([one.is_doubted for one in lives], np.bool_),
        cost=np.array([max(one.requests, 1) for one in kept], np.float64),
        check=check,
        weight=np.array([source.weight for source in sources]),
        income=share * config.budget.pace,
        refreshes=_refreshes(store, sources),
        checks=_checks(store, kept),
        counts=counts,
        fitted=reading.memo.rules,
    )


def _check(source: SearchConfig, kept: StoredSummary) -> float:
    """Return the requests of a check; ``inf`` where topics were probed."""
    by_words = kept.method == "qbs"
    return float(selection.check_requests(source, kept)) if by_words else inf


def _counts(store: Store, kept: Sequence[StoredSummary]) -> CountChecks:
    """Return the checks by match counts of summaries in use; ages in weeks.

    A database without usable counts, or whose summary costs no more requests than a
    check, has no such check.
    """
    price = [
        float(selection.COUNT_REQUESTS)
        if summary.method == "qbs"
        and summary.requests > selection.COUNT_REQUESTS
        and summary_counts.counts(store, summary.source, summary.version) is not None
        else inf
        for summary in kept
    ]
    rows = [
        (i, max(check.at - summary.at, 0.0) / WEEK, check.kl)
        for i, summary in enumerate(kept)
        for check in summary_counts.checks(store, summary.source, summary.version)
    ]
    table = np.array(rows, np.float64).reshape(-1, 3)
    return CountChecks(
        table[:, 0].astype(np.intp), table[:, 1], table[:, 2], np.array(price)
    )


def _refreshes(store: Store, sources: Sequence[SearchConfig]) -> Refreshes:
    rows = [
        (i, refresh.gap / WEEK, refresh.kl)
        for i, source in enumerate(sources)
        for refresh in summary_drift.refreshes(store, source.name)
    ]
    table = np.array(rows, np.float64).reshape(-1, 3)
    return Refreshes(table[:, 0].astype(np.intp), table[:, 1], table[:, 2])


def _checks(store: Store, kept: Sequence[StoredSummary]) -> SummaryChecks:
    """Return the checks of summaries in use; of earlier ones only their number."""
    last = [summary_drift.last_check(store, summary.source) for summary in kept]
    current: Bools = np.array(
        [t.version == k.version for t, k in zip(last, kept, strict=True)], np.bool_
    )

    def column(values: Sequence[float], none: float) -> Floats:
        return np.asarray(np.where(current, np.array(values, np.float64), none))

    return SummaryChecks(
        column([t.at for t in last], -inf),
        column([t.share for t in last], 0.0),
        column([t.kl for t in last], nan),
        np.array([t.asked for t in last], np.intp),
        np.array([t.passed for t in last], np.intp),
    )
