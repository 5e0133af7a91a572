"""Array types that cross module borders, and the largest exponent."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Bytes: TypeAlias = NDArray[np.int8]

LARGEST_LOG = 700.0  # exp of it is a float
