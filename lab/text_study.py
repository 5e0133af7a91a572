"""The study of ``halflife study --text``, of some databases or intervals only.

``python -m lab.text_study FOLDER OUT`` writes it into OUT and prints the rules side by
side; ``--sites N`` takes the first N databases only, ``--every 10,40`` those intervals.
"""

import argparse
import sys
import time
from pathlib import Path

from halflife.bench.texts import write
from halflife.bench.textviews import EVERIES
from halflife.recordings.textdb import load


def main(arguments: list[str] | None = None) -> None:
    """Write the study."""
    parser = argparse.ArgumentParser(prog="python -m lab.text_study")
    parser.add_argument("folder", type=Path, help="weekly recordings of databases")
    parser.add_argument("out", type=Path, help="where to write")
    parser.add_argument("--sites", type=int, help="the first so many databases only")
    parser.add_argument(
        "--every",
        type=lambda words: [float(word) for word in words.split(",")],
        default=EVERIES,
        help="weeks between refreshes, on average",
    )
    options = parser.parse_args(arguments)
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - began:6.0f} s  {what}\n")

    whole = load(options.folder)
    weekly = whole.select(whole.sites[: options.sites]) if options.sites else whole
    written = write(weekly, options.out, say, options.every)
    sys.stdout.write(written["texts.md"])


if __name__ == "__main__":
    main()
