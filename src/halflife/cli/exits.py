"""The exit codes of the program."""

from halflife.core.errors import (
    AlreadyRunning,
    BudgetSpent,
    ConfigError,
    HalflifeError,
    HeldForDecision,
    UsageError,
)

FINE = 0
FAILURE = 1
USAGE = 2  # the command line or the settings cannot be used as written
BELOW_TARGET = 3  # the copy is less fresh than its target
SOME_FAILED = 4  # some sources did not answer; the others were kept
HELD = 5  # a sync waits for a decision
SPENT = 6  # no request is left in this window
RUNNING = 7  # another process is keeping the same source
INTERRUPTED = 130  # SIGINT
TERMINATED = 143  # SIGTERM

_OF_ERROR: tuple[tuple[type[HalflifeError], int], ...] = (
    (ConfigError, USAGE),
    (UsageError, USAGE),
    (BudgetSpent, SPENT),
    (AlreadyRunning, RUNNING),
    (HeldForDecision, HELD),
)


def code_of(error: HalflifeError) -> int:
    """Return the exit code that an error ends the program with.

    >>> code_of(BudgetSpent("none left")), code_of(HalflifeError("anything else"))
    (6, 1)
    """
    return next((code for kind, code in _OF_ERROR if isinstance(error, kind)), FAILURE)
