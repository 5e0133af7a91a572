"""Programs that a machine may lack: which tests need them, and how to get them.

A test that needs one skips with ``reason(program)``; at the end ``pytest`` prints how
many tests each has cost (``summary``).
"""

from collections import Counter

PACKAGES = {
    "chromium": "chromium",
    "curl": "curl",
    "openssl": "openssl",
    "patch": "patch",
    "PostgreSQL": "postgresql",
    "strace": "strace",
}  # of Debian


def reason(program, more=""):
    """Return why a test is skipped.

    >>> reason("strace", "or it may not trace here")
    'needs strace (apt-get install strace), or it may not trace here'
    """
    needs = f"needs {program} (apt-get install {PACKAGES[program]})"
    return f"{needs}, {more}" if more else needs


def summary(reasons):
    """Return a line for each thing that was missing, with the tests it has cost.

    >>> for line in summary(["needs b (apt-get install b)"] * 2 + ["too slow"]):
    ...     print(line)
    skipped: needs b (apt-get install b): 2 tests
    """
    counted = Counter(one for one in reasons if one.startswith("needs "))
    for needs, many in counted.most_common():
        yield f"skipped: {needs}: {many} test{'s' if many > 1 else ''}"


def skip_reasons(reports):
    """Return why tests were skipped, from their reports."""
    for report in reports:
        if isinstance(report.longrepr, tuple):
            yield report.longrepr[2].removeprefix("Skipped: ")
