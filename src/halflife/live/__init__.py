"""From settings to a running system: what the surfaces share."""

from typing import TYPE_CHECKING

from halflife.late import late

if not TYPE_CHECKING:
    # What listings, forms and searches take: much to import, and not all have any;
    # and what judges how sources are, after the first turn.
    __getattr__ = late(
        __name__,
        "audit_forms",
        "audits",
        "conditions",
        "drifting",
        "form_worths",
        "forming",
        "listings",
        "rechecking",
        "rhythms",
        "selecting",
        "summarizing",
        "upkeeping",
    )
