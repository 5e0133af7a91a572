"""halflife as an entry: what ``halflife sync`` does, at the time of the world."""

import asyncio
from pathlib import Path

from halflife.config import Config
from halflife.engine import bootstrap, once
from halflife.engine.signals import Stop
from halflife.kinds.protocol import Errand

SETTINGS = """\
store = "halflife.db"
[budget]
requests = 1000000000
[policy]
name = "champion"
objective = "freshness"
[fetch]
delay = 0.0
concurrency = 4
[[source]]
name = "site"
maps = ["{site}/sitemap.xml"]
allow = ["127.0.0.0/8"]
noise = 0.0
"""


def turn(site: str, requests: int, now: float, folder: Path) -> None:
    """Send the requests that buy most; the first turn fetches everything."""
    path = folder / "halflife.toml"
    first = not path.is_file()
    if first:
        path.write_text(SETTINGS.format(site=site), encoding="utf-8")
    config = Config.load(path)
    errand = Errand(everything=True) if first else Errand(most=requests)
    with bootstrap.writing(config) as store:
        work = once.sync(config, store, config.source, errand, Stop(), lambda: now)
        asyncio.run(work)
