"""Tables of the book, made from what benchmarks printed."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.result_pages import Render

Report = Mapping[str, Any]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "".join(f"{line}\n" for line in lines)


def allocate(report: Report) -> str:
    """Return how fast and how exactly a million pages are planned."""
    (row,) = report["rows"]
    figures = {
        "processor seconds": f"{row['processor_seconds']:.2f}",
        "KKT residual, relative": f"{row['kkt_residual']:.0e}",
        "budget missed by, relative": f"{row['budget_error']:.1g}",
        "times faster than a root-finder page by page (nested `brentq`, scaled)": (
            f"{row['rival_ratio']:.0f}"
        ),
        "times faster than LambdaCrawl's own algorithm, page by page, on its own "
        "problem": f"{row['lambdacrawl_ratio']:.0f}",
    }
    return table(["figure", "value"], list(figures.items()))


def demo_seeds(report: Report) -> str:
    """Return how often the demo's bounds held, and how far off its belief was."""
    (row,) = report["rows"]
    share = row["coverage"]
    held = f"{share['share']:.2f} [{share['low']:.3f}, {share['high']:.3f}]"
    off = f"{row['off']:+.3f} (standard error {row['off_error']:.3f})"
    figures = {
        "sites": f"{row['seeds']}",
        "bounds of 95 % that held the truth": f"{row['held']}",
        "their share, with its interval": held,
        "the truth was above them, below them": f"{row['above']}, {row['below']}",
        "true freshness less believed, in the mean": off,
        "mean width of the bounds": f"{row['width']:.3f}",
        "their mean interval score": f"{row['score']:.3f}",
        "mean freshness over the 40 days": f"{row['freshness']:.3f}",
    }
    return table(["figure", "value"], list(figures.items()))


def out_of_core(report: Report) -> str:
    """Return what a plan from Parquet files takes, and how exact it is."""
    (row,) = report["rows"]
    figures = {
        "processor seconds of all processes, reading and writing included": (
            f"{row['processor_seconds']:.1f}"
        ),
        "memory of all processes, MB": f"{row['peak_mb']:.0f}",
        "KKT residual, relative": f"{row['kkt_residual']:.0e}",
        "budget missed by, relative": f"{row['budget_error']:.0e}",
    }
    return table(["figure", "value"], list(figures.items()))


def listings(report: Report) -> str:
    """Return how often forecasts of each recorded listing came true."""
    head = ["source", "metric", "forecasts", "coverage", "error", "width", "best rival"]
    rows = [
        [
            *(row["source"], row["metric"], f"{row['n']}", f"{row['coverage']:.3f}"),
            *(f"{row['mae']:.4f}", f"{row['width']:.3f}"),
            f"{row['rival']} {row['rival_mae']:.4f}",
        ]
        for row in report["rows"]
    ]
    return table(head, rows)


def one_budget(report: Report) -> str:
    """Return what one price does with a budget, beside fixed splits."""
    splits = ("one_price", "hindsight_split", "equal_shares", "one_interval")
    head = ["requests a day", "one price", "best split", "equal shares", "one interval"]
    head += ["one price less best split", "less equal shares"]
    rows = [
        [
            f"{row['budget']:.0f}",
            *(f"{row['quality'][name]:.4f}" for name in splits),
            *(_points(row[f"less_{name}"]) for name in splits[1:3]),
        ]
        for row in report["rows"]
    ]
    return table(head, rows)


