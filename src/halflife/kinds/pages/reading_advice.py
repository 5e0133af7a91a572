"""Advice to people on what was learned while reading pages."""

from halflife.core.store import NoteBook
from halflife.core.wording import count
from halflife.kinds.pages.hubs import unconfirmed
from halflife.kinds.pages.settings import PagesConfig
from halflife.stores.notes.script_pages import SCRIPT_PAGES
from halflife.stores.notes.validator_trust import VALIDATOR_TRUST, doubted

MOST = 3  # names listed of many


def advice(store: NoteBook, source: PagesConfig) -> list[tuple[str, str]]:
    """Return the problems of pages of a source, and what to do about each."""
    rows = []
    if empty := script_words(store, source):
        rows.append((empty, 'set render = "browser" (needs halflife[browser])'))
    trust = VALIDATOR_TRUST.load(store, source.name) or {}
    hosts = doubted(trust, max((record.at for record in trust.values()), default=0.0))
    if hosts:
        names = ", ".join(hosts[:MOST]) + (" and others" if len(hosts) > MOST else "")
        text = f'"not modified" of {names} hid changes, so it is not used'
        rows.append((text, "nothing: its pages are fetched whole"))
    if hubs := unconfirmed(store, source.name):
        text = f"the hub {hubs[0]} did not confirm a subscription: it does not reach us"
        rows.append((text, "let [serve] callback lead to `halflife serve`"))
    return rows


def script_words(store: NoteBook, source: PagesConfig) -> str:
    """Describe the pages without text unless JavaScript runs; empty if none."""
    keys = SCRIPT_PAGES.load(store, source.name) or ()
    if not keys or source.render == "browser":
        return ""
    pages = count(len(keys), "page shows", "pages show")
    return f"{pages} no text without JavaScript, such as {keys[0]}"
