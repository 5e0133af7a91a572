"""Made-up sites as files: the layout in which page histories are recorded."""

from collections.abc import Sequence
from pathlib import Path

from halflife.recordings.parquet import write_columns
from halflife.worlds.sites import DAYS, LARGE, Edit, SiteHistory

BEGAN = 20_003.0  # the day, a Monday, on which made-up worlds begin
SECONDS = 86400
YEARS = 5.0  # before the story, in which the first pages were written


def write_sites(folder: Path, sites: Sequence[SiteHistory]) -> None:
    """Write ``pages``, ``changes`` and ``sites`` to a folder."""
    kept = [alive(site) for site in sites]
    pairs = list(zip(sites, kept, strict=True))
    write_columns(folder / "pages.parquet", _pages(pairs))
    write_columns(folder / "changes.parquet", _changes(pairs))
    write_columns(
        folder / "sites.parquet",
        {
            "site": [site.name for site in sites],
            "domain": [site.domain for site in sites],
            "pages_now": [len(site.paths) - deaths(e) for site, e in pairs],
            "window_start": [seconds(DAYS - 420.0)] * len(sites),
            "window_end": [seconds(DAYS)] * len(sites),
        },
    )


def seconds(at: float) -> int:
    """Return a day of the story as Unix seconds."""
    return round((BEGAN + at) * SECONDS)


def deaths(edits: Sequence[Edit]) -> int:
    """Return how many pages were deleted."""
    return sum(edit.kind == "D" for edit in edits)


def alive(site: SiteHistory) -> list[Edit]:
    """Return the edits of pages while they existed."""
    died = {edit.page: edit.at for edit in site.edits if edit.kind == "D"}
    return [
        edit
        for edit in site.edits
        if edit.kind != "M" or edit.at < died.get(edit.page, DAYS + 1.0)
    ]


def _pages(
    pairs: Sequence[tuple[SiteHistory, Sequence[Edit]]],
) -> dict[str, Sequence[object]]:
    rows: list[tuple[object, ...]] = []
    for site, edits in pairs:
        came = {e.page: e for e in edits if e.kind == "A"}
        went = {e.page: e for e in edits if e.kind == "D"}
        count: dict[int, int] = {}
        for edit in edits:
            count[edit.page] = count.get(edit.page, 0) + (edit.kind == "M")
        for page, path in enumerate(site.paths):
            begun, ended = came.get(page), went.get(page)
            age = YEARS * 365.0 * (1.0 + page) / (1.0 + len(site.paths))
            changes = count.get(page, 0)
            rows.append(
                (
                    site.name, site.domain, path, 0,
                    seconds(begun.at if begun else -age),
                    seconds(ended.at) if ended else None,
                    changes, changes,
                    bool(begun and begun.rename), bool(ended and ended.rename),
                )
            )  # fmt: skip
    names = ("site", "domain", "page", "life", "created_at", "deleted_at", "n_changes",
             "n_changes_total", "born_by_rename", "died_by_rename")  # fmt: skip
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _changes(
    pairs: Sequence[tuple[SiteHistory, Sequence[Edit]]],
) -> dict[str, Sequence[object]]:
    rows: list[tuple[object, ...]] = []
    for site, edits in pairs:
        size: dict[int, int] = {}
        for edit in edits:
            size[edit.commit] = size.get(edit.commit, 0) + 1
        for edit in edits:
            pages = size[edit.commit]
            rows.append(
                (
                    site.name, site.paths[edit.page], seconds(edit.at), edit.kind,
                    2 * pages > len(site.paths), edit.rename, pages,
                    2 if pages < LARGE else 1, 1,
                )
            )  # fmt: skip
    names = ("site", "page", "timestamp", "kind", "bulk", "rename", "commit_pages",
             "lines_added", "lines_deleted")  # fmt: skip
    return dict(zip(names, zip(*rows, strict=True), strict=True))
