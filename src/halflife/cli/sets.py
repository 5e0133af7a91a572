"""Answers of verbs about set sources, as plain values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from halflife.cli import show, words
from halflife.config import Config, SourceConfig
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection
from halflife.core.wording import count
from halflife.engine import (
    audit_report,
    bootstrap,
    held_answers,
    rhythms,
    stored_sources,
)
from halflife.engine.appraisal import Appraiser
from halflife.engine.bound_widening import FULL, Trust
from halflife.engine.quality_forecast import quality_now
from halflife.kinds.registry import kind_of
from halflife.models.rhythm import FLAT, Rhythm
from halflife.stores import Store
from halflife.stores.notes.held_removals import HELD_REMOVALS, HeldRemovals

if TYPE_CHECKING:
    from halflife.core.arrays import Bools

UNKNOWN = frozenset({"no look yet", "one look only", "nothing held"})  # of a forecast
METRICS = ("precision", "recall", "gone", "new")
_ESTIMATES = {"gone": "gone_estimate"}  # names that ``status`` has for them


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question about a set source as of a time.

    Attributes:
        collection: Its history up to then, of the selected objects alone.
        now: The time of the question, in days.
        trust: How far forecasts were trusted then.
        rhythm: At which hours it changes; flat for a time in the past.
        renewed: When its newer objects were read last; ``-inf`` if never.
        waits: Removals that wait for a decision; None if there are none.

    """

    collection: Collection
    now: float
    trust: Trust = FULL
    rhythm: Rhythm = FLAT
    renewed: float = -math.inf
    waits: HeldRemovals | None = None

    @classmethod
    def of(
        cls,
        collection: Collection,
        since: str | None,
        where: str | None,
        config: Config,
    ) -> Self:
        """Return the question as of a date; raise ``UsageError`` if it is too early."""
        name, fetched = collection.name, collection.looks
        if not fetched.size:
            if len(collection.lives):
                raise UsageError(
                    f"{name} was never synced in full, and forecasts of sets rest on "
                    f"full syncs; `halflife forecast {name} --target Q` says how soon "
                    "to sync it"
                )
            raise UsageError(f"{name} was never fetched; import or sync it")
        now = words.moment("--from", since) if since else float(fetched[-1])
        if now < fetched[0]:
            raise UsageError(
                f"--from: {name} was not fetched before {since}; "
                f"the first fetch was at {show.date(fetched[0])}"
            )
        with bootstrap.reading(config) as store:
            trust = audit_report.trust(store, name, now)
            # The rhythm known at an earlier time is not stored.
            rhythm = rhythms.rhythm(store, name) if since is None else FLAT
            renewed = _renewed(config, store, name)
            waits = HELD_REMOVALS.load(store, name) if since is None else None
        selected = select_objects(collection, where)
        return cls(selected.until(now), now, trust, rhythm, renewed, waits)

    def own_days(self, ahead: Sequence[float]) -> list[float]:
        """Convert days from now to days of the source's rhythm."""
        if self.rhythm.flat:
            return list(ahead)
        now = np.array(self.now)
        return [float(d) for d in self.rhythm.between(now, now + np.array(ahead))]

    def wait(self, own: float) -> float:
        """Convert days of the source's rhythm to days from now."""
        if self.rhythm.flat or not math.isfinite(own):
            return own
        then = self.rhythm.time(np.array(self.now)) + own
        return max(float(self.rhythm.moment_of(then)) - self.now, 0.0)

    @property
    def copied(self) -> float:
        """The time of the fetch that made the copy, in days."""
        return float(self.collection.looks[-1])

    @property
    def head(self) -> dict[str, object]:
        """The first fields of every answer."""
        return {
            "source": self.collection.name,
            "from": show.date(self.now),
            "copied": show.date(self.copied),
            "held": int(self.collection.in_copy().size),
            "trust": self.trust.factor,
            **self.undecided,
        }

    @property
    def undecided(self) -> dict[str, object]:
        """The removals that wait for a decision; nothing if there are none."""
        return {} if self.waits is None else {"held_removals": self.waits.missing}

    def is_held(self, ahead: Sequence[float]) -> "Bools":
        """Return at which times ahead removals wait for a decision."""
        since = math.inf if self.waits is None else self.waits.at
        return self.now + np.asarray(ahead, np.float64) >= since


