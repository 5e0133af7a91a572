"""What a look at a source without pages tells of the forecasts made before it."""

from halflife.config import SourceConfig
from halflife.kinds.form.runner import Turned
from halflife.kinds.listing.audit import audit_set
from halflife.kinds.listing.runner import Looked
from halflife.kinds.pages.runner import Outcome
from halflife.kinds.search.audit import audit_summary
from halflife.kinds.search.check import Checked
from halflife.kinds.search.runner import Summarized
from halflife.kinds.search.settings import SearchConfig
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
        audit_summary(store, SearchConfig.of(source))
