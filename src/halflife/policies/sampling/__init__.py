"""Sample first, then refresh where the sample found change.

A few items of each category are fetched; the rest of the turn's requests goes to the
categories in which most of them had changed. Categories are sites (Cho and Ntoulas,
VLDB 2002) or sets of pages that change together, such as topics and folders (Taleghani
and Ugur-Ozekinci, "Sampling-based refresh policy with correlation").
docs/papers/sampling-with-correlation.md maps the paper's symbols to this code.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from halflife.belief.plain import PlainRates
from halflife.belief.poisson import PoissonBelief
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.budget import Budget
from halflife.core.categories import Categories
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.core.wording import number
from halflife.models.fractions import CategorySample, weighted_sample
from halflife.policies import Strategy
from halflife.policies.choose import best
from halflife.policies.sampling import draws
from halflife.policies.sampling.categories import (
    Categorise,
    FixedCategories,
    by_folder,
    by_site,
    by_topic,
    covering,
)
from halflife.policies.sampling.shares import (
    ShareJudge,
    adjusted,
    best_category,
    quotas,
    ranks,
)
from halflife.policies.sampling.sizes import Optimal, Root, SampleSize, staleness

Spend: TypeAlias = Literal["greedy", "proportional"]
Inside: TypeAlias = Literal["chance", "staleness", "odds"]
ROOT, ESTIMATE = Root(), ShareJudge()


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sample every category, then spend the rest where most items had changed.

    The policy has no memory: the items tried in each category show whether the sample
    is complete, and the budget of the turn is the rest plus the cost of those items.
    Items never seen come first.

    Attributes:
        categories: Returns the categories of a view's items.
        spend: One category after the other, the most changed first (``greedy``), or
            in proportion to the estimated number of changed items.
        size: The sample size of each category.
        judge: The estimator of a category's changed share.
        inside: The order within a category: random (``chance``) or by believed
            staleness (``staleness``); or one order of all items by believed staleness,
            corrected by the samples of their categories (``odds``).
        weighted: Sample by weight and past changes, estimate the changed share of the
            weight, and spend by weight.
        shared: Whether a page sampled for one category counts in all its categories.
        share: The largest share of a turn's budget for the sample.

    """

    categories: Categorise = by_site
    spend: Spend = "greedy"
    size: SampleSize = ROOT
    judge: ShareJudge = ESTIMATE
    inside: Inside = "chance"
    weighted: bool = False
    shared: bool = True
    share: float = 0.5

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        if (view.ready & ~view.looked & ~view.held).any():
            new = np.where(view.held, -np.inf, view.weight)
            reason = "never seen yet"
            if plan := best(view, budget, new, view.weight, lambda _: reason):
                return plan
        categories = covering(self.categories(view))
        draw = self.draw(view, categories, budget)
        need = draws.missing(draw, view, categories)
        if need.sum() >= 1.0:
            picked = draws.pick(draw, categories, need, view, rng, shared=self.shared)
            if plan := _samples(view, budget, picked):
                return plan
        sample = self.sample(view, categories, draw)
        return self._spend(view, categories, sample, budget, rng)

    def draw(self, view: View, categories: Categories, budget: Budget) -> draws.Draw:
        """Return the sample design of this turn; the same at each call of the turn."""
        spent = float(view.cost[view.looked & ~draws.first_seen(view)].sum())
        requests = budget.requests + spent
        wanted = self.size(view, categories, requests)
        wanted = draws.fitting(wanted, view, categories, self.share * requests)
        size = np.ones(categories.item.size)
        if self.weighted:
            size = draws.importance(view, categories)
        return draws.design(categories, wanted, size, shared=self.shared)

    def sample(
        self, view: View, categories: Categories, draw: draws.Draw
    ) -> CategorySample:
        """Return the sample of each category from this turn's fetches."""
        entry = np.flatnonzero(draws.compared(view)[categories.item])
        item = categories.item[entry]
        weight = view.weight[item] if self.weighted else np.ones(item.size)
        chance = draw.chance[item]
        of = categories.category[entry]
        return weighted_sample(of, view.changed[item], weight, chance, len(categories))

    def _spend(
        self,
        view: View,
        categories: Categories,
        sample: CategorySample,
        budget: Budget,
        rng: np.random.Generator,
    ) -> Plan:
        share = self.judge(sample, view, categories)
        worth = share * _mean_weight(view, categories) if self.weighted else share
        rank = ranks(worth, rng)
        of = best_category(categories, rank)
        stale = staleness(view)
        weight = view.weight if self.weighted else np.ones(len(view))
        if self.inside == "odds":
            score = gain = weight * adjusted(stale, share, view, categories)
        else:
            value = weight * stale if self.inside == "staleness" else 0.0 * stale
            score, gain = _places(value, rng) - rank[of], worth[of]
        if self.spend == "proportional":
            left = self._quota(view, categories, worth, score, budget)
            score = np.where(left, score, -np.inf)
        return best(
            view, budget, score, gain, lambda row: _why(categories, sample, of, row)
        )

    def _quota(
        self,
        view: View,
        categories: Categories,
        worth: Floats,
        score: Floats,
        budget: Budget,
    ) -> Bools:
        """Return the items within the quotas of their categories."""
        open_ = view.ready & ~view.looked
        most = draws.count(categories, open_)
        mean_cost = float(view.cost[open_].mean()) if open_.any() else 1.0
        shares = quotas(worth * categories.size, most, budget.requests / mean_cost)
        order, item = -score[categories.item], categories.item
        taken = draws.first(categories, order, open_[item], draws.whole(shares, 0.5))
        chosen = np.zeros(len(view), dtype=np.bool_)
        chosen[item[taken]] = True
        return chosen


