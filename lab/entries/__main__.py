"""Print the table of crawlers in the same world."""

import argparse
import sys
from dataclasses import fields

from lab.entries import ENTRIES, EntryRules, table


def main() -> None:
    """Play the clients that were named, and print how each did."""
    parser = argparse.ArgumentParser(prog="lab.entries")
    parser.add_argument("clients", nargs="*", default=list(ENTRIES))
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--size", type=float, default=0.03)
    for one in fields(EntryRules):
        if one.name != "faults":
            parser.add_argument(f"--{one.name}", type=type(one.default),
                                default=one.default)  # fmt: skip
    parser.add_argument("--faults", default="")
    given = vars(parser.parse_args())
    names, seed, size = (given.pop(name) for name in ("clients", "seed", "size"))
    given["faults"] = tuple(filter(None, given["faults"].split(",")))
    sys.stdout.write("client        freshness  current  fetched  requests_a_day\n")
    for row in table(names, EntryRules(**given), seed, size):
        sys.stdout.write(
            f"{row['client']:13} {row['freshness']:9.3f} {row['current']:8.3f} "
            f"{row['fetched']:8} {row['requests_a_day']:15.1f}\n"
        )


if __name__ == "__main__":
    main()
