"""What was learned while reading pages that a person may want to know."""

from halflife.core.store import NoteBook
from halflife.core.wording import count
from halflife.kinds.pages.hubs import unconfirmed
from halflife.kinds.pages.settings import PagesConfig
from halflife.stores.notes.script_pages import SCRIPT_PAGES
from halflife.stores.notes.validator_trust import VALIDATOR_TRUST, doubted

MOST = 3  # names listed of many


def advice(
    store: NoteBook, source: PagesConfig, now: float | None = None
) -> list[tuple[str, str]]:
    """Return what was seen and what to do about it, for pages of a source."""
    found = []
    if empty := script_words(store, source):
        found.append((empty, 'set render = "browser" (needs halflife[browser])'))
    trust = VALIDATOR_TRUST.load(store, source.name) or {}
    at = max((one.at for one in trust.values()), default=0.0) if now is None else now
    hosts = doubted(trust, at)
    if hosts:
        said = ", ".join(hosts[:MOST]) + (" and others" if len(hosts) > MOST else "")
        text = f'"not modified" of {said} hid changes, so it is not asked for'
        found.append((text, "nothing: its pages are fetched whole"))
    if hubs := unconfirmed(store, source.name):
        text = f"{hubs[0]} was asked to tell of changes and does not reach us"
        found.append((text, "let [serve] callback lead to `halflife serve`"))
    return found


def script_words(store: NoteBook, source: PagesConfig) -> str:
    """Return which pages show no text without JavaScript; nothing if none do."""
    keys = SCRIPT_PAGES.load(store, source.name) or ()
    if not keys or source.render == "browser":
        return ""
    pages = count(len(keys), "page shows", "pages show")
    return f"{pages} no text without JavaScript, such as {keys[0]}"
