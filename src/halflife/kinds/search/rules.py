"""The rule that databases of a live store go by, worked out for all of them at once.

Databases that name the same rule share an income: of the budget's requests a day as
much as their weights are of the weights of all sources. The rule says what is due. What
is due stands in the market with what a lost summary is worth, the mean life of a new
one, so that it is done before what merely ages elsewhere; what is not due offers
nothing.
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
    """What a rule does for one database.

    Attributes:
        policy: The name of the rule.
        renews: Whether it is summarised anew; else its summary is checked.
        due: Whether that is to be done now.
        every: Days between two; ``inf`` if it is not planned.
        since: When the present interval began, in days.
        requests: Requests of the next one.
        usual: Requests that one takes in the long run, what follows from it included.
        price: What is due is worth so much a request, weighted, at least.
        gain: What the next one is worth a request, weighted; 0 if it is not due.
        why: The reason.
        survival: How long its summaries hold as the rule has it; None if it does not
            say.

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
    """Return the rule that a source names; None if the market's price decides."""
    names = source.policies
    if not names or names == source.usual_policies:
        return None
    return _loaded(names[0])


@lru_cache(32)  # entry points are searched for in all packages that are installed
def _loaded(name: str) -> SearchPolicy:
    group, made = SearchConfig.policy_group, SearchPolicy
    found: SearchPolicy = plugins.load(group, name, made)  # type: ignore[type-abstract]
    return found


def goes_by_counts(source: SearchConfig) -> bool:
    """Say whether checks of a source ask for match counts before documents.

    A rule that samples documents needs these, and so may one of a plug-in.
    """
    rule = rule_of(source)
    return rule is None or bool(getattr(rule, "by_counts", False))


def choices(
    reading: Reading, source: SearchConfig, kept: Mapping[str, StoredSummary]
) -> Mapping[str, SearchChoice]:
    """Return what the rule of a source does, for all databases that name it.

    ``kept`` are the summaries in use of databases of this rule; those without one are
    left out: they are to be summarised whatever the rule is.
    """
    rule = rule_of(source)
    some = [s for s in sharing(reading, source) if s.name in kept]
    if rule is None or not some:
        return {}
    known = databases(reading, some, [kept[s.name] for s in some])
    found = rule.choose(known)
    if found is None:
        return {}
    if wrong := bad_choices(found, len(known)):
        raise UsageError(f"the policy {source.policies[0]!r}: {wrong}")
    return _priced(source.policies[0], some, known, found)


def sharing(reading: Reading, source: SearchConfig) -> list[SearchConfig]:
    """Return the databases that go by the same rule, in the order of the settings."""
    found = SearchConfig.among(reading.config.source)
    return [one for one in found if one.policies == source.policies]


def bad_choices(found: Choices, n: int) -> str:
    """Return what is wrong with what a rule chose; empty if nothing is."""
    columns = (found.renews, found.due, found.every, found.since, found.rank)
    if any(np.shape(c) != (n,) for c in (*columns, found.cost)) or len(found.why) != n:
        return "it must choose once for each database"
    if np.isnan(found.every).any() or np.any(found.every <= 0):
        return "an interval is not above 0"
    if not (np.isfinite(found.rank).all() and np.all(found.rank >= 0)):
        return "a rank is negative or without end"
    fine = np.isfinite(found.cost).all() and np.all(found.cost > 0)
    return "" if fine else "a cost is not above 0"


def _priced(
    name: str, sources: Sequence[SearchConfig], known: Databases, found: Choices
) -> dict[str, SearchChoice]:
    """Return each choice with what it is worth a request.

    Whatever is due is worth ``price`` at least and twice that at most: the higher its
    rank, the more.
    """
    price = _worth(known, found)
    gain = np.where(found.due, price * (1.0 + found.rank / (1.0 + found.rank)), 0.0)
    look = np.where(found.renews, known.cost, np.minimum(known.check, known.cost))
    lives = found.survival
    return {
        source.name: SearchChoice(
            name,
            bool(found.renews[i]),
            bool(found.due[i]),
            float(found.every[i]),
            float(found.since[i]),
            int(look[i]),
            float(found.cost[i]),
            price,
            float(gain[i]),
            found.why[i],
            None
            if lives is None
            else WeibullSurvival(lives.rate[i : i + 1], lives.shape[i : i + 1]),
        )
        for i, source in enumerate(sources)
    }


def _worth(known: Databases, found: Choices) -> float:
    """Return the weighted days that renewals buy at most, over what they take."""
    if found.survival is None:
        days = np.full(len(known), NEVER_SEEN)
    else:
        days = np.minimum(np.nan_to_num(found.survival.life(), posinf=inf), NEVER_SEEN)
    return float((known.weight * days).sum() / known.cost.sum())


def databases(
    reading: Reading, sources: Sequence[SearchConfig], kept: Sequence[StoredSummary]
) -> Databases:
    """Return what a store knows of databases that share a rule."""
    store, config = reading.store, reading.config
    each = list(zip(sources, kept, strict=True))
    whole = sum(source.weight for source in config.source)
    share = sum(source.weight for source in sources) / whole
    lives = [selection.life(store, one) for one in kept]
    counts = _counts(store, kept) if goes_by_counts(sources[0]) else None
    check = np.array([_check(source, one) for source, one in each], np.float64)
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
        looked=np.array([selection.looked(store, one) for one in kept]),
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
    """Return the requests of a check; ``inf`` where topics were probed for."""
    by_words = kept.method == "qbs"
    return float(selection.check_requests(source, kept)) if by_words else inf


def _counts(store: Store, kept: Sequence[StoredSummary]) -> CountChecks:
    """Return the checks by match counts of summaries in use; ages in weeks.

    A database that tells no counts of use, or whose summary takes no more requests
    than a check, has no such check.
    """
    price = [
        float(selection.COUNT_REQUESTS)
        if one.method == "qbs"
        and one.requests > selection.COUNT_REQUESTS
        and summary_counts.counts(store, one.source, one.version) is not None
        else inf
        for one in kept
    ]
    rows = [
        (i, max(check.at - one.at, 0.0) / WEEK, check.kl)
        for i, one in enumerate(kept)
        for check in summary_counts.checks(store, one.source, one.version)
    ]
    table = np.array(rows, np.float64).reshape(-1, 3)
    return CountChecks(
        table[:, 0].astype(np.intp), table[:, 1], table[:, 2], np.array(price)
    )


def _refreshes(store: Store, sources: Sequence[SearchConfig]) -> Refreshes:
    rows = [
        (i, one.gap / WEEK, one.kl)
        for i, source in enumerate(sources)
        for one in summary_drift.refreshes(store, source.name)
    ]
    table = np.array(rows, np.float64).reshape(-1, 3)
    return Refreshes(table[:, 0].astype(np.intp), table[:, 1], table[:, 2])


def _checks(store: Store, kept: Sequence[StoredSummary]) -> SummaryChecks:
    """Return the checks of summaries in use; those of others count, and no more."""
    told = [summary_drift.last_check(store, one.source) for one in kept]
    mine: Bools = np.array(
        [t.version == k.version for t, k in zip(told, kept, strict=True)], np.bool_
    )

    def column(values: Sequence[float], none: float) -> Floats:
        return np.asarray(np.where(mine, np.array(values, np.float64), none))

    return SummaryChecks(
        column([t.at for t in told], -inf),
        column([t.share for t in told], 0.0),
        column([t.kl for t in told], nan),
        np.array([t.asked for t in told], np.intp),
        np.array([t.passed for t in told], np.intp),
    )
