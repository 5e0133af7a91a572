"""One pass over the items as a Triton kernel: what is asked for at a price.

The same arithmetic as ``halflife.allocation.curves.freshness``. Both columns are read
once, and nothing is written back but two sums a block, in double precision.
"""

from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from triton.language.extra import libdevice

_ITEMS = 2048  # of one program
_SERIES = {"float32": 1.3, "float64": 0.5}  # s up to which the series is used alone
_BELOW_ONE = {"float32": 1.0 - 2.0**-24, "float64": 1.0 - 2.0**-53}


@triton.jit
def _temme(e):
    total = e * 7.32986413160022e-10
    total = (total + 5.159887341078076e-10) * e
    total = (total - 1.47216272806884e-08) * e
    total = (total + 7.542464855411896e-08) * e
    total = (total - 1.85406221071516e-07) * e
    total = (total - 2.428276122977769e-07) * e
    total = (total + 4.899078973153047e-06) * e
    total = (total - 2.553644914756026e-05) * e
    total = (total + 5.878894767783657e-05) * e
    total = (total + 0.0002314814814814815) * e
    total = (total - 0.003703703703703704) * e
    total = (total + 0.027777777777777776) * e
    total = (total + 0.3333333333333333) * e
    return (total + 1.0) * e


@triton.jit
def _sums(  # noqa: PLR0913, PLR0917  (the kernel's arguments)
    price_at,
    first_at,
    mass_at,
    total_at,
    change_at,
    n,
    ALONE: tl.constexpr,
    BELOW_ONE: tl.constexpr,
    ITEMS: tl.constexpr,
):
    block = tl.program_id(0).to(tl.int64)
    at = block * ITEMS + tl.arange(0, ITEMS)
    inside = at < n
    price = tl.load(price_at)
    first = tl.load(first_at + at, mask=inside, other=1.0)
    mass = tl.load(mass_at + at, mask=inside, other=0.0)
    y = tl.maximum(price / first, 1e-30)
    z = -libdevice.log1p(-tl.minimum(y, BELOW_ONE))
    s = libdevice.sqrt(2.0 * z)
    series = _temme(tl.minimum(s, 2.0))
    far = z + libdevice.log1p(z + libdevice.log1p(z))
    x = tl.maximum(tl.where(s < 2.0, series, far), 0.1)
    for _ in tl.static_range(2):
        off = (x - libdevice.log1p(x) - z) * (1.0 + x) / x
        x = x - off / (1.0 - 0.5 * off / (x * (1.0 + x)))
    x = tl.where(s < ALONE, series, x)
    frequency = tl.where(y < 1.0, mass / x, 0.0)
    falls = frequency * libdevice.expm1(z) * (1.0 + x) / (x * x)
    tl.store(total_at + block, tl.sum(frequency.to(tl.float64), axis=0))
    tl.store(change_at + block, tl.sum(falls.to(tl.float64), axis=0))


def asked(torch: Any) -> Callable[..., tuple[float, float]]:
    """Return a stand-in for ``halflife.allocation.array_kernel.asked``."""

    def run(price: float, first: Any, mass: Any) -> tuple[float, float]:
        n, kind = first.shape[0], str(first.dtype).partition(".")[2]
        blocks = triton.cdiv(n, _ITEMS)
        first, mass = first.contiguous(), mass.contiguous()
        given = torch.tensor([price], dtype=first.dtype, device=first.device)
        sums = torch.empty((2, blocks), dtype=torch.float64, device=first.device)
        _sums[(blocks,)](
            given,
            first,
            mass,
            sums[0],
            sums[1],
            n,
            ALONE=_SERIES[kind],
            BELOW_ONE=_BELOW_ONE[kind],
            ITEMS=_ITEMS,
        )
        total, change = sums.sum(dim=1).tolist()
        return total, -change

    return run
