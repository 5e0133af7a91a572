"""Telling people: what is news goes to the outbox, and from there to whoever asked.

Deciding and sending are apart. ``tell`` writes alarms and messages down, in one
transaction with what caused them if it is called within ``store.together()``;
``delivering`` sends them in the background, and nothing ever waits for that.
"""

import asyncio
import hashlib
import hmac
import importlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
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
    shortened,
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
from halflife.net.gate import Gate
from halflife.stores import Store
from halflife.stores.memory import MemoryStore
from halflife.stores.outbox import Message, Outbox

DEADLINE = 10.0  # seconds that one try may take
POLL = 15.0  # seconds between two rounds
GRACE = 2.0  # seconds that the end of a sync leaves for what is still due
AT_ONCE = 20  # messages to one target in a round
JSON = "application/cloudevents+json"
SIGNATURE, SIGNED_AT = "X-Halflife-Signature", "X-Halflife-Time"
_CLAIM = 2.0 * DEADLINE / 86400.0  # days that a try is ours alone
_REQUESTS = 4  # that one try may send


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """What came of one try.

    Attributes:
        message: The message.
        trouble: What went wrong; empty if it was delivered.
        wait: Days that the receiver asked us to stay away.
        hopeless: Whether no later try can succeed.

    """

    message: Message
    trouble: str = ""
    wait: float = 0.0
    hopeless: bool = False


def targets(config: Config) -> list[Recipient]:
    """Return those who are told, as the settings say."""
    return [Recipient(a.label, frozenset(a.kinds), a.days) for a in config.alert]


def tell(
    config: Config, store: Store, healths: Iterable[Health], now: float
) -> list[AlarmTurn]:
    """Judge sources; write down what has changed, and what is to be told."""
    outbox = store.outbox
    with store.together():
        turns = step(outbox.alarms(), healths, now)
        outbox.keep(turns)
        outbox.post(letters(turns, targets(config), now))
    return turns


def post_test(config: Config, store: Store, now: float) -> None:
    """Write a message down for everybody who is told, just to see it arrive."""
    said = Event("", now, "this is a test; nothing is wrong")
    store.outbox.post(
        Letter(a.label, TEST, TEST, now, now, (said,)) for a in config.alert
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
    """Deliver messages while the block runs; it waits for nobody.

    At its end what is due gets a last try of ``grace`` seconds. What was not
    delivered stays in the outbox for the next time. Where the settings name nobody to
    tell, there is one round only: nothing is written down afterwards.
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
        # A full disk, say: that is for the sync itself to report.
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
    known = {alert.label: alert for alert in config.alert}
    due = sorted(outbox.due(clock()), key=lambda m: (m.target, m.id))
    if not due:
        return []
    book, settings = MemoryStore(), _manners(config)
    async with Gate(settings, hosts=book, clock=clock) as gate:
        work = [
            _to_target(gate, outbox, known.get(name), list(messages), clock)
            for name, messages in groupby(due, lambda m: m.target)
        ]
        found = await asyncio.gather(*work)
    return [tried for some in found for tried in some]


def _manners(config: Config) -> GateSettings:
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
            continue  # another process is at it
        tried = await _try(gate, alert, message, clock())
        done.append(tried)
        if not tried.trouble:
            outbox.sent(message, clock())
        elif tried.hopeless:
            outbox.bury(message, clock(), tried.trouble)
        else:
            outbox.failed(message, clock(), tried.trouble, wait=tried.wait)
            break
    return done


async def _try(
    gate: Gate, alert: AlertConfig | None, message: Message, now: float
) -> DeliveryAttempt:
    if alert is None:
        gone = "nobody of this name is in the settings any more"
        return DeliveryAttempt(message, gone, hopeless=True)
    try:
        address = alert.address().reveal()
        if not address.startswith(("http://", "https://")):
            return DeliveryAttempt(message, await _by_apprise(alert, address, message))
        return _judged(message, await _by_post(gate, alert, address, message, now))
    except UsageError:  # its words would show the address
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
    headers = {"Content-Type": JSON, **_signature(alert, body, now)}
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


def _signature(alert: AlertConfig, body: bytes, now: float) -> dict[str, str]:
    """Return the headers that let a receiver tell that a message is ours, and new."""
    if alert.secret is None:
        return {}
    key = alert.secret.look_up(f"alert {alert.label}: secret").reveal().encode()
    moment = str(round(now * 86400.0))
    signed = hmac.new(key, moment.encode() + b"." + body, hashlib.sha256)
    return {SIGNED_AT: moment, SIGNATURE: f"sha256={signed.hexdigest()}"}


def _judged(message: Message, answer: Answer) -> DeliveryAttempt:
    if 200 <= answer.status < 300:
        return DeliveryAttempt(message)
    told = answer.retry_after
    wait = int(told[:9]) / 86400.0 if told[:9].isdecimal() else 0.0
    said = "it redirects; give the address that it leads to"
    redirects = 300 <= answer.status < 400
    return DeliveryAttempt(
        message, said if redirects else f"it answered {answer.status}", wait
    )


async def _by_apprise(alert: AlertConfig, address: str, message: Message) -> str:
    """Send through Apprise; return what went wrong, empty if nothing did."""
    try:
        apprise = importlib.import_module("apprise")
    except ImportError:
        raise ConfigError(
            f"alert {alert.label}: only http and https can be reached without Apprise; "
            'install it with: pip install "halflife[alerts]"'
        ) from None
    told = apprise.Apprise()
    if not told.add(address):
        raise ConfigError(f"alert {alert.label}: Apprise does not know this address")
    title, text = words(message)
    async with asyncio.timeout(DEADLINE):
        fine = await told.async_notify(
            title=title, body=text, notify_type=_tone(message)
        )
    return "" if fine else "Apprise could not deliver it"


def _tone(message: Message) -> str:
    """Return how urgent a message is, in Apprise's words."""
    mild = message.news == TEST or f": {INFORMATION}" in words(message)[0]
    return "success" if message.news == RECOVERED else "info" if mild else "warning"


def envelope(message: Message) -> dict[str, object]:
    """Return a message as a CloudEvent (version 1.0, JSON)."""
    events, more = shortened(Letter.events_in(message.body))
    told = [{**asdict(event), "since": _moment(event.since)} for event in events]
    return {
        "specversion": "1.0",
        "id": f"{message.made:.6f}-{message.id}",
        "source": "halflife",
        "type": f"halflife.{message.kind}.{message.news}",
        "time": _moment(message.made),
        "datacontenttype": "application/json",
        "text": words(message)[0],
        "data": {
            "kind": message.kind,
            "news": message.news,
            "events": told,
            "more": more,
        },
    }


def words(message: Message) -> tuple[str, str]:
    """Return a message in a line, and in full, for people."""
    events, more = shortened(Letter.events_in(message.body))
    lines = [
        f"{event.source or 'halflife'}: {event.text}"
        + (f" ({event.advice})" if event.advice else "")
        for event in events
    ]
    if more:
        lines.append(f"and {more} more")
    title = headline(message.kind, message.news, Letter.events_in(message.body))
    return title, "\n".join(lines)


def _moment(days: float) -> str:
    moment = datetime.fromtimestamp(round(days * 86400), tz=UTC)
    return moment.isoformat().replace("+00:00", "Z")
