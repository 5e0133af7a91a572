"""A plug-in as pip would install it: its package, and a folder of metadata."""

import shutil
import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def entry_points(example: str = "oai") -> dict[str, str]:
    """Return the kinds that an example brings."""
    project = tomllib.loads((EXAMPLES / example / "pyproject.toml").read_text())
    return project["project"]["entry-points"]["halflife.kinds"]


def install(folder: Path, example: str = "oai") -> Path:
    """Put an example into a folder that is to be on the path."""
    package = f"halflife_{example}"
    shutil.copytree(EXAMPLES / example / package, folder / package)
    info = folder / f"{package}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: halflife-{example}\nVersion: 0.1.0\n"
    )
    points = "".join(f"{k} = {v}\n" for k, v in entry_points(example).items())
    (info / "entry_points.txt").write_text(f"[halflife.kinds]\n{points}")
    return folder
