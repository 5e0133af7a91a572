"""Crawls in processes of their own, which may be killed; Scrapy is imported once."""

import json
import multiprocessing
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[1] / "examples" / "scrapy"
PRELOADED = [
    "halflife.scrapy.middlewares",
    "scrapy.core.engine",
    "scrapy.crawler",
    "scrapy.downloadermiddlewares.cookies",
    "scrapy.extensions.feedexport",
    "scrapy.squeues",
]  # none of which chooses a reactor
QUIET = {
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "ADDONS": {"halflife.scrapy.Addon": 500},
}


def begin(folder: Path, address: str, **settings: Any) -> BaseProcess:
    """Begin to crawl a site; what the spider reads goes to files in the folder."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    given = {**QUIET, "HALFLIFE_STATE": str(folder / "halflife.db"), **settings}
    process = context.Process(target=_crawl, args=(str(folder), address, given))
    process.start()
    return process


def crawl(folder: Path, address: str, **settings: Any) -> dict[str, Any]:
    """Crawl a site; return the stats of the crawl, without their prefix."""
    process = begin(folder, address, **settings)
    process.join(60)
    assert process.exitcode == 0
    stats: dict[str, Any] = json.loads((folder / "stats.json").read_text())
    return stats


def read(folder: Path) -> list[str]:
    """Return the addresses that callbacks have read to the end, in order."""
    path = folder / "read.txt"
    return path.read_text().splitlines() if path.exists() else []


def _crawl(folder: str, address: str, settings: dict[str, Any]) -> None:
    sys.path.insert(0, str(EXAMPLE))
    from quotes.spiders.authors import AuthorSpider  # noqa: PLC0415
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415

    class Spider(AuthorSpider):
        """Writes down which pages it has read."""

        trouble = settings.pop("trouble", "")

        def parse(self, response):
            yield from super().parse(response)
            self.note(response)

        def parse_author(self, response):
            if self.trouble and response.url.endswith(self.trouble):
                raise RuntimeError("the spider does not understand")
            yield from super().parse_author(response)
            self.note(response)

        def note(self, response):
            with Path(folder, "read.txt").open("a") as file:
                file.write(response.url + "\n")

    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Spider)
    process.crawl(crawler, address=f"{address}/")
    process.start()
    stats = crawler.stats.get_stats()
    short = {k.partition("/")[2]: v for k, v in stats.items() if k[:9] == "halflife/"}
    short["items"] = stats.get("item_scraped_count", 0)
    short["reason"] = stats.get("finish_reason")
    done = Path(folder, "stats.json.part")
    done.write_text(json.dumps(short))
    done.replace(Path(folder, "stats.json"))
