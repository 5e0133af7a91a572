"""A Scrapy spider on a timer: everything anew, as often as the requests allow.

``python scrapy_timer.py SITE REQUESTS NOW FOLDER`` makes one turn: it saves requests
until there are enough for a whole crawl from the sitemap, and then crawls everything.
"""

import json
import sys
from pathlib import Path

SETTINGS = {
    "USER_AGENT": "scrapy-timer/1.0",
    "ROBOTSTXT_OBEY": True,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 4,
    "DOWNLOAD_DELAY": 0,
}


def crawl(site: str) -> int:
    """Fetch every page of the sitemap; return how many requests that took."""
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415  (most turns only save)
    from scrapy.spiders import SitemapSpider  # noqa: PLC0415

    class Everything(SitemapSpider):
        name = "everything"
        pages = 0

        def parse(self, _: object) -> None:
            Everything.pages += 1

    process = CrawlerProcess(SETTINGS)
    process.crawl(Everything, sitemap_urls=[f"{site}/sitemap.xml"])
    process.start()
    return Everything.pages + 2  # robots.txt and the sitemap


def granted(kept: dict[str, int], requests: int) -> bool:
    """Save the requests of a turn; say whether they pay for a crawl.

    >>> kept = {"saved": 0, "cost": 30}
    >>> granted(kept, 20), granted(kept, 20), kept["saved"]
    (False, True, 40)
    """
    kept["saved"] += requests
    return kept["saved"] >= kept["cost"]


def main(site: str, requests: int, folder: Path) -> None:
    """Save requests, or crawl; the first crawl is free."""
    path = folder / "saved.json"
    if not path.is_file():
        kept = {"saved": 0, "cost": crawl(site)}
    else:
        kept = json.loads(path.read_text())
        if granted(kept, requests):
            kept["cost"] = crawl(site)
            kept["saved"] -= kept["cost"]
    path.write_text(json.dumps(kept))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[4]))
