"""Every outcome of something random, with its chance: an oracle for expectations."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Script:
    """Chance that does as it is told, and then takes what comes first."""

    def __init__(self, told: list[int]) -> None:
        self.told = told
        self.done: list[int] = []
        self.left: list[list[int]] = []
        self.chance = 1.0

    def choice(self, n: int, p: Any) -> int:
        possible = [i for i in range(n) if p[i] > 0.0]
        at = len(self.done)
        if at < len(self.told):
            taken = self.told[at]
        else:
            taken, *others = possible
            self.left += [[*self.done, other] for other in others]
        self.done.append(taken)
        self.chance *= float(p[taken])
        return taken

    def permutation(self, n: int) -> Any:
        return np.arange(n)


def outcomes(play: Callable[[Any], T]) -> Iterator[tuple[float, T]]:
    """Return every outcome with its chance."""
    todo: list[list[int]] = [[]]
    while todo:
        script = Script(todo.pop())
        result = play(script)
        todo += script.left
        yield script.chance, result
