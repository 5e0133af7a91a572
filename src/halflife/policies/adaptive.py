"""What the crawlers in use do: one interval an item, moved by each look.

Nutch and StormCrawler multiply an item's interval down when it changed and up
when it did not. The interval comes to rest where a look finds a change with a
fixed chance, so looks are proportional to change rates: the worse of the two
classic rules (see ``proportional``). The constants are those they ship with.
Here they are given the best of it: the whole budget is spent, earliest due
first, also on items not due yet.
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
