"""Array types that cross module borders, and the library an array belongs to."""

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Bytes: TypeAlias = NDArray[np.int8]

LARGEST_LOG = 700.0  # exp of it is a float


def namespace(array: Any) -> Any:  # noqa: ANN401  (any array library)
    """Return the functions of the array API for an array of any library.

    PyTorch's tensors name none; its module has the functions that we use, and the
    same names. See https://data-apis.org/array-api.

    >>> namespace(np.ones(1)) is np
    True
    """
    if isinstance(array, np.ndarray | np.generic):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]
