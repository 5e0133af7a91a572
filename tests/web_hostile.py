"""A state in which every text of other people is meant to do harm."""

from pathlib import Path

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.engine import bootstrap
from halflife.stores.notes.form_queries import FORM_QUERIES, TriedQuery

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\u202e"


def hostile_state(folder: Path) -> tuple[Path, str]:
    """Write settings and a state; return the settings, and the URL of a page."""
    path = folder / "halflife.toml"
    url = "https://a.example/?x=%3Cscript%3E'><svg/onload=alert(3)>"
    path.write_text(
        '[[source]]\nname = "pages"\npages = ["https://a.example/"]\n'
        '[[source]]\nname = "list"\nkind = "listing"\nkey = "id"\n'
        'url = "https://l.example/?<script>alert(4)</script>"\n'
        '[[source]]\nname = "form"\nkind = "form"\nkey = "id"\nrecords = "r"\n'
        'form_url = "https://f.example/?page={page}"\n'
        '[source.attributes]\ncity = {kind = "select"}\n'
    )
    now = bootstrap.clock()
    with bootstrap.writing(Config.load(path)) as store:
        store.add([Item(url, "pages")])
        run = store.begin(["pages", "list", "form"], now - 9, lease=99.0)
        for day in range(5):
            body = Content("text/html", f"<script>alert({day})</script>".encode())
            look = Observation(
                url, now - 6 + day, Seen.PRESENT, str(day % 2), content=body
            )
            failed = Observation(
                "https://a.example/", now - 6 + day, Seen.FAILED, note=EVIL
            )
            store.append(run, Observations.of([look, failed]))
        tracker = Tracker()
        for day in range(6):
            records = {f"{EVIL}{i}": {EVIL: EVIL, "n": i} for i in range(day, day + 30)}
            tracker.take(Listing(now - 6 + day, records, note=EVIL))
        store.save_register(run, "list", tracker.register(), anew=True)
        cities = {f"{EVIL}{i}": {"city": EVIL} for i in range(9)}
        known = Tracker()
        known.take(Listing(now - 1, cities, note=EVIL))
        store.save_register(run, "form", known.register(), anew=True)
        FORM_QUERIES.save(store, [TriedQuery(now, f"city={EVIL}", 1, 9, 9, 9)], "form")
        store.stage(run, "list", Listing(now, {EVIL: {EVIL: EVIL}}), EVIL)
        store.finish(run, now)
    return path, url
