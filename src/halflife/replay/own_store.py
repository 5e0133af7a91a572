"""A user's own store as a recording: what was observed, as if it were all there was."""

from collections.abc import Sequence

from halflife.config import Config, SourceConfig
from halflife.core.errors import UsageError
from halflife.kinds.form import client as form_client
from halflife.kinds.form.recorded import RecordedForm
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing.recorded import RecordedListing
from halflife.kinds.pages.recorded import RecordedPages, recording_of
from halflife.recordings.registers import relation_of
from halflife.replay.recorded_source import RecordedSource
from halflife.stores import Store


def recorded_sources(
    config: Config, store: Store, names: Sequence[str] = ()
) -> list[RecordedSource]:
    """Return the sources of a store that can be replayed; ``names`` picks some.

    Raise ``UsageError`` if one that was named cannot be: of searches only summaries are
    kept, and they do not tell which document held which word.
    """
    found: list[RecordedSource] = []
    for source in config.named(names):
        recorded = _recorded(store, source)
        if recorded is not None:
            found.append(recorded)
        elif names:
            raise UsageError(
                f"{source.name}: the store does not hold what a replay of it needs; "
                "replay a recorded folder"
            )
    return found


def _recorded(store: Store, source: SourceConfig) -> RecordedSource | None:
    name = source.name
    if source.has_pages:
        history = store.history((name,))
        if not history.at.size:
            return None
        span = float(history.at.min()), float(history.at.max())
        return RecordedPages(name, recording_of(history), span)
    if name not in store.collections():
        return None
    relation = relation_of(store.register(name), name)
    if isinstance(source, FormConfig):
        interface = form_client.interface(source)
        purpose = "known" if source.purpose == "known" else "new"
        return RecordedForm(name, relation, interface, purpose, source.differs_by)
    return RecordedListing(name, relation)
