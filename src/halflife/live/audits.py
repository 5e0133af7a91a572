"""What a look at a source without pages tells of the forecasts made before it."""

from halflife.config import SourceConfig
from halflife.live.audit_sets import audit_set
from halflife.live.audit_texts import audit_summary
from halflife.live.keeping import Outcome
from halflife.live.listings import Looked
from halflife.live.rechecking import Checked
from halflife.live.summarizing import Summarized
from halflife.live.upkeeping import Turned
from halflife.stores import Store


def score(
    store: Store,
    source: SourceConfig,
    result: Outcome | Looked | Turned | Summarized | Checked,
) -> None:
    """Give forecasts their outcomes, as far as what was seen of a source tells them.

    A look at a listing, a new summary and a check of one are audits by themselves.
    Pages and forms are audited by what is drawn at random of them.
    """
    if isinstance(result, Looked):
        audit_set(store, source.name, result.run)
    elif isinstance(result, Summarized | Checked):
        audit_summary(store, source)
