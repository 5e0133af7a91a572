"""Noise of pages that are made alike, as fetching twice has shown it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from halflife.stores.notes import NoteKind, finite, text, texts

# The kind of a mask, its element and its words; see ``readers.noise_masks``.
MaskRow: TypeAlias = tuple[str, str, tuple[str, ...]]
MOST_TEMPLATES = (
    200  # of a source; of those that were not seen for longest none is kept
)


@dataclass(slots=True)
class TemplateNoise:
    """What is known of the noise of pages that are made alike.

    Attributes:
        masks: What is hidden, and how many checks in a row did not need it.
        since: From when on, in days, these masks hold.
        probes: How often pages were fetched twice.
        probed: When that was done last, in days.
        found: How often that showed noise that was not known.

    """

    masks: dict[MaskRow, int] = field(default_factory=dict)
    since: float = 0.0
    probes: int = 0
    probed: float = 0.0
    found: int = 0


@dataclass(slots=True)
class NoiseNote:
    """What is known of the noise of a source's pages.

    Attributes:
        owed: Requests that may be spent on fetching twice; fractions add up.
        templates: What is known of pages that are made alike.

    """

    owed: float = 0.0
    templates: dict[str, TemplateNoise] = field(default_factory=dict)


def _write(note: NoiseNote) -> Mapping[str, object]:
    kept = sorted(note.templates.items(), key=lambda one: -one[1].probed)
    rows = {
        name: [
            [[m[0], m[1], list(m[2]), n] for m, n in one.masks.items()],
            one.since,
            one.probes,
            one.probed,
            one.found,
        ]
        for name, one in kept[:MOST_TEMPLATES]
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
