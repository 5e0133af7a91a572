"""Rates of pages that were never fetched, from their folder and site."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halflife.belief import Belief
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.keys import Keys
from halflife.core.view import View
from halflife.grouping.places import folder, site
from halflife.models.poisson import GammaSurvival

WORTH = 4.0  # pages that the site counts for in the mean of a folder


class Newcomers:
    """A belief in which unseen pages have the rates of their folder and site.

    With r(i) the believed rates of the n pages seen in a group and m the mean of the
    group around it, an unseen page has the mean rate

        (sum(r(i)) + WORTH m) / (n + WORTH),

    where the group is its folder, the group around that its site, and around that all
    pages. Its uncertainty stays as it was. Pages seen keep their rates, and so do all
    if the belief is not a Gamma distribution of rates.

    Args:
        belief: The belief that everything else comes from.

    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self._keys = Keys()
        self._groups = _Places(), _Places()

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        view = self.belief(evidence, now, since)
        if not isinstance(view.survival, GammaSurvival) or view.held.all():
            return view
        self._place(view.keys)
        new, rate = ~view.held, view.rate.copy()
        rate[new] = self._pooled(view)[new]
        shape, exposure = view.survival.shape, view.survival.exposure.copy()
        exposure[new] = shape[new] / np.maximum(rate[new], 1e-12)
        survival = replace(view.survival, shape=shape, exposure=exposure)
        return replace(view, rate=rate, survival=survival)

    def _place(self, keys: Sequence[str]) -> None:
        """Learn where pages lie; keys are only ever added."""
        if not self._keys.is_prefix_of(keys):
            self._keys, self._groups = Keys(), (_Places(), _Places())
        for key in keys[len(self._keys) :]:
            self._groups[0].add(site(key))
            self._groups[1].add(folder(key))
        self._keys = keys if isinstance(keys, Keys) else Keys(keys)

    def _pooled(self, view: View) -> Floats:
        """Return the mean rate of each page's surroundings, from the widest inwards."""
        held = view.held
        around: Floats = np.full(len(view), _mean(view.rate[held], view.rate))
        for places in self._groups:
            code = places.code
            n = np.bincount(code[held], minlength=len(places))
            total = np.bincount(code[held], view.rate[held], minlength=len(places))
            around = (total[code] + WORTH * around) / (n[code] + WORTH)
        return around


class _Places:
    """Names of places as numbers, one an item."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._code: list[int] = []

    def __len__(self) -> int:
        return len(self._number)

    def add(self, name: str) -> None:
        self._code.append(self._number.setdefault(name, len(self._number)))

    @property
    def code(self) -> Ints:
        return np.array(self._code, dtype=np.intp)


def _mean(preferred: Floats, otherwise: Floats) -> float:
    return float((preferred if preferred.size else otherwise).mean())