def _renewed(config: Config, store: Store, name: str) -> float:
    """Return when newer objects of a listing were read last; ``-inf`` if never."""
    own = [source for source in config.source if source.name == name]
    return kind_of(own[0]).read_until(store, own[0]) if own else -math.inf


def select_objects(collection: Collection, where: str | None) -> Collection:
    """Return the objects of a set source that match a filter; raise ``UsageError``."""
    if where is None:
        return collection
    from halflife.core import filters

    matches = filters.parse(where)(collection.lives.attributes)
    if not matches.any():
        raise UsageError(f"--where: no object of {collection.name} matches: {where}")
    return collection.select(matches)


def load_settings(given: Path | None, *, verbose: bool = False) -> Config:
    """Return the settings, or the defaults if there is no settings file here."""
    path = Config.find(given)
    if given is None and not path.exists() and path == Path(path.name):
        if verbose:
            show.note(f"there is no {path} here; using halflife.db in this folder")
        return Config(path=path)
    return Config.load(path)


def load_collection(config: Config, name: str) -> Collection:
    """Return the stored history of a set source; raise ``UsageError``."""
    with bootstrap.reading(config) as store:
        names = store.collections()
        if name in names:
            return store.collection(name)
    if name in set_names(config):
        raise UsageError(f"{name} was never fetched; run `halflife sync {name}`")
    kinds = {source.name: source.kind for source in config.source}
    if name in kinds:
        raise UsageError(
            f"{name} is of kind {kinds[name]!r}, and this is for set sources; "
            f"`halflife forecast {name} --target Q` says how soon to sync it"
        )
    place = config.store_name.rpartition("/")[2]
    if not names:
        raise UsageError(
            f"no set source is named {name!r}: {place} holds none; "
            "see `halflife import --help`"
        )
    raise UsageError(
        f"no set source is named {name!r} in {place}; it has {', '.join(names)}"
    )


def stored_collection(name: str) -> Collection | None:
    """Return the set source of that name in the default store, if there is one."""
    with bootstrap.reading(load_settings(None)) as store:
        return store.collection(name) if name in store.collections() else None


def set_names(config: Config) -> list[str]:
    """Return the names of the set sources in the settings."""
    return [s.name for s in config.source if "recall" in s.measures]


def read_question(
    name: str, config: Path | None, since: str | None, where: str | None
) -> SetQuestion:
    """Return the question about a set source as of a date; raise ``UsageError``."""
    settings = load_settings(config)
    return SetQuestion.of(load_collection(settings, name), since, where, settings)


def summary(collection: Collection) -> dict[str, object]:
    """Return the size of a history: fetches, objects, updates and dates."""
    fetched, lives = collection.looks, collection.lives
    return {
        "source": collection.name,
        "looks": int(fetched.size),
        "objects": int(lives.object.max(initial=-1)) + 1,
        "spells": len(lives),
        "gone": int(lives.ended.sum()),
        "updates": int(collection.changed.size),
        "first_look": show.date(fetched[0]) if fetched.size else None,
        "last_look": show.date(fetched[-1]) if fetched.size else None,
    }


def stored_names(
    store: Store, chosen: Sequence[SourceConfig], *, everything: bool
) -> list[str]:
    """Return the names of the chosen set sources in the store, or of all in it."""
    names = store.collections()
    wanted = {source.name for source in chosen}
    return [name for name in names if everything or name in wanted]


def status_rows(
    config: Config,
    store: Store,
    names: Sequence[str],
    chosen: Sequence[SourceConfig],
    now: float,
) -> list[dict[str, object]]:
    """Return the estimated quality of the copy of each set source now.

    A row is computed from the lifetimes of its objects where its kind forecasts by
    them, and from the forecast of its kind elsewhere. ``names`` are histories in the
    store; imported ones have no settings.
    """
    appraiser = Appraiser(config, store, now)
    kept = {source.name: source for source in stored_sources.everything(config, store)}
    by_kind = {s.name: s for s in chosen if kind_of(s).lifetimes(store, s) is None}
    rows = [
        _row_of(appraiser, by_kind.pop(name))
        if name in by_kind
        else _listing_row(appraiser, kept[name])
        for name in names
    ]
    return [*rows, *(_row_of(appraiser, source) for source in by_kind.values())]


