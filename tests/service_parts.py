"""A service on a clock of its own, for tests."""

import asyncio
import json
import sqlite3
from dataclasses import dataclass, field

from halflife.config import Config
from halflife.engine import bootstrap, logs
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment, ServiceRhythm
from halflife.engine.signals import Stop

BEGAN = 20_000.0
# It turns as always, but looks after its settings and judges sources less often.
CALM = ServiceRhythm(slice=60.0, judged=300.0)
HOME = 'allow = ["127.0.0.0/8"]\n'


class Lines(list):
    """A stream that keeps what is written."""

    def write(self, text):
        self.extend(json.loads(line) for line in text.splitlines() if line)

    def flush(self):
        return


@dataclass
class Play:
    """What happened while a service ran: results with their times, and events."""

    path: object
    now: float = BEGAN
    results: list = field(default_factory=list)
    events: Lines = field(default_factory=Lines)
    service: object = None
    stop: object = None
    audits: bool = False
    reach: object = None
    rhythm: object = CALM
    naps: int = 0

    def __call__(self):
        return self.now

    def named(self, name):
        return [event for event in self.events if event["event"] == name]

    def run(self, days, each=lambda play: None):
        """Run for so many days of its own; ``each`` is called at every nap."""
        asyncio.run(self._run(self.now + days, each))
        return self

    async def _run(self, until, each):
        config, self.stop = Config.load(self.path), Stop()

        async def sleep(seconds):
            self.now += seconds / 86400
            self.naps += 1
            each(self)
            if self.now >= until and not self.stop.asked.is_set():
                self.stop.ask(15)
            await asyncio.sleep(0)

        self.stop.sleep = sleep
        told = lambda report: self.results.append((self.now, report.result))  # noqa: E731
        outside = ServiceEnvironment(clock=self, on_report=told, audits=self.audits)
        outside.rhythm = self.rhythm
        if self.reach is not None:
            outside.reach = self.reach
        handler = logs.set_up(as_json=True, stream=self.events)
        try:
            with bootstrap.writing(config) as store:
                self.service = Service(Settings(config), store, self.stop, outside)
                await self.service.run()
        finally:
            logs.end(handler)


def ledger(path):
    """Return the times and sizes of all charges."""
    store = Config.load(path).store_path
    with sqlite3.connect(store) as db:
        return db.execute("SELECT at, requests FROM ledger ORDER BY at").fetchall()


def fullest(charges, days):
    """Return the most that was charged in any window of so many days."""
    return max(
        (sum(n for at, n in charges if end - days < at <= end) for end, _ in charges),
        default=0,
    )
