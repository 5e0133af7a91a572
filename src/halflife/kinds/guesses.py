"""Guesses of all kinds on how an answer could be kept as a source, ranked."""

from collections.abc import Iterator, Sequence

from halflife.config.kinds import kinds
from halflife.core.errors import ConfigError
from halflife.kinds.containment import ContainedKind
from halflife.kinds.registry import kind_named
from halflife.readers.xml_stream import root_name
from halflife.recognition.guess import SURE, SourceGuess, TrialAnswer

# Formats that a kind of another package reads, by their root elements.
PACKAGES = {b"OAI-PMH": ("oai", "OAI-PMH repository", "halflife-oai")}


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how an answer could be kept, the most likely way first."""
    guesses: list[SourceGuess] = []
    for kind in _kinds():  # a kind that builds on another may repeat its guesses
        guesses += [guess for guess in kind.recognise(answer) if guess not in guesses]
    named = {guess.kind for guess in guesses}
    guesses += [guess for guess in _not_installed(answer) if guess.kind not in named]
    return sorted(guesses, key=lambda guess: -guess.score)


def _kinds() -> Iterator[ContainedKind]:
    """Return each kind once; the registry reports one that cannot be loaded."""
    seen: list[ContainedKind] = []
    for name in kinds():
        try:
            kind = kind_named(name)
        except ConfigError:
            continue
        if kind not in seen:
            seen.append(kind)
            yield kind


def _not_installed(answer: TrialAnswer) -> Sequence[SourceGuess]:
    """Return what would be recognised if its package were installed."""
    root = root_name(answer.body)
    if root not in PACKAGES:
        return ()
    kind, what, package = PACKAGES[root]
    reasons = {"format": f"its root element is {root.decode()}"}
    return (SourceGuess(kind, what, SURE, {}, reasons, package=package),)
