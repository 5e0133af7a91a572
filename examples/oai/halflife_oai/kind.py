"""The kind ``oai``: a listing that is harvested from a repository."""

from collections.abc import Sequence
from functools import partial

from halflife.kinds.listing.kind import ListingKind
from halflife.kinds.listing.runner import Read
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.protocol import Desk
from halflife.recognition.guess import SourceGuess, TrialAnswer
from halflife.recordings.relations import Relation
from halflife.stores import Store
from halflife_oai.harvest import harvest
from halflife_oai.recognition import recognise
from halflife_oai.recorded_source import RecordedRepository, recorded
from halflife_oai.settings import OaiConfig


class OaiKind(ListingKind):
    """Repositories that speak OAI-PMH 2.0."""

    Settings = OaiConfig

    def recognise(self, answer: TrialAnswer) -> Sequence[SourceGuess]:
        """Return how the answer of a repository could be kept."""
        return recognise(answer)

    def read(self, desk: Desk, source: ListingConfig) -> Read:
        """Return how a repository is harvested."""
        return partial(harvest, store=desk.store, source=OaiConfig.of(source))

    def recorded(
        self, store: Store, source: ListingConfig
    ) -> RecordedRepository | None:
        """Return what was harvested as a recording."""
        return recorded(store, source)

    def replayed(self, name: str, relation: Relation) -> RecordedRepository:
        """Return a recorded history of objects as a repository."""
        return RecordedRepository(name, relation)


KIND = OaiKind()
