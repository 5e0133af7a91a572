"""Keep local copies of remote web data fresh on a budget of requests."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflife.allocation import allocate as allocate
    from halflife.config import SourceConfig as SourceConfig
    from halflife.core.change import Change as Change
    from halflife.core.errors import HalflifeError as HalflifeError
    from halflife.core.forecast import Forecast as Forecast
    from halflife.engine.what_if import WhatIf as WhatIf
    from halflife.kinds.listing.function import (
        Response as Response,
        Session as Session,
        listing as listing,
    )
    from halflife.kinds.protocol import (
        Description as Description,
        Kind as Kind,
        Report as Report,
        Step as Step,
        Worker as Worker,
    )
    from halflife.policies import Policy as Policy, Strategy as Strategy
    from halflife.project import (
        Project as Project,
        SourceStatus as SourceStatus,
        changes as changes,
        forecast as forecast,
        open_project as open_project,
        plan as plan,
        records as records,
        replay_store as replay_store,
        status as status,
        sync as sync,
        what_if as what_if,
    )
    from halflife.recordings.item_parts import allocate_folder as allocate_folder
    from halflife.replay.recorded_source import RecordedSource as RecordedSource
    from halflife.stores import Store as Store

__version__ = "0.1.0"
__all__ = [
    "Change",
    "Description",
    "Forecast",
    "HalflifeError",
    "Kind",
    "Policy",
    "Project",
    "RecordedSource",
    "Report",
    "Response",
    "Session",
    "SourceConfig",
    "SourceStatus",
    "Step",
    "Store",
    "Strategy",
    "WhatIf",
    "Worker",
    "allocate",
    "allocate_folder",
    "changes",
    "forecast",
    "listing",
    "open_project",
    "plan",
    "records",
    "replay_store",
    "status",
    "sync",
    "what_if",
]
_HOMES = {
    "halflife.allocation": ("allocate",),
    "halflife.config": ("SourceConfig",),
    "halflife.core.change": ("Change",),
    "halflife.core.errors": ("HalflifeError",),
    "halflife.core.forecast": ("Forecast",),
    "halflife.engine.what_if": ("WhatIf",),
    "halflife.kinds.listing.function": ("Response", "Session", "listing"),
    "halflife.kinds.protocol": ("Description", "Kind", "Report", "Step", "Worker"),
    "halflife.policies": ("Policy", "Strategy"),
    "halflife.project": (
        "Project",
        "SourceStatus",
        "changes",
        "forecast",
        "open_project",
        "plan",
        "records",
        "replay_store",
        "status",
        "sync",
        "what_if",
    ),
    "halflife.recordings.item_parts": ("allocate_folder",),
    "halflife.replay.recorded_source": ("RecordedSource",),
    "halflife.stores": ("Store",),
}  # imported at first use, so that a start is quick
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'halflife' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
