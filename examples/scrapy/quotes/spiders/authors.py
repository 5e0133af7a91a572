"""The spider of the Scrapy tutorial that follows links to authors."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import Response


class AuthorSpider(scrapy.Spider):
    """Reads the quotes of each page, and the authors they lead to."""

    name = "authors"
    address = "https://quotes.toscrape.com/"  # or another: scrapy crawl -a address=...

    async def start(self) -> AsyncIterator[Any]:
        """Begin at the first page."""
        yield scrapy.Request(self.address)

    def parse(self, response: Response) -> Iterator[Any]:
        """Read a page of quotes."""
        for quote in response.css("div.quote"):
            yield {
                "text": quote.css("span.text::text").get(),
                "author": quote.css("small.author::text").get(),
            }
        yield from response.follow_all(css=".author + a", callback=self.parse_author)
        yield from response.follow_all(css="li.next a", callback=self.parse)

    def parse_author(self, response: Response) -> Iterator[Any]:
        """Read the page of an author."""
        yield {
            "name": response.css("h3.author-title::text").get(default="").strip(),
            "birthdate": response.css(".author-born-date::text").get(),
        }