def _row_of(appraiser: Appraiser, source: SourceConfig) -> dict[str, object]:
    """Return the status of a source by the description and forecast of its kind."""
    about = kind_of(source).describe(appraiser.state(source))
    row: dict[str, object] = {"source": source.name, "held": about.items}
    row["gone"] = about.gone
    waits = HELD_REMOVALS.load(appraiser.store, source.name)
    row |= {} if waits is None else {"held_removals": waits.missing}
    cast = quality_now(appraiser, source)
    if cast is None:
        return {**row, "why": about.why}
    quality = show.figure(cast.mean[0], cast.low[0], cast.high[0])
    row |= {cast.measure: quality, "last_look": show.date(about.last)}
    return {**row, "why": about.note} if about.note else row


def _listing_row(appraiser: Appraiser, source: SourceConfig) -> dict[str, object]:
    """Return the estimated quality of the copy of a listing now.

    Recall is the number that every surface states (``engine.quality_forecast``).
    """
    from halflife.kinds.listing.runner import incomplete

    store, name, now = appraiser.store, source.name, appraiser.now
    collection = store.collection(name)
    row: dict[str, object] = {
        "source": name,
        "held": int(collection.in_copy().size),
        "gone": int(collection.gone().size),
    }
    if not collection.looks.size:
        why = incomplete(store, name)
        reason = f"incomplete: {why}" if why else "it was never read whole"
        return {**row, "why": show.plain(reason)}
    trust, rhythm = appraiser.trust(source), rhythms.rhythm(store, name)
    question = SetQuestion(
        collection,
        float(collection.looks[-1]),
        trust,
        rhythm,
        waits=HELD_REMOVALS.load(store, name),
    )
    cast = forecast_rows(question, [max(now - question.now, 0.0)], 0.95)[0]
    # ``gone`` counts objects seen to be gone; more of those held may have gone since.
    quality = {_ESTIMATES.get(metric, metric): cast[metric] for metric in METRICS}
    if (current := quality_now(appraiser, source)) is not None:
        band = current.mean[0], current.low[0], current.high[0]
        quality["recall"] = show.figure(*band)
    row |= {**quality, "last_look": show.date(question.copied), **question.undecided}
    imported = not stored_sources.has_address(source)
    return {**row, "why": stored_sources.WHY} if imported else row


def waiting_rows(store: Store) -> list[dict[str, object]]:
    """Return the answers that wait for a decision, and the commands for it."""
    return [
        {
            "source": held.source,
            "run": held.run,
            "why": show.plain(held.why),
            "todo": held.todo,
        }
        for held in held_answers.pending_answers(store)
    ]


def chosen_collection(names: Sequence[str], given: Path | None) -> Collection | None:
    """Return the set source that is named; None for pages. Raise ``UsageError``."""
    if not names:
        return None
    config = load_settings(given)
    with bootstrap.reading(config) as store:
        sets = {*store.collections(), *set_names(config)}
    if sets & set(names):
        if len(names) > 1:
            raise UsageError("a set source is forecast alone; name no other beside it")
        return load_collection(config, names[0])
    if config.source:
        config.named(names)  # raises if the settings name no such source
    wrong = set(names) - {source.name for source in config.source}
    return load_collection(config, min(wrong)) if wrong and sets else None


def print_forecast(
    question: SetQuestion,
    rows: list[dict[str, object]],
    confidence: float,
    *,
    json: bool,
) -> None:
    """Print a forecast."""
    if json:
        head = {**question.head, "confidence": confidence}
        show.emit({**head, **single_row(rows), "results": rows})
        return
    for row in rows:
        row.update({metric: object_count(row[metric]) for metric in ("gone", "new")})
        del row["days"]
        status = row.pop("status")
    show.table([show.flat(row) for row in rows])
    if status != "ok":
        show.note(f"note: {status}")
    if question.waits is not None:
        text = count(question.waits.missing, "object")
        show.note(f"note: a decision is awaited whether {text} of the copy are gone")


