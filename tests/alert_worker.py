"""A process that judges sources and has people told, to be killed at any moment."""

from halflife.alerts import Health
from halflife.config import Config
from halflife.engine import notifications
from halflife.stores.sqlite import SqliteStore


def tell_until_killed(path, pipe):
    config = Config.parse('[[alert]]\nname = "ops"\nurl = "http://127.0.0.1:1/"\n')
    store = SqliteStore.open(path, create=True)
    number = 0
    while True:
        found = [Health(f"s{number}", held="too few")]
        notifications.update_alarms(config, store, found, 1.0 + 0.01 * number)
        pipe.send(number)
        number += 1
