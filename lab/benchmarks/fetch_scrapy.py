"""A Scrapy spider that fetches the pages of ``fetch.py``; run by Scrapy's Python.

Arguments: port, number of pages, concurrency, folder to write to.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):
    """Fetches pages, parses them and writes a line for each."""

    name = "pages"

    def __init__(self, port: str, pages: str, folder: str) -> None:
        super().__init__()
        address = f"http://127.0.0.1:{port}/page"
        self.start_urls = [f"{address}/{number}" for number in range(int(pages))]
        self.out = (Path(folder) / "pages.jsonl").open("w")
        self.done = 0

    def parse(self, response) -> None:  # noqa: ANN001
        """Take the fingerprint of the text and write it down."""
        text = response.xpath("//text()[not(parent::script or parent::style)]").getall()
        digest = hashlib.blake2b("".join(text).encode(), digest_size=16).hexdigest()
        self.out.write(json.dumps({"url": response.url, "digest": digest}) + "\n")
        self.done += 1


if __name__ == "__main__":
    port, pages, concurrency, folder = sys.argv[1:]
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "CONCURRENT_REQUESTS": int(concurrency),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(concurrency),
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(Pages)
    began, wall = time.process_time(), time.perf_counter()
    process.crawl(crawler, port=port, pages=pages, folder=folder)
    process.start()
    took = {"cpu_s": time.process_time() - began, "wall_s": time.perf_counter() - wall}
    print(json.dumps({"pages": crawler.spider.done, **took}))
