"""urlwatch: its list of jobs, ``urls.yaml``.

PyYAML from the extra ``halflife[urlwatch]`` reads it: no other part needs YAML, and a
reader of our own would support less of it. Only plain values are created (its safe
loader), and a file with aliases is refused: through them a small file can grow without
bound.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from halflife.core.errors import UsageError
from halflife.core.wording import one_line
from halflife.watchlists.watch import WatchedParts, Watchlist, decode

LARGEST = 2 << 20  # bytes; 5000 jobs with filters take 1 MB
DEEPEST = 50  # levels of lists and mappings
MOST_STEPS = 50  # filters of one job
PLAIN = frozenset({"html2text", "strip", "striplines", "beautify"})
IGNORED = {
    "diff_filter": "filters", "headers": "headers (they may hold "
    "secrets)", "cookies": "cookies", "http_proxy": "proxies", "https_proxy": "proxies",
    "timeout": "timeouts", "user_visible_url": "other addresses to show",
}  # fmt: skip


def read(body: bytes) -> Watchlist:
    """Return the addresses of jobs; raise ``UsageError`` if it is no list of jobs.

    Jobs that run a command are always left out.
    """
    if len(body) > LARGEST:
        raise UsageError(f"it is larger than {LARGEST} bytes")
    found = Watchlist()
    jobs = 0
    for job in _documents(decode(body)):
        if job is None:
            continue
        if not isinstance(job, Mapping):
            raise UsageError("it is no list of jobs of urlwatch known here")
        jobs += 1
        _take(found, job)
    if not jobs:
        raise UsageError("it has no jobs")
    return found


def _take(found: Watchlist, job: Mapping[str, Any]) -> None:
    name = str(job.get("name") or job.get("url") or "a job")
    if "command" in job:
        found.refuse(name, "it runs a command")
    elif job.get("enabled") is False:
        found.refuse(name, "it is switched off")
    elif job.get("data") or str(job.get("method") or "GET").upper() != "GET":
        found.refuse(name, "it sends something")
    elif "url" not in job and "navigate" not in job:
        found.refuse(name, "it has no web address")
    elif found.add(job.get("url") or job.get("navigate"), rules=_rules(found, job)):
        found.ignore({name for key, name in IGNORED.items() if job.get(key)})
        if "navigate" in job:
            found.ignore(["browsers"])


def _rules(found: Watchlist, job: Mapping[str, Any]) -> WatchedParts:
    """Return the filters of a job that select parts of a page.

    Filters that turn a page into text are skipped, because that is done here anyway.
    """
    filters = job.get("filter")
    steps = filters.split(",") if isinstance(filters, str) else filters
    only: list[object] = []
    ignore: list[object] = []
    for step in steps[:MOST_STEPS] if isinstance(steps, list) else ():
        name, chosen = _step(step)
        if name in {"css", "xpath"}:
            table = chosen if isinstance(chosen, Mapping) else {"selector": chosen}
            only.append(_rule(name, table.get("selector") or table.get("path")))
            if table.get("exclude"):
                ignore.append(_rule(name, table["exclude"]))
        elif name not in PLAIN:
            found.ignore(["filters"])
    return WatchedParts(found.usable(only), found.usable(ignore))


def _step(step: object) -> tuple[str, object]:
    """Return the name of a filter and its argument."""
    if isinstance(step, Mapping) and len(step) == 1:
        name, chosen = next(iter(step.items()))
        return str(name), chosen
    name, _, chosen = str(step).partition(":")
    return name.strip(), chosen.strip()


def _rule(name: str, expression: object) -> object:
    return f"{name}:{expression}" if isinstance(expression, str) else None


def _documents(text: str) -> Iterator[object]:
    try:
        import yaml  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError(
            "urlwatch files need PyYAML; install halflife[urlwatch]"
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise UsageError("it uses aliases (*name), which are not read")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise UsageError(f"it is nested more than {DEEPEST} deep")
        yield from yaml.load_all(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise UsageError(f"it is not YAML: {one_line(error)}") from None
