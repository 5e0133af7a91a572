"""Keep local copies of remote web data fresh on a budget of requests."""

from importlib import import_module

__version__ = "0.1.0"
__all__ = ["HalflifeError", "Response", "Session", "allocate", "listing"]
_WHERE = {
    "HalflifeError": "halflife.core.errors",
    "Response": "halflife.kinds.listing.function",
    "Session": "halflife.kinds.listing.function",
    "allocate": "halflife.allocation",
    "listing": "halflife.kinds.listing.function",
}  # imported when it is first asked for, so that a start is quick


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'halflife' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
