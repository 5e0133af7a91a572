"""A Scrapy add-on: spiders that revisit pages where it buys most, within a budget.

Three lines in the settings of a Scrapy project::

    ADDONS = {"halflife.scrapy.Addon": 500}
    HALFLIFE_BUDGET = "7000/week"
    HALFLIFE_STATE = "halflife.db"

The spider stays as it is. The pages that it requests are fetched by the engine of
``halflife sync``: same store, belief, policies, page guard and budget; Scrapy sends
the requests. Nothing here imports Scrapy before Scrapy has loaded the add-on.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_HERE = "halflife.scrapy."
COMPONENTS = {
    "EXTENSIONS": {f"{_HERE}revisits.Revisits": 0},
    # Next to the engine: requests that other middlewares drop are not registered.
    "SPIDER_MIDDLEWARES": {f"{_HERE}middlewares.PageRequests": 10},
    "DOWNLOADER_MIDDLEWARES": {
        # Gets answers after redirects, retries and decompression.
        f"{_HERE}middlewares.Answers": 545,
        # Next to the downloader: every request that is sent is paid, and no other.
        f"{_HERE}middlewares.Payment": 950,
    },
}


class Addon:
    """The add-on that ``ADDONS`` names; it registers the components of Scrapy."""

    def update_settings(self, settings: "BaseSettings") -> None:
        """Add the extension and the middlewares, unless the project placed them."""
        for name, parts in COMPONENTS.items():
            for path, order in parts.items():
                settings[name].setdefault(path, order)
