"""A plain Scrapy crawl with a JOBDIR; the rival of ``kill9.py``.

The front page links to every page, so the frontier lives in Scrapy's queue, as
it does in any real crawl. Each page is appended to a file as it comes in.
"""

import hashlib
import json
import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):
    """Follows every link of the front page."""

    name = "pages"

    def __init__(self, address: str, folder: str) -> None:
        super().__init__()
        self.start_urls = [f"{address}/"]
        self.out = (Path(folder) / "pages.jsonl").open("a", buffering=1)

    def parse(self, response):  # noqa: ANN001, ANN201
        """Ask for every page."""
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.keep)

    def keep(self, response) -> None:  # noqa: ANN001
        """Write a page down."""
        digest = hashlib.blake2b(response.body, digest_size=16).hexdigest()
        self.out.write(json.dumps({"url": response.url, "digest": digest}) + "\n")


if __name__ == "__main__":
    process = CrawlerProcess(
        {
            "JOBDIR": f"{sys.argv[2]}/job",
            "ROBOTSTXT_OBEY": False,
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Pages, address=sys.argv[1], folder=sys.argv[2])
    process.start()
