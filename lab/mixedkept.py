"""What the self-audit of a service said beside what was true, and targets kept.

``kept`` lets the service spend no more than targets ask for in an open world; another
run of the same world is compared with it by its ``Played``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from halflife.config import Config
from halflife.core.arrays import Floats
from halflife.engine import audit_report, targets as engine_targets
from halflife.models.audit import audited_share as share_found
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.sqlite import SqliteStore
from lab.mixedtime import Passing
from lab.mixedworld import BEGAN, DAYS, TRAIN, Played, Stage, Wanted

AUDIT = 0.05  # the share of each turn of pages that is drawn by lot


def audits(played: Played, begin: float) -> list[dict[str, Any]]:
    """Return what the audits of a run said of each source, and what was true.

    ``begin`` is when the run began, in days since the world did. ``audited`` is the
    quality that its own checks found, with the interval.
    """
    found = []
    with SqliteStore.open(played.store) as store:
        now, since = BEGAN + float(played.at[-1]), BEGAN + begin
        kept = Forecasts(store)
        for name, quality in played.quality.items():
            judged = audit_report.judge(store, name, now)
            checks = kept.checks(name, since)
            row: dict[str, Any] = {
                "source": name,
                "truth": float(np.mean(quality)),
                "checked": int(checks.at.size),
                "trust": judged.trust.factor,
                "alarms": sum(at >= since for at, _ in judged.alarms),
                **_covered(kept.made(name, since), played.at + BEGAN, quality),
            }
            if checks.at.size:
                said = share_found(checks.fresh, checks.chance, checks.weight)
                row["audited"] = said._asdict()
                row["truth_inside"] = said.low <= row["truth"] <= said.high
            found.append(row)
    return found


def _covered(made: list[IssuedForecast], at: Floats, quality: Floats) -> dict[str, Any]:
    """Return how often forecasts of the run held the truth when they were due."""
    due = [one for one in made if at[0] <= one.due <= at[-1]]
    inside = []
    for one in due:
        truth = quality[max(int(np.searchsorted(at, one.due, side="right")) - 1, 0)]
        inside.append(one.low <= truth <= one.high)
    share = float(np.mean(inside)) if inside else None
    return {"forecasts": len(due), "forecasts_true": share}


def kept(
    stage: Stage,
    targets: Mapping[str, str],
    requests: float,
    *,
    learning: float = TRAIN,
    passing: Passing | None = None,
) -> tuple[Played, list[dict[str, Any]]]:
    """Let a service spend no more than targets ask for; return how they were kept.

    ``targets`` are as the settings write them, by source; ``requests`` are those a day
    that it may spend at most. It has its targets from the beginning, and is judged
    after some days of ``learning``. A row a source: the share of moments at which the
    level was kept, those since the service got it, the mean, what audits said beside
    the truth, and the requests a day that the plan says the target needs: when it is
    first judged, and last.
    """
    keys = {name: f'target = "{target}"' for name, target in targets.items()}
    wanted = Wanted(requests, mode="targets", keys=keys, audit=AUDIT)
    time = passing or Passing(DAYS)
    first = replace(time, days=learning)
    before = stage.begin("learning", wanted, first)
    needed = planned_needs(before.store, targets)
    played = stage.play("targets", wanted, before.store, time, begin=learning)
    last = planned_needs(played.store, targets)
    said = {row["source"]: row for row in audits(played, learning)}
    config = Config.load(played.store.parent / "halflife.toml")
    rows = []
    for source in config.source:
        asked = engine_targets.level(source)
        quality = played.quality[source.name]
        row = said[source.name] | {"target": targets.get(source.name, "")}
        if asked is not None:
            row["level"] = asked[0]
            row["kept"] = float(np.mean(quality >= asked[0]))
            both = np.concatenate([before.quality[source.name], quality])
            row["kept_since_it_was_set"] = float(np.mean(both >= asked[0]))
            row["needed_at_first"] = needed[source.name]
            row["needed_at_last"] = last[source.name]
        rows.append(row)
    return played, rows


def planned_needs(path: Path, names: Iterable[str]) -> dict[str, float | None]:
    """Return the requests a day that targets need by the plan; None if none do."""
    with SqliteStore.open(path) as store:
        found = {name: engine_targets.recall(store, name).needed for name in names}
    return {name: need if isfinite(need) else None for name, need in found.items()}
