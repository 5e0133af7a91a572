"""A state in which things have changed: pages with texts, a listing with fields."""

from pathlib import Path

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.engine import bootstrap
from halflife.readers.text import fingerprint
from halflife.stores.forecasts import IssuedForecast

PRICING = "https://shop.example/pricing"
TERMS = "https://shop.example/terms"
LOGO = "https://shop.example/logo.png"
HUGE = "https://shop.example/everything"
BROKEN = "https://shop.example/latin"
EVIL = "https://shop.example/evil?x=%3Cscript%3E"
ONCE = "https://shop.example/once"
GONE = "https://shop.example/old-offer"
HARM = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\u202egnp.exe\x1b[31m"
)
SETTINGS = """\
[budget]
requests = 300
per = "day"
[[source]]
name = "shop"
target = "freshness >= 0.8"
pages = ["https://shop.example/"]
[[source]]
name = "jobs"
kind = "listing"
key = "id"
url = "https://jobs.example/open.json"
target = "recall >= 0.9"
"""
CLAUSE = "<p>Clause {n}. The parties agree on matter {n} as written in annex {n}.</p>"
PLAN = """<html><title>Pricing</title><h1>Plans and prices</h1>
<p>All plans include unlimited members and support by e-mail.</p>
<h2>Starter</h2><p>{starter} euros a month, billed yearly.</p>
<h2>Team</h2><p>{team} euros a month, billed yearly.</p>{more}
<p>Prices do not include value added tax.</p></html>"""
PLANS = (
    {"starter": 9, "team": 29, "more": ""},
    {"starter": 9, "team": 31, "more": ""},
    {"starter": 12, "team": 31, "more": "<h2>Campus</h2><p>Free for schools.</p>"},
)


def bodies(day: int) -> dict[str, tuple[str, bytes]]:
    """Return what the pages are on a day: their types and bodies."""
    html = "text/html; charset=utf-8"
    page = PLAN.format(**PLANS[min(day, 2)])
    terms = "".join(CLAUSE.format(n=n + (n == 40) * day) for n in range(80))
    huge = (f"<p>{day} of many" * 700_000)[:8_000_000]
    broken = f"<p>{'é' * 400} {day}</p>".encode("latin-1")
    evil = f"<p>price {day}</p><p>{HARM} {day}</p><p>&lt;b&gt; {day}".encode()
    return {
        PRICING: (html, page.encode()),
        TERMS: (html, terms.encode()),
        LOGO: ("image/png", b"\x89PNG\r\n\x1a\n\0" + bytes([day]) * 900),
        HUGE: (html, huge.encode()),
        BROKEN: (html, broken),
        EVIL: (html, evil),
        ONCE: (html, b"<p>always the same</p>"),
        GONE: (html, b"<p>An old offer</p>"),
    }


def job(n: int, day: int) -> dict[str, object]:
    """Return a record as it is on a day."""
    salary = 4000 + 10 * n + (250 if n % 9 == 0 and day > 1 else 0)
    title = f"{('Engineer', 'Nurse', 'Teacher', 'Cook')[n % 4]} {n}"
    if n == 18:
        title = HARM if day else "harmless"
    return {
        "title": title,
        "city": ("Oslo", "Rome", "Lima")[n % 3],
        "salary": salary,
        "url": f"https://jobs.example/{n}" if n != 27 else "javascript:alert(9)",
    }


def changed_state(folder: Path, records: int = 120, *, huge: bool = False) -> Path:
    """Write settings and a state; return the settings."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "halflife.toml"
    path.write_text(SETTINGS)
    now = bootstrap.clock()
    with bootstrap.writing(Config.load(path)) as store:
        run = store.begin(["shop", "jobs"], now - 30.0, lease=99.0)
        _pages(store, run, now, huge=huge)
        tracker = Tracker()
        for day in range(4):
            shown = {f"job-{n}": job(n, day) for n in range(3 * day, records + 2 * day)}
            tracker.take(Listing(now - 8.0 + 2 * day, shown))
            store.save_register(run, "jobs", tracker.register(), anew=True)
        store.charge(run, 40, now - 1.0)
        _forecasts(store, now)
        store.finish(run, now - 0.1)
    return path


def _pages(store, run, now, *, huge):
    keys = [key for key in bodies(0) if huge or key != HUGE]
    store.add([Item(key, "shop", group="shop.example") for key in keys])
    for day in range(3):
        found = bodies(day)
        looks = [
            Observation(
                key,
                now - 9.0 + 4 * day,
                Seen.PRESENT,
                fingerprint(found[key][1]),
                content=Content(*found[key]),
            )
            for key in keys
        ]
        store.append(run, Observations.of(looks))
    looks = [
        Observation(GONE, now - 0.9, Seen.ABSENT),
        Observation("https://shop.example/", now - 2.0, Seen.FAILED, note="503"),
        Observation("https://shop.example/", now - 0.5, Seen.FAILED, note=HARM),
    ]
    store.append(run, Observations.of(looks))


def _forecasts(store, now):
    made = [
        IssuedForecast(
            name, measure, now - 20 + n, 0.0, 0.9 - n / 100, 0.8 - n / 100, 0.97
        )
        for name, measure in (("shop", "freshness"), ("jobs", "recall"))
        for n in range(20)
    ]
    store.forecasts.issue(made)
