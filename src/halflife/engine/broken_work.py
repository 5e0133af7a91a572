"""Reports on work that ended in an error."""

from dataclasses import replace

from halflife.core.errors import HalflifeError
from halflife.kinds.protocol import Group, Report
from halflife.readers.containment import failure, is_mishandled


def report(names: Group, error: BaseException, where: str) -> Report:
    """Return the report on work that ended with an error.

    ``where`` names the address, for errors of the program.
    """
    if isinstance(error, HalflifeError | OSError) or not isinstance(error, Exception):
        return failed_report(names, str(error))
    return replace(failed_report(names, str(failure(error, where))), heard=True)


def failed_report(names: Group, trouble: str) -> Report:
    """Return the report on work that failed with this error text."""
    mine = names if is_mishandled(trouble) else ()
    return Report(
        names,
        trouble=trouble,
        mishandled=dict.fromkeys(mine, trouble),
        failures=dict.fromkeys(names, int(bool(trouble))),
    )
