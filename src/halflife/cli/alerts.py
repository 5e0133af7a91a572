"""The verb that shows alarms and who was alerted: alerts."""

from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, read_settings
from halflife.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.alerts.machine import Alarm
    from halflife.config import Config
    from halflife.engine.notifications import DeliveryAttempt
    from halflife.stores.outbox import Message

SHOWN = 10  # messages of each state


@app.command()
def alerts(
    *,
    test: Annotated[
        bool, typer.Option("--test", help="Send every recipient a message now.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Retry messages that were given up.")
    ] = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show what is wrong, who was alerted, and what could not be delivered."""
    settings = read_settings(config)
    attempts: Sequence[DeliveryAttempt] = []
    if (test or retry) and not settings.alert:
        raise ConfigError(f"no recipients configured; add [[alert]] to {settings.path}")
    if test or retry:
        attempts = _send(settings, test=test, retry=retry)
    answer = _answer(settings)
    answer["tried"] = [
        {"target": t.message.target, "kind": t.message.kind, "trouble": t.trouble}
        for t in attempts
    ]
    if json:
        show.emit(answer)
    else:
        _print(settings, answer)
    if any(attempt.trouble for attempt in attempts):
        raise typer.Exit(exits.SOME_FAILED)


def _send(config: "Config", *, test: bool, retry: bool) -> "Sequence[DeliveryAttempt]":
    """Send the messages that are due, including a test message if requested."""
    import asyncio

    from halflife.engine import bootstrap, notifications
    from halflife.stores import location

    now = bootstrap.clock()
    with location.open_store(config.store_place, create=True) as store:
        if retry:
            store.outbox.revive(now)
        if test:
            notifications.post_test(config, store, now)
        return asyncio.run(notifications.deliver(config, store))


def _answer(config: "Config") -> dict[str, list[dict[str, object]]]:
    from halflife.engine import bootstrap

    answer: dict[str, list[dict[str, object]]] = {
        name: [] for name in ("results", "waiting", "sent", "dead")
    }
    with bootstrap.state_file(config) as store:
        if store is None:
            return answer
        outbox = store.outbox
        answer["results"] = [_open(a) for a in outbox.alarms() if a.raised]
        for state in ("waiting", "sent", "dead"):
            answer[state] = [_message(m) for m in outbox.latest(state, SHOWN)]
    return answer


def _open(alarm: "Alarm") -> dict[str, object]:
    head = {"source": alarm.source, "kind": alarm.kind}
    return {**head, "since": show.date(alarm.since), "text": alarm.text}


def _message(message: "Message") -> dict[str, object]:
    from halflife.engine.notifications import words

    return {
        "made": show.date(message.made),
        "target": message.target,
        "kind": message.kind,
        "news": message.news,
        "text": words(message)[0],
        "tries": message.tries,
        "ended": "" if message.ended is None else show.date(message.ended),
        "trouble": message.trouble,
    }


def _print(config: "Config", answer: dict[str, list[dict[str, object]]]) -> None:
    show.table([show.flat(row) for row in answer["results"]])
    if not answer["results"]:
        show.say("no alarm stands")
    names = ", ".join(alert.label for alert in config.alert)
    show.say(
        show.plain(
            f"recipients: {names or 'none configured; add [[alert]] to the settings'}"
        )
    )
    titles = {"waiting": "not delivered yet", "sent": "delivered", "dead": "given up"}
    for state, title in titles.items():
        if answer[state]:
            show.say(f"\n{title}:")
            show.table([show.flat(row) for row in answer[state]])
    for attempt in answer["tried"]:
        result = attempt["trouble"] or "delivered"
        show.say(show.plain(f"{attempt['kind']} to {attempt['target']}: {result}"))
