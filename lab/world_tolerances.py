"""How close made-up worlds come to the histories that they are like.

``python -m lab.world_tolerances DIR`` compares the statistics of a folder that
``halflife world make`` wrote with the published ones, and prints a table. Statistics
that grow with the world, such as how many pages there are, are not compared.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from halflife.worlds.calibration import calibration
from lab.world_summary import world_summary

# By which factor a statistic may be off, up or down; for shares near 0 or 1, which are
# marked by a leading sign, by how much.
SITES: dict[str, float | str] = {
    "pages_a_site.3": 1.3,
    "small_commits_a_site.3": 1.3,
    "small_commits_a_site.5": 1.3,
    "large_commits_a_site.4": 1.6,
    "small_size.6": 1.5,
    "large_size.3": 1.4,
    "changes_a_page": 1.6,
    "never": "+0.15",
    "never_small": "+0.1",
    "in_large": "+0.15",
    "half_on": 1.8,
    "weekday.1": "+0.03",
    "weekday.5": "+0.02",
    "commit_again.hour": "+0.08",
    "commit_again.day": "+0.12",
    "page_again.day": "+0.1",
    "page_again.month": "+0.15",
    "adjacent.small": "+0.1",
    "adjacent.large": "+0.15",
    "busiest_tenth": "+0.12",
    "born": 1.3,
    "died": 1.3,
}
TEXTS: dict[str, float | str] = {
    "terms_a_document.3": 1.4,
    "terms_a_document.5": 1.4,
    "versions_a_page": 1.6,
    "ur_5.mean": "+0.01",
    "ur_25.mean": "+0.04",
    "kl_25.mean": 2.0,
}
OBJECTS: dict[str, float | str] = {
    "looks_a_day": 1.2,
    "deaths": 1.3,
    "updates": 1.3,
    "batch": 1.5,
    "weekday.1": "+0.06",
    "weekday.6": "+0.06",
}
KEPT = {"precision": "+0.08", "recall": "+0.08"}


RARELY = 0.8  # looks a day below which weekdays and batches are those of the looks


class Compared(NamedTuple):
    """One statistic: as it was recorded, as it was made, and how far it may be off."""

    name: str
    recorded: float
    made: float
    allowed: str
    close: bool


def compared(made: Mapping[str, Any]) -> Iterator[Compared]:
    """Yield the statistics of a summary beside the published ones."""
    known = calibration()
    for part, table in (("sites", SITES), ("texts", TEXTS)):
        if part in made:
            yield from _rows(part, known[part], made[part], table)
    for kind, told in made.get("objects", {}).items():
        rules: dict[str, float | str] = dict(OBJECTS)
        if known["objects"][kind]["looks_a_day"] < RARELY:
            rules = {n: v for n, v in rules.items() if not n.startswith("weekday")}
            del rules["batch"]  # what comes between rare looks looks like one batch
        rules |= {
            f"kept.{lag}.{measure}": allowed
            for lag in told["kept"]
            for measure, allowed in KEPT.items()
        }
        yield from _rows(f"objects.{kind}", known["objects"][kind], told, rules)


def _rows(
    part: str,
    known: Mapping[str, Any],
    made: Mapping[str, Any],
    rules: Mapping[str, float | str],
) -> Iterator[Compared]:
    for name, allowed in rules.items():
        one, two = _at(known, name), _at(made, name)
        if isinstance(allowed, str):
            close, word = abs(one - two) <= float(allowed), f"± {float(allowed):g}"
        elif one == 0.0:
            close, word = two < 1e-3, "below 0.001"
        else:
            close = one / allowed <= two <= one * allowed
            word = f"factor {allowed:g}"
        yield Compared(f"{part}.{name}", one, two, word, close)


def _at(told: Any, name: str) -> float:  # noqa: ANN401  (any JSON)
    """Return the number at a path; keys of lags may hold a dot themselves."""
    if not name:
        return float(told)
    if isinstance(told, list):
        return float(told[int(name)])
    key = next(key for key in told if name == key or name.startswith(f"{key}."))
    return _at(told[key], name[len(key) + 1 :])


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if something is off."""
    parser = argparse.ArgumentParser(prog="lab.world_tolerances")
    parser.add_argument("folder", type=Path)
    rows = list(compared(world_summary(parser.parse_args(words).folder)))
    write = sys.stdout.write
    write("| statistic | recorded | made | allowed |\n|---|---|---|---|\n")
    for row in rows:
        mark = "" if row.close else " **off**"
        write(
            f"| `{row.name}` | {row.recorded:.4g} | {row.made:.4g}{mark} |"
            f" {row.allowed} |\n"
        )
    return int(not all(row.close for row in rows))


if __name__ == "__main__":
    sys.exit(main())
