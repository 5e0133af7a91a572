"""What verbs say of set sources, as plain values."""

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
from halflife.engine import (
    audit_report,
    bootstrap,
    held_answers,
    rhythms,
    stored_sources,
)
from halflife.engine.appraisal import Appraiser
from halflife.engine.bound_widening import FULL, Trust
from halflife.engine.quality_forecast import quality_now, stated
from halflife.kinds.registry import kind_of
from halflife.models.rhythm import FLAT, Rhythm
from halflife.stores import Store

if TYPE_CHECKING:
    from halflife.models.setquality import Band

UNKNOWN = frozenset({"no look yet", "one look only", "nothing held"})  # of a forecast
METRICS = ("precision", "recall", "gone", "new")
_ESTIMATES = {"gone": "gone_estimate"}  # names that ``status`` has for them


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """Which set source is asked about, and as of when.

    Attributes:
        collection: What was known of it by then, of the wanted objects alone.
        now: When the question is asked, in days.
        trust: How far forecasts were trusted then.
        rhythm: When in the day it changes, if it is asked now.
        renewed: When all that is newer was read last; ``-inf`` if never.

    """

    collection: Collection
    now: float
    trust: Trust = FULL
    rhythm: Rhythm = FLAT
    renewed: float = -math.inf

    @classmethod
    def of(
        cls, known: Collection, since: str | None, where: str | None, config: Config
    ) -> Self:
        """Return what was known at a date; raise ``UsageError`` if that is nothing."""
        looks = known.looks
        if not looks.size:
            if len(known.lives):
                raise UsageError(
                    f"{known.name} was never synced in full, and forecasts of sets "
                    "rest on full syncs; `halflife status` says how good its copy is"
                )
            raise UsageError(f"{known.name} was never fetched; import or sync it")
        now = words.moment("--from", since) if since else float(looks[-1])
        if now < looks[0]:
            raise UsageError(
                f"--from: {known.name} was not fetched before {since}; "
                f"the first fetch was at {show.date(looks[0])}"
            )
        with bootstrap.reading(config) as store:
            trust = audit_report.trust(store, known.name, now)
            # Of an earlier moment nobody knows any more what was known of the hours.
            rhythm = rhythms.rhythm(store, known.name) if since is None else FLAT
            renewed = _renewed(config, store, known.name)
        return cls(picked(known, where).until(now), now, trust, rhythm, renewed)

    def own(self, ahead: Sequence[float]) -> list[float]:
        """Return how many of the source's own days pass in so many days from now."""
        if self.rhythm.flat:
            return list(ahead)
        now = np.array(self.now)
        return [float(d) for d in self.rhythm.between(now, now + np.array(ahead))]

    def wait(self, own: float) -> float:
        """Return in how many days so many of the source's own have passed."""
        if self.rhythm.flat or not math.isfinite(own):
            return own
        then = self.rhythm.time(np.array(self.now)) + own
        return max(float(self.rhythm.moment_of(then)) - self.now, 0.0)

    @property
    def copied(self) -> float:
        """The look at which the copy was made, in days."""
        return float(self.collection.looks[-1])

    @property
    def head(self) -> dict[str, object]:
        """What every answer begins with."""
        return {
            "source": self.collection.name,
            "from": show.date(self.now),
            "copied": show.date(self.copied),
            "held": int(self.collection.in_copy().size),
            "trust": self.trust.factor,
        }


def _renewed(config: Config, store: Store, name: str) -> float:
    """Return when all that is newer of a listing was read last; ``-inf`` if never."""
    named = [source for source in config.source if source.name == name]
    return kind_of(named[0]).read_until(store, named[0]) if named else -math.inf


def picked(known: Collection, where: str | None) -> Collection:
    """Return the wanted objects of a set source alone; raise ``UsageError``."""
    if where is None:
        return known
    from halflife.core import filters

    wanted = filters.parse(where)(known.lives.attributes)
    if not wanted.any():
        raise UsageError(f"--where: no object of {known.name} is such: {where}")
    return known.select(wanted)


