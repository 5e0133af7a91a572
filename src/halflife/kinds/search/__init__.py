"""Text databases behind a search box, kept as summaries."""

from typing import TYPE_CHECKING

from halflife.core.lazy_import import lazy_modules

if not TYPE_CHECKING:  # not everybody has such a source, and these are slow to import
    __getattr__ = lazy_modules(__name__, "audit", "check", "runner", "selection")
