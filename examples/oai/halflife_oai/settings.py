"""Settings of repositories: ``kind = "oai"``."""

from typing import Literal, Self

from pydantic import Field, model_validator

from halflife.kinds.listing.settings import ListingConfig

# The protocol itself says where records are, and how a list goes on.
UNUSED = frozenset({
    "complete", "fields", "format", "group_request", "key", "next", "page_url",
    "python", "records", "urls",
})  # fmt: skip


class OaiConfig(ListingConfig):
    """Where a repository is, and what is harvested from it."""

    kind: Literal["oai"] = "oai"  # type: ignore[assignment]
    metadata_prefix: str = Field(default="oai_dc", pattern=r"^[A-Za-z0-9_.!~*'()-]+$")
    set: str = Field(default="", pattern=r"^[A-Za-z0-9_.!~*'():-]*$")
    # A record may get its date before it can be listed; so long before is asked again.
    overlap_hours: float = Field(default=1.0, ge=0, le=8760, allow_inf_nan=False)

    @model_validator(mode="after")
    def _keys_mean_something(self) -> Self:
        if odd := sorted(self.model_fields_set & UNUSED):
            raise ValueError(f"{', '.join(odd)}: of no use to a repository of OAI-PMH")
        if self.url is None:
            raise ValueError("a repository needs url, its base URL")
        return self

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """What decides how answers are read."""
        return self.url, self.metadata_prefix, self.set