def settings(given: Path | None, *, aloud: bool = False) -> Config:
    """Return the settings, or those of an empty file if there is none here."""
    path = Config.find(given)
    if given is None and not path.exists() and path == Path(path.name):
        if aloud:
            show.note(f"there is no {path} here; using halflife.db in this folder")
        return Config(path=path)
    return Config.load(path)


def known(config: Config, name: str) -> Collection:
    """Return what the store holds of a set source; raise ``UsageError``."""
    with bootstrap.reading(config) as store:
        names = store.collections()
        if name in names:
            return store.collection(name)
    if name in listings(config):
        raise UsageError(f"{name} was never fetched; run `halflife sync {name}`")
    place = config.store_name.rpartition("/")[2]
    if not names:
        raise UsageError(
            f"no set source is named {name!r}: {place} holds none; "
            "see `halflife import --help`"
        )
    raise UsageError(
        f"no set source is named {name!r} in {place}; it has {', '.join(names)}"
    )


def stored(name: str) -> Collection | None:
    """Return the set source of that name in the store that is used here, if any."""
    with bootstrap.reading(settings(None)) as store:
        return store.collection(name) if name in store.collections() else None


def listings(config: Config) -> list[str]:
    """Return the names of the set sources in the settings."""
    return [s.name for s in config.source if "recall" in s.measures]


def ask(
    name: str, config: Path | None, since: str | None, where: str | None
) -> SetQuestion:
    """Return what the store knew of a set source at a date; raise ``UsageError``."""
    here = settings(config)
    return SetQuestion.of(known(here, name), since, where, here)


def summary(collection: Collection) -> dict[str, object]:
    """Return what a history holds, in numbers."""
    looks, lives = collection.looks, collection.lives
    return {
        "source": collection.name,
        "looks": int(looks.size),
        "objects": int(lives.object.max(initial=-1)) + 1,
        "spells": len(lives),
        "gone": int(lives.ended.sum()),
        "updates": int(collection.changed.size),
        "first_look": show.date(looks[0]) if looks.size else None,
        "last_look": show.date(looks[-1]) if looks.size else None,
    }


def named(
    store: Store, chosen: Sequence[SourceConfig], *, everything: bool
) -> list[str]:
    """Return the set sources that are asked about; imported ones have no settings."""
    there = store.collections()
    wanted = {source.name for source in chosen}
    return [name for name in there if everything or name in wanted]


def status_rows(
    config: Config,
    store: Store,
    names: Sequence[str],
    chosen: Sequence[SourceConfig],
    now: float,
) -> list[dict[str, object]]:
    """Return what the copy of each set source is believed to be worth now.

    The row follows from the lifetimes of its objects where its kind forecasts by
    these, and from the forecast of its kind elsewhere. ``names`` are histories in the
    store; some were imported and have no settings.
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
    """Return what a kind says of one of its sources."""
    told = kind_of(source).describe(appraiser.state(source))
    row: dict[str, object] = {
        "source": source.name,
        "held": told.items,
        "gone": told.gone,
    }
    cast = quality_now(appraiser, source)
    if cast is None:
        return {**row, "why": told.why}
    worth = show.figure(cast.mean[0], cast.low[0], cast.high[0])
    row |= {cast.measure: worth, "last_look": show.date(told.last)}
    return {**row, "why": told.note} if told.note else row


def _listing_row(appraiser: Appraiser, source: SourceConfig) -> dict[str, object]:
    """Return what the copy of a listing is believed to be worth now.

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
        said = f"incomplete: {why}" if why else "it was never read whole"
        return {**row, "why": show.plain(said)}
    trust, rhythm = appraiser.trust(source), rhythms.rhythm(store, name)
    asked = SetQuestion(collection, float(collection.looks[-1]), trust, rhythm)
    cast = forecast_rows(asked, [max(now - asked.now, 0.0)], 0.95)[0]
    # ``gone`` counts what is known; of what we hold, more may have gone since.
    worth = {_ESTIMATES.get(metric, metric): cast[metric] for metric in METRICS}
    if (one := quality_now(appraiser, source)) is not None:
        worth["recall"] = show.figure(one.mean[0], one.low[0], one.high[0])
    row |= {**worth, "last_look": show.date(asked.copied)}
    imported = not stored_sources.has_address(source)
    return {**row, "why": stored_sources.WHY} if imported else row