def forecast_rows(
    question: SetQuestion,
    ahead: Sequence[float],
    confidence: float,
    *,
    fresh: bool = False,
) -> list[dict[str, object]]:
    """Return the forecast quality of the copy, a row for each time ahead.

    With ``fresh`` also the share of its objects that are present and unchanged.
    """
    from halflife.cli.set_bands import quality_bands

    bands, status = quality_bands(question, ahead, confidence, fresh=fresh)
    rows = []
    for i, wait in enumerate(ahead):
        row: dict[str, object] = {
            "in": show.span(wait) if wait > 0 else "now",
            "days": wait,
            "at": show.date(question.now + wait),
        }
        for metric, value in bands.items():
            row[metric] = show.figure(value.mean[i], value.low[i], value.high[i])
        row["status"] = status
        rows.append(row)
    return rows


def object_count(figure: object) -> str:
    """Return a number of objects with its bounds, as text.

    >>> object_count({"mean": 12.3, "low": 7.8, "high": 20.1})
    '12 [8, 20]'
    """
    assert isinstance(figure, Mapping)
    mean, low, high = (round(figure[part]) for part in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def single_row(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """Return the row to repeat at the top of an answer, if it is the only one."""
    return dict(rows[0]) if len(rows) == 1 else {}


def parse_target(precision: float | None, recall: float | None) -> tuple[str, float]:
    """Return the metric to keep and its lowest level; raise ``UsageError``."""
    given = [("precision", precision), ("recall", recall)]
    wanted = [(metric, level) for metric, level in given if level is not None]
    if len(wanted) != 1:
        raise UsageError("say what to keep: either --precision Q or --recall Q")
    ((metric, level),) = wanted
    return metric, words.share(f"--{metric}", level)


def when_row(
    question: SetQuestion, metric: str, level: float, confidence: float
) -> dict[str, object]:
    """Return how soon the lower bound of a metric falls below a level.

    It is 0 days where the forecast has no data: its bounds are then 0 and 1.
    """
    from halflife.models.setquality import days_until_below, forecast

    history, now, doubt = question.collection, question.now, question.trust.factor
    status = forecast(history, now, [0.0]).status
    if history.looks.size < 2 or status == "nothing held":
        days = 0.0
    else:
        wait = days_until_below(history, now, metric, level, confidence, doubt=doubt)
        days = math.inf if wait is None else question.wait(wait)
        if metric == "precision" and question.waits is not None:
            days = 0.0 if 1.0 - question.waits.share < level else days
    return {
        "status": status,
        "metric": metric,
        "level": level,
        "confidence": confidence,
        "days": days,
        "date": show.date(question.now + days),
    }


def verdict(
    question: SetQuestion, metric: str, level: float, row: dict[str, object]
) -> str:
    """Return a sentence that says how soon to sync."""
    days = float(str(row["days"]))
    sure = f"at {row['confidence']:.0%} confidence"
    copy = f"{question.collection.name}, copied {show.date(question.copied)}"
    if math.isinf(days):
        return f"{copy}: {metric} stays at {level:g} or above, as far as can be seen"
    if row["status"] in UNKNOWN:
        return (
            f"{copy}: how fast it changes is not known yet ({row['status']}), so "
            f"{metric} may be below {level:g} at once; sync again"
        )
    if days <= 0:
        return f"{copy}: {metric} may fall below {level:g} at once, {sure}"
    return (
        f"{copy}: sync within {show.span(days)}, by {row['date']}, "
        f"to keep {metric} at {level:g} or above {sure}"
    )


def backtest_rows(
    question: SetQuestion, horizons: Sequence[float], confidence: float
) -> list[dict[str, object]]:
    """Return the score of each model's forecasts, by metric and horizon."""
    from halflife.replay.backtest import backtest

    return [dict(row) for row in backtest(question.collection, horizons, confidence)]


def explain_unscored(question: SetQuestion, horizons: Sequence[float]) -> str:
    """Return why no past forecast with these horizons can be scored."""
    name, fetched = question.collection.name, question.collection.looks
    spans = ", ".join(show.span(days) for days in horizons)
    if fetched.size < 2:
        return f"no forecast {spans} ahead can be scored: {name} was fetched once"
    step, whole = float(np.median(np.diff(fetched))), float(np.ptp(fetched))
    return (
        f"no forecast {spans} ahead can be scored: {name} was fetched every "
        f"{show.span(step)}, for {show.span(whole)} in all; a horizon must be as long "
        "as the first, and shorter than the second"
    )
