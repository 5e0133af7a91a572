"""The engine: it decides, works, records, audits and alerts."""

from typing import TYPE_CHECKING

from halflife.core.lazy_import import late

if not TYPE_CHECKING:  # needed after the first turn, or for some kinds of source only
    __getattr__ = late(__name__, "audit", "rhythms", "source_health")
