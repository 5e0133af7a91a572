"""Every error halflife raises on purpose.

HalflifeError
    ConfigError       the settings cannot be used as written
        SettingsChanged somebody else has changed them in the meantime
    UsageError        the call names something that does not exist
        NothingRecorded a history has no item in the days to be played
    NotFitted         a model was used before it was fitted
    PolicyError       a policy failed, or chose what cannot be chosen
    StoreError        the state file cannot be used
        TooNew        a newer halflife wrote it
        Damaged       it is not, or no longer, a halflife file
    AlreadyRunning    another process holds the lease on a source
    LeaseLost         our lease was taken over; nothing more may be written under it
    BudgetSpent       no request is left to spend
    ExecutorError     work could not be done by other processes or machines
    HeldForDecision   an answer would remove too much; a person has to decide
    SourceError       a remote source did not answer as it should
        Refused       we must not fetch it (robots.txt, a forbidden address, 401, 403)
            NotPublic its address is not public, and the settings do not allow it
        Unreachable   it did not answer, or not in full; worth trying later
        Mishandled    our code failed on the answer: a bug, contained to one item
"""


class HalflifeError(Exception):
    """Base class: catch this to catch everything halflife raises on purpose."""


class ConfigError(HalflifeError):
    """The settings cannot be used as written."""


class SettingsChanged(ConfigError):
    """The settings differ from those for which a change was made."""


class UsageError(HalflifeError):
    """The call names something that does not exist."""


class NothingRecorded(UsageError):
    """A history has no item in the days to be played."""


class NotFitted(HalflifeError):
    """A model was asked for a prediction before ``fit`` was called."""


class PolicyError(HalflifeError):
    """A policy failed, or chose what cannot be chosen; only its sources are affected.

    Args:
        policy: The name of the policy.
        why: What went wrong, in words that follow its name.

    """

    def __init__(self, policy: str, why: str = "failed") -> None:
        super().__init__(f"policy {policy!r} {why}")
        self.policy = policy


class StoreError(HalflifeError):
    """The state file cannot be used."""


class TooNew(StoreError):
    """A newer halflife wrote the state file."""


class Damaged(StoreError):
    """The state file is not, or no longer, a halflife file."""


class AlreadyRunning(HalflifeError):
    """Another process holds the lease on a source."""


class LeaseLost(HalflifeError):
    """Our lease was taken over; nothing more may be written under it."""


class BudgetSpent(HalflifeError):
    """No request is left to spend."""


class ExecutorError(HalflifeError):
    """Other processes or machines could not be reached, or died while working."""


class HeldForDecision(HalflifeError):
    """An answer would remove more than is credible; it waits for a decision."""


class SourceError(HalflifeError):
    """A remote source did not answer as it should."""


class Refused(SourceError):
    """We must not fetch it: robots.txt, a forbidden address, or the source said so."""


class NotPublic(Refused):
    """The address is not a public one, and the settings do not allow its network."""


class Unreachable(SourceError):
    """The source did not answer, or not in full; a later try may succeed."""


class Mishandled(SourceError):
    """Our code failed on an answer; a bug to report, which affects one item only."""
