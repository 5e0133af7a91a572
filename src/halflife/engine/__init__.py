"""The engine: it decides, works, records, audits and alerts."""

from typing import TYPE_CHECKING

from halflife.core.lazy_import import lazy_modules

if not TYPE_CHECKING:  # needed after the first turn, or for some kinds of source only
    __getattr__ = lazy_modules(__name__, "audit", "rhythms", "source_health")
