"""Notifications: news goes to the outbox, and from there to the recipients.

Deciding and sending are separate. ``update_alarms`` writes alarms and messages down, in
one transaction with their cause if it is called within ``store.together()``;
``delivering`` sends them in the background, and nothing waits for that.
"""

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import groupby

from halflife.alerts import Health
from halflife.alerts.machine import AlarmTurn, step
from halflife.alerts.messages import (
    RECOVERED,
    TEST,
    Event,
    Letter,
    Recipient,
    headline,
    letters,
    limit_events,
)
from halflife.alerts.rules import INFORMATION
from halflife.config import Config
from halflife.config.alerts import AlertConfig
from halflife.config.values import FromEnv
from halflife.core.errors import ConfigError, HalflifeError, SourceError, UsageError
from halflife.engine import bootstrap
from halflife.engine.loop import Allowance, Clock
from halflife.engine.network import NO_CONTACT
from halflife.net.access import Access, Answer, Credentials, GateSettings
from halflife.net.addresses import networks
from halflife.net.dates import to_iso
from halflife.net.gate import Gate
from halflife.sinks.webhook import signature
from halflife.stores import Store
from halflife.stores.memory import MemoryStore
from halflife.stores.outbox import Message, Outbox

DEADLINE = 10.0  # seconds that one try may take
POLL = 15.0  # seconds between two rounds
GRACE = 2.0  # seconds at the end of a sync for messages that are still due
AT_ONCE = 20  # messages to one target in a round
JSON = "application/cloudevents+json"

_CLAIM = 2.0 * DEADLINE / 86400.0  # days for which a try is claimed
_REQUESTS = 4  # the most requests of one try


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """The result of one try to deliver a message.

    Attributes:
        message: The message.
        trouble: The error; empty if it was delivered.
        wait: Days that the receiver asks to wait.
        hopeless: Whether no later try can succeed.

    """

    message: Message
    trouble: str = ""
    wait: float = 0.0
    hopeless: bool = False


def targets(config: Config) -> list[Recipient]:
    """Return the recipients named by the settings."""
    return [Recipient(a.label, frozenset(a.kinds), a.days) for a in config.alert]


def update_alarms(
    config: Config, store: Store, healths: Iterable[Health], now: float
) -> list[AlarmTurn]:
    """Judge sources; store their alarms, and post messages to the recipients."""
    outbox = store.outbox
    with store.together():
        turns = step(outbox.alarms(), healths, now)
        outbox.keep(turns)
        outbox.post(letters(turns, targets(config), now))
    return turns


def post_test(config: Config, store: Store, now: float) -> None:
    """Post a test message to every recipient."""
    event = Event("", now, "this is a test; nothing is wrong")
    store.outbox.post(
        Letter(a.label, TEST, TEST, now, now, (event,)) for a in config.alert
    )


@asynccontextmanager
async def delivering(
    config: Config,
    store: Store,
    *,
    clock: Clock = bootstrap.clock,
    poll: float = POLL,
    grace: float = GRACE,
) -> AsyncIterator[None]:
    """Deliver messages in the background while the block runs.

    At its end messages that are due get a last try of ``grace`` seconds. Those not
    delivered stay in the outbox for the next time. Without recipients there is one
    round only, because no message is posted afterwards.
    """
    task = asyncio.create_task(_rounds(config, store, clock, poll))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await deliver(config, store, clock=clock)


async def _rounds(config: Config, store: Store, clock: Clock, poll: float) -> None:
    while True:
        # A full disk, for example: the sync itself reports that.
        with suppress(HalflifeError):
            await deliver(config, store, clock=clock)
        if not config.alert:
            return
        await asyncio.sleep(poll)


async def deliver(
    config: Config, store: Store, *, clock: Clock = bootstrap.clock
) -> list[DeliveryAttempt]:
    """Try every message that is due, once; targets side by side."""
    outbox = store.outbox
    alerts = {alert.label: alert for alert in config.alert}
    due = sorted(outbox.due(clock()), key=lambda m: (m.target, m.id))
    if not due:
        return []
    book, settings = MemoryStore(), _gate_settings(config)
    async with Gate(settings, hosts=book, clock=clock) as gate:
        work = [
            _to_target(gate, outbox, alerts.get(name), list(messages), clock)
            for name, messages in groupby(due, lambda m: m.target)
        ]
        attempts = await asyncio.gather(*work)
    return [attempt for of_target in attempts for attempt in of_target]


def _gate_settings(config: Config) -> GateSettings:
    contact = config.fetch.contact or NO_CONTACT
    return GateSettings(contact, delay=0.0, deadline=DEADLINE, patience=0.0)