def _points(found: Report) -> str:
    mean, low, high = (f"{100 * found[part]:+.2f}" for part in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def learn(report: Report) -> str:
    """Return what policies reach that begin with nothing."""
    best = sorted(report["rows"], key=lambda row: -row["freshness"]["mean"])
    rows = [
        [_name(row["policy"]), _interval(row["freshness"]), _interval(row["of_oracle"])]
        for row in best
    ]
    return table(["policy", "freshness", "of the oracle"], rows)


def _name(policy: str) -> str:
    return "halflife (`freshness`)" if policy == "halflife" else policy


def _interval(found: Report) -> str:
    return f"{found['mean']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def fetch(report: Report) -> str:
    """Return pages for each second of the processor, beside Scrapy."""
    (row,) = report["rows"]
    names = {
        "halflife": "halflife, observations only",
        "halflife_keeping": "halflife, every copy kept (the default)",
        "scrapy": "Scrapy",
    }
    rows = [
        [title, f"{row[name]['pages_per_cpu_s']:.0f}", _times(row, name)]
        for name, title in names.items()
    ]
    return table(["", "pages per CPU second", "against Scrapy"], rows)


def _times(row: Report, name: str) -> str:
    return "1" if name == "scrapy" else f"{row[f'{name}_to_scrapy']:.1f}×"  # noqa: RUF001


def kill9(report: Report) -> str:
    """Return what kills in the middle of a sync left behind."""
    (row,) = report["rows"]
    both = [row["halflife"], row["scrapy"]]
    figures = {
        "trials, all killed in the middle": "killed_in_the_middle",
        "acknowledged pages lost": "acknowledged_lost",
        "trials that ended with pages missing": "trials_with_pages_missing",
        "pages missing in the end": "pages_missing",
        "most requests repeated": "most_repeated",
        f"most requests sent (budget {row['budget']})": "most_sent",
    }
    rows = [
        [title, *(f"{one[name]}" for one in both)] for title, name in figures.items()
    ]
    codes = [", ".join(map(str, one["exit_codes"])) for one in both]
    rows.append(["exit code after the restart", *codes])
    return table(["", "halflife", "Scrapy"], rows)


def scrapy_addon(report: Report) -> str:
    """Return what the add-on saves against recrawling everything."""
    forms = {
        "requests_per_day": ("requests sent a day", ".1f", 1),
        "freshness": ("mean freshness", ".3f", 1),
        "full_recrawl_requests_per_day": (
            *("recrawling everything: requests a day for that freshness", ".1f"),
            1,
        ),
        "requests_saved": ("requests saved at equal freshness, %", ".0f", 100),
        "full_recrawl_freshness_at_equal_requests": (
            *("recrawling everything: freshness for as many requests", ".3f"),
            1,
        ),
        "best_freshness_if_rates_were_known": (
            *("the best that is possible if all rates were known", ".3f"),
            1,
        ),
    }
    rows = [
        [title, *(f"{scale * row[name]:{form}}" for row in report["rows"])]
        for name, (title, form, scale) in forms.items()
    ]
    budgets = [f"{7 * row['budget_per_day']} requests a week" for row in report["rows"]]
    return table(["", *budgets], rows)


def changes(report: Report) -> str:
    """Return what the log of changes adds, and what exports cost."""
    (row,) = report["rows"]
    rows = []
    for name, when in (("later", ""), ("first", "while everything is new: ")):
        for what in ("pages", "records"):
            pair = [row[f"{where}_{what}"][name]["ratio"] for where in _PLACES]
            title = f"{when}{what}, in memory; in a file"
            rows.append([title, "; ".join(f"{one:.2f}" for one in pair)])
    whole = "a whole sync in which every page is new, fetching included"
    rows.append([whole, f"{row['sync']['ratio']:.2f}"])
    for figure, title in (("cpu_s", "processor seconds"), ("peak_mb", "MB at most")):
        cost = ", ".join(f"{one[figure]}" for one in row["export"].values())
        what = f"export of a million records as {', '.join(row['export'])}: {title}"
        rows.append([what, cost])
    return table(["figure", "value"], rows)


_PLACES = ("memory", "file")


def first_minutes(report: Report) -> str:
    """Return how long the two ways in take."""
    (row,) = report["rows"]
    ways = {
        "from a clone to the first picture": "clone_to_picture",
        "from the wheel to the first forecast": "wheel_to_forecast",
    }
    rows = [
        [title, f"{row[name]['seconds']:.0f}", f"{row[name]['cpu']:.0f}"]
        for title, name in ways.items()
    ]
    head = f"seconds, at a load of {row['load']:g} on {row['cores']} cores"
    return table(["", head, "of the processor"], rows)


TABLES: dict[str, Render] = {
    "allocate": allocate,
    "demo-seeds": demo_seeds,
    "out-of-core": out_of_core,
    "objects": listings,
    "one": one_budget,
    "learn": learn,
    "fetch": fetch,
    "kill9": kill9,
    "scrapy-addon": scrapy_addon,
    "changes": changes,
    "first-minutes": first_minutes,
}
