"""Verbs for setting up: init, policies."""

from dataclasses import asdict

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json


@app.command()
def init(*, config: ConfigPath = None, json: Json = False) -> None:
    """Write a commented halflife.toml; never overwrites one."""
    from halflife.config import Config, edit

    path = Config.find(config)
    edit.init(path)
    if json:
        show.emit({"config": str(path)})
    else:
        show.say(f"wrote {path}; next: halflife add URL")


@app.command()
def policies(*, json: Json = False) -> None:
    """List the policies that can be named in settings and replays."""
    from halflife import plugins

    policies = plugins.describe_policies()
    if json:
        rows = [{"policy": p.name, **asdict(p)} for p in policies]
        show.emit({"results": rows})
        return
    show.table(
        [
            {
                "kind": p.kind,
                "policy": f"{p.name} (default)" if p.default else p.name,
                "about": p.about,
                "paper": p.paper,
            }
            for p in policies
        ]
    )
