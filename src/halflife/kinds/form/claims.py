"""The claims about a form: measured before its first crawl, corrected afterwards."""

import asyncio
from dataclasses import replace
from math import inf

from numpy.random import Generator

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Query
from halflife.engine.threads import submit
from halflife.kinds.form import client
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.form.web_form import FormEngine
from halflife.queries import form_probe
from halflife.queries.form_facts import FormFacts, FormFinding
from halflife.queries.form_probe import REQUESTS
from halflife.queries.ledger import Ledger
from halflife.stores import Store
from halflife.stores.notes.form_facts import FORM_FACTS

SHARE = 3  # the budget divided by this may be spent on measuring the form first
LEAST = 6  # requests; fewer show almost nothing
COUNTED = "number of hits"  # the name of this finding


def _uncut(facts: FormFacts) -> FormFacts:
    """Return the facts about a form that shows all results of every query.

    Wrong totals are left to the crawl: those that are too low show when results are
    read to their end, and those that are too high hide nothing.
    """
    if facts.counts != "lying":
        return facts
    findings = tuple(finding for finding in facts.findings if finding.what != COUNTED)
    return replace(facts, counts="unknown", findings=findings)


class FormClaims:
    """The measured facts about a form; used in the thread that queries it.

    Args:
        store: The store of the facts.
        source: The form.
        loop: The event loop of the store.

    Attributes:
        facts: The measurements; None if there are none.

    """

    def __init__(
        self, store: Store, source: FormConfig, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._store, self._source, self._loop = store, source, loop
        self.facts = client.measured_facts(store, source)

    def measure(self, ledger: Ledger, engine: FormEngine, rng: Generator) -> None:
        """Measure the form before it is read by its claims.

        The crawl does not repeat its queries. It costs at most a share of the budget;
        what it does not measure shows in the crawl.
        """
        left = min(self._paid_for(engine), inf if ledger.left is None else ledger.left)
        most = int(min(REQUESTS, left // SHARE))
        terms, before = client.seeds(self._source, rng), engine.interface
        uncounted = before.walks and before.counts == "none"  # nothing to compare
        if most < LEAST or uncounted or not (before.everything or terms):
            return
        try:  # a form that does not answer gets no further queries
            ledger.first(Query() if before.everything else Query.of(*terms[:1]))
        except (BudgetSpent, SourceError):  # the crawl tries again, and reports it
            return
        facts = form_probe.measure(ledger, terms, rng, most, brief=True)
        if facts.interface(before).cap is None:
            facts = _uncut(facts)
        engine.claim(facts.interface(before))
        if engine.interface != before:
            ledger.forget()
        if any(finding.what == client.ANSWERED for finding in facts.findings):
            self._save(facts)

    def refute(self, engine: FormEngine, why: str) -> None:
        """Save that the totals of hits are wrong."""
        engine.claim(replace(engine.interface, counts="none"))
        facts = self.facts or FormFacts()
        others = [fact for fact in facts.findings if fact.what != COUNTED]
        finding = FormFinding(COUNTED, "unreliable", why)
        self._save(replace(facts, counts="lying", findings=(finding, *others)))

    def _paid_for(self, engine: FormEngine) -> float:
        """Return the requests that the budget still allows."""

        async def left() -> float:
            return engine.left

        return submit(left(), self._loop).result()

    def _save(self, facts: FormFacts) -> None:
        self.facts = facts

        async def save() -> None:
            FORM_FACTS.save(self._store, facts, self._source.name)

        submit(save(), self._loop).result()
