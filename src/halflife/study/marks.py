"""The marks of a chart: lines, steps, bands, bars and points.

``tone`` is a place in the palette and ``dash`` a place among the line patterns,
so that two curves can be distinguished also without colour. Values that are not
finite leave a gap.
"""

from dataclasses import dataclass
from typing import TypeAlias

from halflife.core.arrays import Floats


@dataclass(frozen=True)
class LineMark:
    """A curve through points; with ``steps`` each value holds until the next."""

    x: Floats
    y: Floats
    name: str = ""
    tone: int = 0
    dash: int = 0
    steps: bool = False


@dataclass(frozen=True)
class BandMark:
    """The area between two curves; with ``steps`` values hold until the next."""

    x: Floats
    low: Floats
    high: Floats
    name: str = ""
    tone: int = 0
    steps: bool = False


@dataclass(frozen=True)
class Bars:
    """Upright bars from ``left`` to ``right``, standing on zero."""

    left: Floats
    right: Floats
    height: Floats
    name: str = ""
    tone: int = 0


@dataclass(frozen=True)
class Points:
    """Dots, with whiskers from ``low`` to ``high`` and labels where these are given."""

    x: Floats
    y: Floats
    name: str = ""
    tone: int = 0
    low: Floats | None = None
    high: Floats | None = None
    hollow: bool = False
    labels: tuple[str, ...] = ()


Mark: TypeAlias = LineMark | BandMark | Bars | Points
