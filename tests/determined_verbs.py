"""What verbs say of one folder at one time; run with different hash seeds."""

import sys
import time
from pathlib import Path

VERBS = (
    ("plan", "--top", "50"),
    ("plan", "--top", "20", "simulated"),
    ("whatif", "--budget", "900"),
    ("whatif", "--budget", "90", "--per", "hour"),
    ("budget",),
    ("status",),
)


def main(folder: Path) -> None:
    settings = folder / "halflife.toml"
    then = settings.stat().st_mtime + 86400.0
    time.time = lambda: then
    from halflife import cli  # noqa: PLC0415  (after the clock was stopped)

    for words in VERBS:
        print("#", *words, flush=True)  # noqa: T201
        code = cli.main([*words, "--json", "--config", str(settings)])
        print("# ends with", code, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