def waiting_rows(store: Store) -> list[dict[str, object]]:
    """Return the answers that wait for somebody's decision, and what to type."""
    return [
        {
            "source": one.source,
            "run": one.run,
            "why": show.plain(one.why),
            "todo": one.todo,
        }
        for one in held_answers.waiting(store)
    ]


def meant(names: Sequence[str], given: Path | None) -> Collection | None:
    """Return the set source that is meant; None if pages are. Raise ``UsageError``."""
    if not names:
        return None
    config = settings(given)
    with bootstrap.reading(config) as store:
        sets = {*store.collections(), *listings(config)}
    if sets & set(names):
        if len(names) > 1:
            raise UsageError("a set source is forecast alone; name no other beside it")
        return known(config, names[0])
    wrong = set(names) - {source.name for source in config.source}
    return known(config, min(wrong)) if wrong and sets else None


def only_for_sets(since: str | None, where: str | None, confidence: float) -> None:
    """Raise ``UsageError`` if options of set sources were given for pages."""
    given = {"--from": since, "--where": where}
    given["--confidence"] = None if confidence == 0.95 else str(confidence)
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option}: only the forecast of a set source takes this")


def only_for_pages(target: float | None) -> None:
    """Raise ``UsageError`` if an option of pages was given for a set source."""
    if target is not None:
        raise UsageError("--target: is for pages; ask `halflife when NAME --recall Q`")


def tell_forecast(
    asked: SetQuestion, rows: list[dict[str, object]], confidence: float, *, json: bool
) -> None:
    """Print a forecast."""
    if json:
        head = {**asked.head, "confidence": confidence}
        show.emit({**head, **only(rows), "results": rows})
        return
    for row in rows:
        row.update({metric: counted(row[metric]) for metric in ("gone", "new")})
        del row["days"]
        status = row.pop("status")
    show.table([show.flat(row) for row in rows])
    if status != "ok":
        show.note(f"mind: {status}")


def forecast_rows(
    asked: SetQuestion,
    ahead: Sequence[float],
    confidence: float,
    *,
    fresh: bool = False,
) -> list[dict[str, object]]:
    """Return what a copy made then is worth so much later, a row for each time.

    With ``fresh`` also the share of it that is there unchanged.
    """
    from halflife.models.setquality import forecast, versions

    own = asked.own(ahead)
    cast = forecast(asked.collection, asked.now, own, confidence)
    unchanged = cast.precision
    if fresh and asked.collection.changed.size:
        each = versions(asked.collection)
        unchanged = forecast(each, asked.now, own, confidence).precision
    most = {"gone": float(cast.size), "new": math.inf}
    bands = {m: _doubted(asked, getattr(cast, m), most.get(m, 1.0)) for m in METRICS}
    bands["recall"] = _recalled(asked, own, confidence)
    unchanged = _doubted(asked, unchanged, 1.0)
    rows = []
    for i, wait in enumerate(ahead):
        row: dict[str, object] = {
            "in": show.span(wait) if wait > 0 else "now",
            "days": wait,
            "at": show.date(asked.now + wait),
        }
        for metric in METRICS:
            value = bands[metric]
            row[metric] = show.figure(value.mean[i], value.low[i], value.high[i])
        if fresh:
            still = unchanged.mean[i], unchanged.low[i], unchanged.high[i]
            row["freshness"] = show.figure(*still)
        row["status"] = cast.status
        rows.append(row)
    return rows


