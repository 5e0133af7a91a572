"""What a form is believed to do: measured before its first crawl, corrected after."""

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
from halflife.queries.form_facts import FormFinding, Measured
from halflife.queries.form_probe import REQUESTS
from halflife.queries.ledger import Ledger
from halflife.stores import Store
from halflife.stores.notes.form_facts import FORM_FACTS

SHARE = 3  # one part in so many of what may be spent probes the form first
LEAST = 6  # requests; fewer show next to nothing
COUNTED = "number of hits"  # what findings call it


def _uncut(facts: Measured) -> Measured:
    """Return what was found about a form that shows all results of every query.

    Numbers that are too low show when these are read to their end, and those that are
    too high hide nothing, so both are left to the crawl.
    """
    if facts.counts != "lying":
        return facts
    rest = tuple(one for one in facts.findings if one.what != COUNTED)
    return replace(facts, counts="unknown", findings=rest)


class FormClaims:
    """What was found out about a form; to be asked from the thread that asks it.

    Args:
        store: Where findings are kept.
        source: The form.
        loop: Where the store is at home.

    Attributes:
        facts: What was measured; None if nothing was.

    """

    def __init__(
        self, store: Store, source: FormConfig, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._store, self._source, self._loop = store, source, loop
        self.facts = client.known(store, source)

    def measure(self, ledger: Ledger, engine: FormEngine, rng: Generator) -> None:
        """Find out what the form does before all of it is read by its claims.

        Its answers are not asked for again by the crawl. A part of the budget is spent
        on it, at most; what is not found out shows while it is crawled.
        """
        left = min(self._paid_for(engine), inf if ledger.left is None else ledger.left)
        most = int(min(REQUESTS, left // SHARE))
        terms, before = client.seeds(self._source, rng), engine.interface
        untold = before.walks and before.counts == "none"  # nothing can be compared
        if most < LEAST or untold or not (before.everything or terms):
            return
        try:  # a form that does not answer is not asked so many questions
            ledger.first(Query() if before.everything else Query.of(*terms[:1]))
        except (BudgetSpent, SourceError):  # the crawl asks again, and says so
            return
        facts = form_probe.measure(ledger, terms, rng, most, brief=True)
        if facts.interface(before).cap is None:
            facts = _uncut(facts)
        engine.claim(facts.interface(before))
        if engine.interface != before:
            ledger.forget()
        if any(one.what == client.ANSWERED for one in facts.findings):
            self._save(facts)

    def refute(self, engine: FormEngine, why: str) -> None:
        """Take in that the numbers of hits are wrong."""
        engine.claim(replace(engine.interface, counts="none"))
        known = self.facts or Measured()
        rest = [one for one in known.findings if one.what != COUNTED]
        finding = FormFinding(COUNTED, "not to be believed", why)
        self._save(replace(known, counts="lying", findings=(finding, *rest)))

    def _paid_for(self, engine: FormEngine) -> float:
        """Return the requests that the budget still pays for."""

        async def left() -> float:
            return engine.left

        return submit(left(), self._loop).result()

    def _save(self, facts: Measured) -> None:
        self.facts = facts

        async def save() -> None:
            FORM_FACTS.save(self._store, facts, self._source.name)

        submit(save(), self._loop).result()
