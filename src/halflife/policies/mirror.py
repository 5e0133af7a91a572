"""MirrorSync: frequencies learned from their gains, without a model of change.

Kolobov, Bubeck and Zimmert, "Online learning for active cache synchronization",
ICML 2020; see ``halflife.belief.mirror``.
"""

from halflife.belief.mirror import MirrorSync
from halflife.policies import Strategy
from halflife.policies.dates import due_first

mirror_sync = Strategy(
    due_first,
    MirrorSync,
    "MirrorSync: a few probes show which pages deserve more fetches.",
    "Kolobov, Bubeck and Zimmert 2020, ICML",
)
