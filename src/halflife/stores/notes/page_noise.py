"""Noise of pages with the same template, found by fetching pages twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from halflife.stores.notes import NoteKind, finite, text, texts

# The kind of a mask, its element and its words; see ``readers.noise_masks``.
MaskRow: TypeAlias = tuple[str, str, tuple[str, ...]]
MOST_TEMPLATES = 200  # of a source; those that were probed longest ago are dropped


@dataclass(slots=True)
class TemplateNoise:
    """The noise of pages with the same template.

    Attributes:
        masks: What is masked, and how many checks in a row did not need the mask.
        since: Since when these masks hold, in days.
        probes: How often pages were fetched twice.
        probed: When that was last done, in days.
        found: How often that showed unknown noise.

    """

    masks: dict[MaskRow, int] = field(default_factory=dict)
    since: float = 0.0
    probes: int = 0
    probed: float = 0.0
    found: int = 0


@dataclass(slots=True)
class NoiseNote:
    """The noise of a source's pages.

    Attributes:
        owed: Requests that may be spent on fetching twice; fractions add up.
        templates: The noise of each template.

    """

    owed: float = 0.0
    templates: dict[str, TemplateNoise] = field(default_factory=dict)


def _write(note: NoiseNote) -> Mapping[str, object]:
    kept = sorted(note.templates.items(), key=lambda entry: -entry[1].probed)
    rows = {
        name: [
            [[m[0], m[1], list(m[2]), n] for m, n in noise.masks.items()],
            noise.since,
            noise.probes,
            noise.probed,
            noise.found,
        ]
        for name, noise in kept[:MOST_TEMPLATES]
    }
    return {"owed": note.owed, "templates": rows}


def _read(row: Mapping[str, Any]) -> NoiseNote:
    templates = {text(name): _template(one) for name, one in row["templates"].items()}
    return NoiseNote(finite(row["owed"]), templates)


def _template(row: list[Any]) -> TemplateNoise:
    rows, since, probes, probed, found = row
    masks = {
        (text(kind), text(path), texts(words)): int(n) for kind, path, words, n in rows
    }
    return TemplateNoise(masks, finite(since), int(probes), finite(probed), int(found))


NOISE = NoteKind("page_noise", 1, _write, _read)
