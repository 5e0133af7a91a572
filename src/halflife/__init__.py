"""Keep local copies of remote web data fresh on a budget of requests."""

__version__ = "0.1.0"
