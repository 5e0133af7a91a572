"""Tables of the book, made from result files."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab import benchmark_tables
from lab.result_pages import Render

BOUNDS = {"blind": "*B0, blind*", "told": "*B1, told*", "hindsight": "*B2, hindsight*"}


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _head(cells: Sequence[str]) -> str:
    return _line(cells) + "|" + "---|" * len(cells) + "\n"


def _shares(told: Mapping[str, Any]) -> list[float]:
    return list(dict.fromkeys(row["budget"] for row in told["rows"]))


def _by_policy(told: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in told["rows"]:
        found.setdefault(row["policy"], []).append(row)
    return found


def standings(told: Mapping[str, Any]) -> str:
    """Return freshness by policy and budget, the freshest first, and the bounds."""
    shares, by_policy = _shares(told), _by_policy(told)
    text = _head(["policy", *(f"{share:.1%}" for share in shares)])
    best = sorted(by_policy, key=lambda name: -_mean(by_policy[name]))
    for name in best:
        cells = [f"{row['freshness']['mean']:.4f}" for row in by_policy[name]]
        text += _line([f"`{name}`", *cells])
    for key, title in BOUNDS.items():
        cells = [f"{row[key]:.4f}" for row in by_policy[best[0]]]
        text += _line([title, *cells])
    return text


def _mean(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(row["freshness"]["mean"] for row in rows) / len(rows))


def champion(told: Mapping[str, Any]) -> str:
    """Return how the champion stands to others, budget by budget."""
    by_policy = _by_policy(told)
    mine = by_policy["champion"]
    rows: list[tuple[str, list[str]]] = [
        ("freshness, 95 % over sites", [_interval(r["freshness"], ".4f") for r in mine])
    ]
    for rival in ("uniform", "nutch-adaptive"):
        gains = [_interval(r["gain"][rival], "+.1f", 100.0) for r in mine]
        rows.append((f"gain over `{rival}`, points", gains))
    for rival in ("uniform", "nutch-adaptive"):
        cuts = [f"{r['staleness_cut'][rival]:.1%}" for r in mine]
        rows.append((f"staleness less than `{rival}`'s by", cuts))
    for rival in ("uniform", "nutch-adaptive"):
        saved = [_share(r["requests_share"][rival]) for r in mine]
        rows.append((f"share of `{rival}`'s requests for its freshness", saved))
    rows += _against(mine, by_policy)
    text = _head(["champion", *(f"{row['budget']:.1%}" for row in mine)])
    return text + "".join(_line([name, *cells]) for name, cells in rows)


def _against(
    mine: Sequence[Mapping[str, Any]], by_policy: Mapping[str, Any]
) -> list[tuple[str, list[str]]]:
    found = []
    if "oracle" in by_policy:
        off = [
            f"{100 * (r['freshness']['mean'] - o['freshness']['mean']):+.1f}"
            for r, o in zip(mine, by_policy["oracle"], strict=True)
        ]
        found.append(("against `oracle`, points", off))
    even = by_policy["uniform"]
    for name, key, form in (("age, days", "age", ".3g"),
                            ("change ratio", "change_ratio", ".3f")):  # fmt: skip
        cells = [
            f"{r[key]['mean']:{form}} ({u[key]['mean']:{form}})"
            for r, u in zip(mine, even, strict=True)
        ]
        found.append((f"{name} (`uniform`)", cells))
    found.append(("of B0", [f"{r['closeness']['blind']:.3f}" for r in mine]))
    found.append(("pages not fetched once", [f"{r['starved']:.0%}" for r in mine]))
    return found


def _interval(figure: Mapping[str, float], form: str, times: float = 1.0) -> str:
    mean, low, high = (format(times * figure[k], form) for k in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"  # noqa: RUF001  (as pages write it)


def demo(told: Mapping[str, Any]) -> str:
    """Return what the demo printed, up to the plan."""
    return "```\n" + str(told["printed"]).strip("\n") + "\n```"


def losses(told: Mapping[str, Any]) -> str:
    """Return freshness of rules where pages have nothing in common."""
    text = _head(["rule", "freshness", "ahead of `freshness`", "standard error"])
    for row in told["rows"]:
        gain = f"{row['ahead']:+.4f}", f"{row['error']:.4f}"
        known = gain if row["error"] else ("", "")
        text += _line([f"{row['rule']}", f"{row['freshness']:.4f}", *known])
    return text


def likeness(told: Mapping[str, Any]) -> str:
    """Return statistics of worlds beside the recorded ones: the most telling."""
    text = _head(["statistic", "recorded", "made", "allowed"])
    for row in told["rows"]:
        if not row["name"].startswith("sites.") and "recall" not in row["name"]:
            continue
        cells = f"{row['recorded']:.4g}", f"{row['made']:.4g}", row["allowed"]
        text += _line([f"`{row['name']}`", *cells])
    return text


def entries(told: Mapping[str, Any]) -> str:
    """Return what crawlers of several makes did on the same sites."""
    worlds = list(dict.fromkeys(row["world"] for row in told["rows"]))
    by_client: dict[str, list[Mapping[str, Any]]] = {}
    for row in told["rows"]:
        by_client.setdefault(row["client"], []).append(row)
    best = sorted(by_client, key=lambda name: -_fresh(by_client[name]))
    text = _head(["client", *worlds, "mean", "requests a day"])
    for name in best:
        rows = by_client[name]
        cells = [f"{row['freshness']:.3f}" for row in rows]
        sent = sum(row["requests_a_day"] for row in rows) / len(rows)
        text += _line([f"`{name}`", *cells, f"{_fresh(rows):.3f}", f"{sent:.1f}"])
    return text


def _fresh(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(row["freshness"] for row in rows) / len(rows))


def halves(told: Mapping[str, Any]) -> str:
    """Return what page policies leave of ``uniform``'s staleness on halves of sites."""
    text = _head(["", "budget", "of `uniform`'s staleness", "gain, points", "wins"])
    shown = {"rival": "`{}`", "bound": "*bound: {}*"}
    for row in sorted(told["rows"], key=lambda row: row["budget"]):
        wins = row.get("wins", "")
        gain = _interval(row["gain"], "+.2f") if wins else ""
        name = shown.get(row.get("kind", ""), "{}").format(row["variant"])
        cells = [f"{row['budget']:.1%}", f"{row['of_uniform']:.3f}", gain, wins]
        text += _line([name.replace("_", " "), *cells])
    return text


TABLES: dict[str, Render] = {
    "standings": standings,
    "champion": champion,
    "demo": demo,
    "losses": losses,
    "likeness": likeness,
    "entries": entries,
    "page-halves": halves,
    **benchmark_tables.TABLES,
}