async def _to_target(
    gate: Gate,
    outbox: Outbox,
    alert: AlertConfig | None,
    messages: Sequence[Message],
    clock: Clock,
) -> list[DeliveryAttempt]:
    """Send messages one after the other; the first failure ends the round."""
    done: list[DeliveryAttempt] = []
    for message in messages[:AT_ONCE]:
        if not outbox.claim(message, clock() + _CLAIM):
            continue  # another process is sending it
        attempt = await _try(gate, alert, message, clock())
        done.append(attempt)
        if not attempt.trouble:
            outbox.sent(message, clock())
        elif attempt.hopeless:
            outbox.bury(message, clock(), attempt.trouble)
        else:
            outbox.failed(message, clock(), attempt.trouble, wait=attempt.wait)
            break
    return done


async def _try(
    gate: Gate, alert: AlertConfig | None, message: Message, now: float
) -> DeliveryAttempt:
    if alert is None:
        gone = "the settings no longer name this recipient"
        return DeliveryAttempt(message, gone, hopeless=True)
    try:
        address = alert.address().reveal()
        if not address.startswith(("http://", "https://")):
            return DeliveryAttempt(message, await _by_apprise(alert, address, message))
        return _attempt(message, await _by_post(gate, alert, address, message, now))
    except UsageError:  # its text would reveal the address
        return DeliveryAttempt(message, "its address cannot be used")
    except (SourceError, ConfigError) as error:
        return DeliveryAttempt(
            message, str(error).replace("the source's allow", "its allow")
        )
    except TimeoutError:
        return DeliveryAttempt(message, f"no answer within {DEADLINE:.0f} s")


async def _by_post(
    gate: Gate, alert: AlertConfig, address: str, message: Message, now: float
) -> Answer:
    body = json.dumps(envelope(message)).encode()
    what = f"alert {alert.label}: secret"
    key = None if alert.secret is None else alert.secret.look_up(what)
    headers = {"Content-Type": JSON, **signature(key, body, now * 86400.0)}
    access = _access(alert, address)
    purse = Allowance(_REQUESTS)
    return await gate.post(address, body, purse, access=access, headers=headers)


def _access(alert: AlertConfig, address: str) -> Access:
    given = alert.secret_headers()
    secret = {n for n, value in alert.headers.items() if isinstance(value, FromEnv)}
    private = {n: value.reveal() for n, value in given.items() if n in secret}
    public = {n: value.reveal() for n, value in given.items() if n not in secret}
    return Access(
        allow=networks(alert.allow),
        credentials=Credentials.of(address, private) if private else None,
        headers=public,
        robots=False,
    )


def _attempt(message: Message, answer: Answer) -> DeliveryAttempt:
    if 200 <= answer.status < 300:
        return DeliveryAttempt(message)
    pause = answer.retry_after
    wait = int(pause[:9]) / 86400.0 if pause[:9].isdecimal() else 0.0
    redirects = 300 <= answer.status < 400
    trouble = (
        "it redirects; set the address that it redirects to"
        if redirects
        else f"it answered {answer.status}"
    )
    return DeliveryAttempt(message, trouble, wait)


async def _by_apprise(alert: AlertConfig, address: str, message: Message) -> str:
    """Send through Apprise; return what went wrong, empty if nothing did."""
    try:
        apprise = importlib.import_module("apprise")
    except ImportError:
        raise ConfigError(
            f"alert {alert.label}: only http and https can be reached without Apprise; "
            'install it with: pip install "halflife[alerts]"'
        ) from None
    client = apprise.Apprise()
    if not client.add(address):
        raise ConfigError(f"alert {alert.label}: Apprise does not know this address")
    title, text = words(message)
    async with asyncio.timeout(DEADLINE):
        fine = await client.async_notify(
            title=title, body=text, notify_type=_tone(message)
        )
    return "" if fine else "Apprise could not deliver it"


def _tone(message: Message) -> str:
    """Return Apprise's type of notification for a message."""
    mild = message.news == TEST or f": {INFORMATION}" in words(message)[0]
    return "success" if message.news == RECOVERED else "info" if mild else "warning"


def envelope(message: Message) -> dict[str, object]:
    """Return a message as a CloudEvent (version 1.0, JSON)."""
    events, more = limit_events(Letter.events_in(message.body))
    rows = [{**asdict(event), "since": to_iso(event.since)} for event in events]
    return {
        "specversion": "1.0",
        "id": f"{message.made:.6f}-{message.id}",
        "source": "halflife",
        "type": f"halflife.{message.kind}.{message.news}",
        "time": to_iso(message.made),
        "datacontenttype": "application/json",
        "text": words(message)[0],
        "data": {
            "kind": message.kind,
            "news": message.news,
            "events": rows,
            "more": more,
        },
    }


def words(message: Message) -> tuple[str, str]:
    """Return the title and the text of a message."""
    events, more = limit_events(Letter.events_in(message.body))
    lines = [
        f"{event.source or 'halflife'}: {event.text}"
        + (f" ({event.advice})" if event.advice else "")
        for event in events
    ]
    if more:
        lines.append(f"and {more} more")
    title = headline(message.kind, message.news, Letter.events_in(message.body))
    return title, "\n".join(lines)