def _doubted(asked: SetQuestion, band: "Band", most: float) -> "Band":
    """Return bounds as wide as they have to be, given how far they are trusted."""
    low, high = asked.trust.band(*band, most=most)
    return band._replace(low=low, high=high)


def _recalled(asked: SetQuestion, own: Sequence[float], confidence: float) -> "Band":
    """Return the recall that every surface states (``engine.quality_forecast``)."""
    from halflife.core.forecast import Forecast
    from halflife.models.recall_curve import recall
    from halflife.models.setquality import Band

    ages = asked.now - asked.copied + np.asarray(own, np.float64)
    later = asked.renewed - asked.copied
    if later > 0:  # what came until then is in the copy
        ages = np.where(ages >= later, ages - later, ages)
    order = np.argsort(ages, kind="stable")
    band = recall(asked.collection, ages[order], confidence)
    cast = stated(Forecast("recall", ages[order], *band, confidence), asked.trust)
    back = np.argsort(order)
    return Band(cast.mean[back], cast.low[back], cast.high[back])


def counted(figure: object) -> str:
    """Return a number of objects with its bounds, as people write it.

    >>> counted({"mean": 12.3, "low": 7.8, "high": 20.1})
    '12 [8, 20]'
    """
    assert isinstance(figure, Mapping)
    mean, low, high = (round(figure[part]) for part in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def only(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """Return the one row there is, to stand at the top of an answer too."""
    return dict(rows[0]) if len(rows) == 1 else {}


def target(precision: float | None, recall: float | None) -> tuple[str, float]:
    """Return which metric to keep, and at least how high; raise ``UsageError``."""
    given = [("precision", precision), ("recall", recall)]
    wanted = [(metric, level) for metric, level in given if level is not None]
    if len(wanted) != 1:
        raise UsageError("say what to keep: either --precision Q or --recall Q")
    ((metric, level),) = wanted
    return metric, words.share(f"--{metric}", level)


def when_row(
    asked: SetQuestion, metric: str, level: float, confidence: float
) -> dict[str, object]:
    """Return how soon the lower bound of a metric falls below a level.

    At once where the forecast has nothing to go by: its bounds are then 0 and 1.
    """
    from halflife.models.setquality import days_until_below, forecast

    known, now, doubt = asked.collection, asked.now, asked.trust.factor
    status = forecast(known, now, [0.0]).status
    if known.looks.size < 2 or status == "nothing held":
        days = 0.0
    else:
        wait = days_until_below(known, now, metric, level, confidence, doubt=doubt)
        days = math.inf if wait is None else asked.wait(wait)
    return {
        "status": status,
        "metric": metric,
        "level": level,
        "confidence": confidence,
        "days": days,
        "date": show.date(asked.now + days),
    }


def verdict(
    asked: SetQuestion, metric: str, level: float, row: dict[str, object]
) -> str:
    """Say how soon to sync."""
    days = float(str(row["days"]))
    sure = f"at {row['confidence']:.0%} confidence"
    copy = f"{asked.collection.name}, copied {show.date(asked.copied)}"
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
    asked: SetQuestion, horizons: Sequence[float], confidence: float
) -> list[dict[str, object]]:
    """Return how each model's forecasts fared, by metric and horizon."""
    from halflife.replay.backtest import backtest

    return [dict(row) for row in backtest(asked.collection, horizons, confidence)]


def why_untold(asked: SetQuestion, horizons: Sequence[float]) -> str:
    """Say why no past forecast so far ahead can be held to account."""
    looks = asked.collection.looks
    said = ", ".join(show.span(days) for days in horizons)
    if looks.size < 2:
        return f"nothing is known of {said}: {asked.collection.name} was seen once"
    step, whole = float(np.median(np.diff(looks))), float(np.ptp(looks))
    return (
        f"no sync informs about {said}: {asked.collection.name} was seen every "
        f"{show.span(step)}, for {show.span(whole)} in all; a horizon must be as long "
        "as the first, and shorter than the second"
    )
