"""Crawlers of several makes play by the protocol of served worlds."""

import shutil
from importlib.util import find_spec

import pytest

from halflife.worlds.make import make
from lab.entries import ENTRIES, EntryRules, nutch_rule, play
from missing_programs import reason

RULES = EntryRules(site="site00", days=1, requests=24, turns=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("world")
    make(place, ("sites",), seed=2, size=0.03)
    return place


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_crawls_everything_once_and_stays_within_its_requests(folder, name):
    if name == "cron-curl" and not shutil.which("curl"):
        pytest.skip(reason("curl"))
    if name == "scrapy-timer" and not find_spec("scrapy"):
        pytest.skip("needs halflife[scrapy]")
    row = play(folder, ENTRIES[name], RULES)
    assert row["client"] == name
    assert row["fetched"] == row["items"] == 74
    assert row["freshness"] > 0.9
    first = 74 + 2  # robots.txt and the sitemap
    assert 74 < row["requests"] <= first + 12 + 1


def test_the_rule_of_nutch_on_a_page_worked_by_hand():
    page = {"interval": 10.0, "modified": 0.0, "due": 0.0}
    nutch_rule.schedule(page, 4.0, changed=False)
    # 10 * 1.4, next fetch 14 days after 4 - 0.3 * 4
    assert page["interval"] == pytest.approx(14.0)
    assert page["due"] == pytest.approx(4.0 - 1.2 + 14.0)
    nutch_rule.schedule(page, 16.8, changed=True)
    assert page["interval"] == pytest.approx(11.2)
    assert page["due"] == pytest.approx(28.0)
    nutch_rule.schedule(page, 116.8, changed=False)
    assert page["interval"] == pytest.approx(100.0)  # as long as it was quiet
