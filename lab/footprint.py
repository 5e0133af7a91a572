"""What an installation of the core takes: ``python -m lab.footprint``.

Counts what halflife requires without extras, and what that requires in turn, as it is
installed here; sizes are those of the files that each package brings.
"""

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

_NAME = re.compile(r"[A-Za-z0-9._-]+")
MB = 1e6


def required(name: str = "halflife") -> dict[str, int]:
    """Return the packages that one requires, all the way down, with their bytes."""
    found: dict[str, int] = {}
    waiting = _asked_for(distribution(name))
    while waiting:
        package = waiting.pop()
        key = package.lower().replace("_", "-")
        if key in found:
            continue
        try:
            one = distribution(package)
        except PackageNotFoundError:  # for another system, or another Python
            continue
        found[key] = sum(file.size or 0 for file in one.files or ())
        waiting += _asked_for(one)
    return found


def _asked_for(one: Distribution) -> list[str]:
    plain = [text for text in one.requires or () if "extra ==" not in text]
    return [match.group() for text in plain if (match := _NAME.match(text))]


def main() -> None:
    """Print how many packages there are, their size, and that of the largest."""
    found = required()
    largest = sorted(found, key=lambda name: -found[name])[:2]
    told = {
        "packages": len(found),
        "megabytes": round(sum(found.values()) / MB),
        "largest": {name: round(found[name] / MB) for name in largest},
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
