"""The schedules of common crawlers: one interval per item, adapted at each fetch.

Nutch and StormCrawler shorten an item's interval when it changed and lengthen it when
it did not. The interval converges where a fetch finds a change with a fixed chance, so
fetches are proportional to change rates: the worse of the two classic rules (see
``proportional``). The constants are the shipped ones. In favour of these rules the
whole budget is spent, earliest due first, even on items that are not due yet.
"""

from functools import partial

from halflife.belief.due import DueDates, IntervalRule
from halflife.policies import Strategy
from halflife.policies.dates import due_first
from halflife.policies.simple import by_rate

# Apache Nutch 1.x, AdaptiveFetchSchedule with conf/nutch-default.xml.
NUTCH = IntervalRule(
    start=30.0, grow=1.4, shrink=0.8, shortest=60 / 86400, longest=365.0, sync_delta=0.3
)
# Apache StormCrawler, AdaptiveScheduler with crawler-default.yaml.
STORMCRAWLER = IntervalRule(
    start=1.0, grow=1.5, shrink=0.5, shortest=1 / 24, longest=14.0, pull=0.5
)


nutch = Strategy(
    due_first,
    partial(DueDates, NUTCH),
    "Apache Nutch's AdaptiveFetchSchedule with the constants it ships.",
    "Apache Nutch 1.x, nutch-default.xml",
    pace=by_rate,
)
stormcrawler = Strategy(
    due_first,
    partial(DueDates, STORMCRAWLER),
    "Apache StormCrawler's AdaptiveScheduler with the constants it ships.",
    "Apache StormCrawler, crawler-default.yaml",
    pace=by_rate,
)