def _samples(view: View, budget: Budget, picked: Bools) -> Plan:
    score = np.where(picked, 0.0, -np.inf)
    gain = view.weight * staleness(view)
    return best(view, budget, score, gain, lambda _: "sampled for its category")


def _mean_weight(view: View, categories: Categories) -> Floats:
    total = np.bincount(
        categories.category,
        weights=view.weight[categories.item],
        minlength=len(categories),
    )
    return total / np.maximum(categories.size, 1)


def _places(value: Floats, rng: np.random.Generator) -> Floats:
    """Return ranks scaled to 0..1, the highest value nearest to 1; ties are random."""
    order = np.lexsort((rng.random(value.size), value))
    place = np.empty(value.size)
    place[order] = np.arange(value.size) / max(value.size, 1)
    return place


def _why(categories: Categories, sample: CategorySample, of: Ints, row: int) -> str:
    category = int(of[row])
    name = " ".join(categories.names[category].split())
    count = sample.count[category]
    if count <= 0:
        return f"{name}: not sampled in this turn"
    return (
        f"{name}: {sample.mean[category]:.0%} of {number(count, 3)} sampled had changed"
    )


def topic_sampling(
    categories: Mapping[str, Iterable[str]],
    *,
    spend: Spend = "greedy",
    size: SampleSize = ROOT,
    judge: ShareJudge = ESTIMATE,
    inside: Inside = "chance",
) -> Strategy:
    """Return a sampling strategy with fixed categories, such as topics, by page key.

    A page may be in several categories or in none (Taleghani and Ugur-Ozekinci, s. 3).
    """
    fixed = FixedCategories(categories)
    policy = Sampling(fixed, spend, size, judge, inside)
    plain = inside == "chance" and judge.by != "history"
    return Strategy(
        policy,
        PlainRates if plain else PoissonBelief,
        "Sample topics, refresh those that change.",
        "sampling with correlation, s. 3",
    )


site_sampling = Strategy(
    Sampling(by_site),
    PlainRates,
    "Sample each site, then refresh those that changed most.",
    "Cho and Ntoulas 2002, VLDB",
)
site_sampling_proportional = Strategy(
    Sampling(by_site, "proportional"),
    PlainRates,
    "Sample each site, then refresh each by how much of it changed.",
    "Cho and Ntoulas 2002, VLDB",
)
folder_sampling = Strategy(
    Sampling(by_folder()),
    PlainRates,
    "Sample each folder, then refresh those that changed most.",
    "sampling with correlation, Algorithm 3, by folder",
)
folder_sampling_proportional = Strategy(
    Sampling(by_folder(), "proportional"),
    PlainRates,
    "Sample each folder, then refresh each by how much of it changed.",
    "sampling with correlation, s. 2.1, by folder",
)
sampling_interval = Strategy(
    Sampling(by_folder(), judge=ShareJudge("lower")),
    PlainRates,
    "Sample each folder, then refresh those with the highest lower bound of changes.",
    "sampling with correlation, s. 7.1.3",
)
sampling_importance = Strategy(
    Sampling(by_folder(), inside="staleness", weighted=True),
    about="Sample folders by weight and staleness; refresh the most changed weight.",
    paper="sampling with correlation, s. 4.2",
)
sampling_history = Strategy(
    Sampling(by_folder(), judge=ShareJudge("history"), inside="staleness"),
    about="Sample each folder, use its history too; stalest pages first.",
    paper="sampling with correlation, s. 7.1.1",
)
sampling_odds = Strategy(
    Sampling(by_folder(), judge=ShareJudge("history"), inside="odds"),
    about="Sample each folder, and correct the believed staleness of its pages.",
    paper="sampling with correlation, s. 7.1.1",
)
topics_greedy = Strategy(
    Sampling(by_topic, size=Optimal()),
    PlainRates,
    "Sample each topic of the pages, then refresh those that changed most.",
    "sampling with correlation, Algorithms 1 to 4, Eq. 7",
    needs_topics=True,
)
topics_proportional = Strategy(
    Sampling(by_topic, "proportional", size=Optimal()),
    PlainRates,
    "Sample each topic of the pages, then refresh each by how much of it changed.",
    "sampling with correlation, s. 2.1, Eq. 7",
    needs_topics=True,
)
