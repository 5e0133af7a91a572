"""A process that puts a copy in the place of a state file, to be killed on the way."""

import sys
from pathlib import Path

from halflife.stores import backup

if __name__ == "__main__":
    copy, path, now = sys.argv[1:]
    backup.restore(Path(copy), Path(path), float(now))
