"""The first queries of a turn of a form, without sending any."""

from halflife.engine import rhythms
from halflife.kinds.form.client import corrected
from halflife.kinds.form.runner import load_copy, planned


def planned_queries(store, source, now, most, known=None):
    """Return them best first; ``known`` is the copy, if it was read already."""
    copy = load_copy(store, source) if known is None else known
    rhythm = rhythms.rhythm(store, source.name)
    how = corrected(store, source)
    return planned(copy, how.interface, rhythm, source, (now, most))
