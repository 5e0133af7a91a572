"""All pages at one moment, by source."""

from collections.abc import Sequence
from functools import cached_property
from math import nan

import numpy as np

from halflife.allocation import Objective
from halflife.core.arrays import Floats, Ints
from halflife.core.forecast import Forecast
from halflife.core.value_curve import Worth
from halflife.engine import bootstrap
from halflife.engine.bootstrap import JointOutlook
from halflife.kinds.page_view import FailingItem, Planned, SourceStanding
from halflife.kinds.pages import many
from halflife.kinds.pages.many import OwnedPages
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.source_rows import rows_of
from halflife.kinds.protocol import Description, Known, Reading
from halflife.policies.best_schedule import BestSchedule

NOT_VALUED = "run `halflife whatif` for the value of requests under its policy"
CURVES = ("freshness", "harmonic")  # losses with a fast computation for many sources
FEW_FAILING = 20  # failing pages of each source whose reasons are read
FEW_SOURCES, FEW_PAGES = 64, 50_000  # up to these each source is appraised by itself


class PagesPanorama:
    """All sources of pages at one moment.

    Args:
        reading: The stored state.
        sources: The sources.
        ahead: The days from now for which freshness is forecast.

    """

    def __init__(
        self, reading: Reading, sources: Sequence[PagesConfig], ahead: Floats
    ) -> None:
        self.sources, self._config = sources, reading.config
        self.outlook = bootstrap.outlook(
            reading.config, reading.store, sources, reading.now
        )
        self.owned = self._owned(reading)
        self.standings, together = self._standings(ahead)
        self.together = together if len(self.owned.view) else None

    def _owned(self, reading: Reading) -> OwnedPages:
        """Return the source of each page; the first for a page of unknown source."""
        names = [source.name for source in self.sources]
        evidence = self.outlook.evidence
        code = np.zeros(len(evidence), dtype=np.intp)
        if len(names) > 1:
            named = lambda: bootstrap.items(self.sources)  # noqa: E731
            found = rows_of(reading.store, names, evidence, named)
            for i, name in enumerate(names):
                code[found[name]] = i
        return OwnedPages(self.outlook.view, code, len(names))

    def _standings(self, ahead: Floats) -> tuple[dict[str, SourceStanding], Forecast]:
        """Return the standing of each source, and the forecast of all pages."""
        owned, view, evidence = self.owned, self.owned.view, self.outlook.evidence
        casts, together = many.forecasts(owned, ahead)
        self._take_parts(casts, ahead)
        items = np.bincount(owned.code, minlength=owned.n)
        held = owned.total(view.held.astype(np.float64))
        rate = owned.total(np.where(view.held, view.rate, 0.0))
        failing = owned.total((evidence.failures > 0).astype(np.float64))
        last = np.full(owned.n, -np.inf)
        np.maximum.at(last, owned.code, evidence.last_at)
        failed = self._failed()
        standings = {}
        for i, source in enumerate(self.sources):
            usual = float(rate[i]) if held[i] else nan
            about = Description("freshness", int(items[i]), float(last[i]), usual)
            at = view.now + ahead if held[i] else np.zeros(0)
            mean, low, high = (bound[i, : at.size] for bound in casts)
            cast = Forecast("freshness", at, mean, low, high)
            failing_items = failed.get(i, ())
            standings[source.name] = SourceStanding(
                about, cast, int(failing[i]), failing_items
            )
        return standings, together

    def _take_parts(self, casts: many.FreshnessBounds, ahead: Floats) -> None:
        """Let each source be forecast by the belief of its own policy.

        The joint view has one unrest for a host, the mean of several policies. What is
        stated of a source alone does not depend on other policies.
        """
        if not isinstance(self.outlook, JointOutlook):
            return
        for part, rows in zip(self.outlook.parts, self.outlook.rows, strict=True):
            code = self.owned.code[rows]
            own, _ = many.forecasts(OwnedPages(part.view, code, self.owned.n), ahead)
            mine = np.unique(code)
            for bound, value in zip(casts, own, strict=True):
                bound[mine] = value[mine]

    def _failed(self) -> dict[int, list[FailingItem]]:
        """Return some failing pages by the number of their source."""
        evidence, failed = self.outlook.evidence, dict[int, list[FailingItem]]()
        for row in np.flatnonzero(evidence.failures > 0).tolist():
            of_source = failed.setdefault(int(self.owned.code[row]), [])
            if len(of_source) < FEW_FAILING:
                item = int(evidence.number[row]), float(evidence.last_at[row])
                of_source.append(FailingItem(*item))
        return failed

    @cached_property
    def names(self) -> dict[str, int]:
        """The number of each source by its name."""
        return {source.name: i for i, source in enumerate(self.sources)}

    @cached_property
    def _by_source(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.owned.code, kind="stable")
        sizes = np.bincount(self.owned.code, minlength=self.owned.n)
        return order, np.concatenate([[0], np.cumsum(sizes)])

    def rows_of(self, name: str) -> Ints:
        """Return the rows of a source's pages in the view."""
        order, edge = self._by_source
        at = self.names[name]
        return order[edge[at] : edge[at + 1]]

    @property
    def is_vast(self) -> bool:
        """Whether appraising each source by itself takes too long."""
        return len(self.sources) > FEW_SOURCES or len(self.owned.view) > FEW_PAGES

    def worths(self) -> list[Known]:
        """Return approximate value curves of all sources, without bounds.

        Only for policies that approach the best schedule; valuing any other takes
        long and is left to ``halflife whatif``.
        """
        sources = self.sources
        weight = np.array([source.weight for source in sources])
        cost = self.owned.total(self.owned.view.cost)
        names, curves = [s.name for s in sources], dict[str, list[Worth | None]]()
        known = []
        for i, source in enumerate(sources):
            whole, worth, why = max(float(cost[i]), 1.0), None, NOT_VALUED
            objective = self._objective(source)
            if objective in CURVES:
                if objective not in curves:
                    curves[objective] = many.worths(
                        self.owned, names, weight, objective
                    )
                worth = curves[objective][i]
                why = "" if worth else "no page was fetched yet"
            known.append(Known(source, whole, worth, why))
        return known

    def _objective(self, source: PagesConfig) -> Objective | None:
        """Return the objective of the policy's schedule; None if unknown."""
        schedule = bootstrap.strategy(self._config, [source]).schedule
        return schedule.objective if isinstance(schedule, BestSchedule) else None

    def plan(self, most: int) -> list[Planned]:
        """Return the pages that would be fetched next, best first."""
        plan = self.outlook.plan(most)[:most]
        code, names = self.owned.code, list(self.names)
        rows, gains = plan.rows.tolist(), plan.gain.tolist()
        fails = self.outlook.evidence.failures > 0
        return [
            Planned(
                names[int(code[row])], key, gain, plan.reason(row), bool(fails[row])
            )
            for key, row, gain in zip(plan.keys, rows, gains, strict=True)
        ]
