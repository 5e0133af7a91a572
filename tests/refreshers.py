"""Refreshers of known records, by the name of their rule."""

from halflife.queries.known.query_loop import ALPHA
from halflife.queries.known.refresh import make_refresher
from halflife.queries.known.rules import KnownOracle
from halflife.queries.policies import KNOWN


def refresher(copy, interface, name="index"):
    """Return a refresher of a copy; only tests and replays have an oracle."""
    rule = KnownOracle() if name == "oracle" else KNOWN[name].make(ALPHA)
    return make_refresher(copy, interface, rule)
