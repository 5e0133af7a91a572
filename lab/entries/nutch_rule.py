"""A client that goes by the rule of Apache Nutch's AdaptiveFetchSchedule.

``python nutch_rule.py SITE REQUESTS NOW FOLDER`` makes one turn. The interval of a page
grows by 0.4 of itself when a fetch finds no change and shrinks by 0.2 when it finds
one; ``sync_delta`` moves the next fetch towards the time at which the page changed. Of
the pages that are due the longest overdue come first. It needs Python alone.
"""

import json
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from zlib import crc32

INC, DEC, SYNC_RATE = 0.4, 0.2, 0.3
LEAST, MOST = 1.0 / 1440.0, 365.0  # days
FIRST = 7.0  # days until a page is fetched for the second time
AGENT = {"User-Agent": "nutch-rule/1.0"}


def fetch(url: str, page: dict[str, Any]) -> str:
    """Return what a page shows; the same mark as before if it did not change."""
    known = {"If-None-Match": page["tag"]} if page.get("tag") else {}
    asked = urllib.request.Request(url, headers={**AGENT, **known})  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
            page["tag"] = answer.headers.get("ETag", "")
            return str(hash_of(answer.read()))
    except urllib.error.HTTPError as error:
        return str(page.get("mark", "")) if error.code == 304 else f"{error.code}"


def hash_of(body: bytes) -> int:
    """Return a mark of a body that is the same in every process."""
    return crc32(body)


def schedule(page: dict[str, Any], now: float, *, changed: bool) -> None:
    """Set when a page is fetched next (AdaptiveFetchSchedule.setFetchSchedule)."""
    page["interval"] *= 1.0 - DEC if changed else 1.0 + INC
    if changed:
        page["modified"] = now
    delta = now - page["modified"]
    page["interval"] = max(page["interval"], delta)
    page["interval"] = min(max(page["interval"], LEAST), MOST)
    page["due"] = now - delta * SYNC_RATE + page["interval"]


def main(site: str, requests: int, now: float, folder: Path) -> None:
    """Read the sitemap, fetch what is due, and write down when it is due again."""
    path = folder / "pages.json"
    pages = json.loads(path.read_text()) if path.is_file() else {}
    asked = urllib.request.Request(f"{site}/sitemap.xml", headers=AGENT)  # noqa: S310
    with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
        found = re.findall("<loc>(.*?)</loc>", answer.read().decode())
    for url in found:
        pages.setdefault(url, {"interval": FIRST, "due": now, "modified": now})
    due = sorted((u for u in pages if pages[u]["due"] <= now), key=_due(pages))
    for url in due[: max(requests - 1, 0)]:
        page = pages[url]
        before, mark = page.get("mark"), fetch(url, page)
        page["mark"] = mark
        schedule(page, now, changed=before is not None and mark != before)
    path.write_text(json.dumps(pages))


def _due(pages: dict[str, Any]) -> Any:  # noqa: ANN401  (a key for sorting)
    return lambda url: (pages[url]["due"], url)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
