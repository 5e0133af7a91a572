"""A plug-in as pip would install it: its package, and a folder of metadata."""

import shutil
import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def _project(example: str) -> dict:
    return tomllib.loads((EXAMPLES / example / "pyproject.toml").read_text())["project"]


def entry_points(example: str = "oai") -> dict[str, str]:
    """Return the kinds that an example brings."""
    return _project(example)["entry-points"]["halflife.kinds"]


def install(folder: Path, example: str = "oai") -> Path:
    """Put an example into a folder that is to be on the path."""
    project = _project(example)
    module = project["name"].replace("-", "_")
    home = EXAMPLES / example
    if (home / module).is_dir():
        shutil.copytree(home / module, folder / module)
    else:
        shutil.copy(home / f"{module}.py", folder)
    info = folder / f"{module}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\n"
        f"Name: {project['name']}\nVersion: {project['version']}\n"
    )
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in found.items())
        for group, found in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points)
    return folder
