"""What an accelerator is worth for the best schedule of 10^8 and 10^9 items.

    python3 lab/scale/accelerator.py --items 100000000,1000000000 > accelerator.json

It needs Python with numpy and PyTorch, and takes the kernel from this repository's
``src``; nothing has to be installed. Without CUDA it says so and ends with status 1
(``--device cpu --items 1000000`` tries it out). For each number of items and each
precision it prints, in seconds: copying the rates and weights to the device, one pass
over the items (plain PyTorch, ``torch.compile``, and a Triton kernel where there is
one), the whole search for the price, and copying the frequencies back; and how exact
the schedule is: the KKT residual, evaluated in double precision. The same search with
numpy on one core of the same machine stands beside it.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

PER_ITEM = 0.2  # requests a day
CPU_ITEMS = 4_000_000
REPEATS = 5
BLOCK = 1 << 26  # items at a time in what is not timed


def main() -> int:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", default="100000000,1000000000")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precisions", default="float32,float64")
    parser.add_argument("--json", action="store_true", help="(it always is)")
    given = parser.parse_args()
    try:
        import torch  # noqa: PLC0415  (said below, if it is missing)
    except ImportError as error:
        return _refuse(f"PyTorch cannot be imported: {error}")
    if given.device == "cuda" and not torch.cuda.is_available():
        return _refuse(f"PyTorch {torch.__version__} sees no CUDA device")
    answer = {"device": _device(torch, given.device), "cpu": cpu()}
    sizes = [int(float(part)) for part in given.items.split(",")]
    answer["results"] = [
        _guarded(measure, torch, given.device, n, precision)
        for n in sizes
        for precision in given.precisions.split(",")
    ]
    print(json.dumps(answer, indent=1))
    return 0


def _refuse(why: str) -> int:
    print(json.dumps({"ran": False, "why": why}))
    return 1


def _device(torch: Any, device: str) -> dict[str, object]:
    found: dict[str, object] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "name": platform.processor() or platform.machine(),
    }
    if device == "cuda":
        about = torch.cuda.get_device_properties(0)
        found |= {"name": about.name, "memory_gb": about.total_memory / 1e9}
    return found


def _guarded(work: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Return what was measured, or what went wrong: the other figures still count."""
    try:
        return work(*given)
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"[:500], "of": str(given[2:])}


def cpu(items: int = CPU_ITEMS) -> dict[str, Any]:
    """Return what the same search takes with numpy on one core."""
    import numpy as np  # noqa: PLC0415

    from halflife.allocation import array_kernel as kernel  # noqa: PLC0415

    rng = np.random.default_rng(0)
    rate = np.clip(np.exp(rng.normal(np.log(0.1), 1.8, items)), 5e-4, 50.0)
    weight = np.minimum(np.ceil(rng.pareto(1.2, items) * 10.0 + 1.0), 2000.0)
    kernel.BLOCK = 8192
    began = process_time()
    plan = kernel.allocate_array(rate, PER_ITEM * items, weight=weight)
    took = process_time() - began
    one = np.ones(items)
    return {
        "items": items,
        "cores_there": os.cpu_count(),
        "core_seconds": took,
        "core_seconds_per_1e8": took * 1e8 / items,
        "passes": plan.passes,
        "kkt_residual": kernel.residual(plan, rate, weight=weight, cost=one),
        "load": os.getloadavg()[0],
    }


def measure(torch: Any, device: str, items: int, precision: str) -> dict[str, Any]:
    """Return the figures of one number of items in one precision."""
    from halflife.allocation import array_kernel as kernel  # noqa: PLC0415

    kernel.BLOCK = BLOCK
    dtype = getattr(torch, precision)
    rate, weight = population(torch, device, items, dtype)
    row: dict[str, Any] = {"items": items, "precision": precision}
    row |= transfers(torch, device, rate, weight)
    first = weight / rate
    price = 15.0  # near that of this population
    ways: dict[str, Callable[..., tuple[float, float]]] = {"plain": kernel.requests_at}
    for name, make in (("compiled", compiled_pass), ("triton", triton_pass)):
        try:
            way = make(torch)
            way(price, first, rate)
            ways[name] = way
        except Exception as error:  # noqa: BLE001
            row[f"{name}_error"] = f"{type(error).__name__}: {error}"[:300]
    for name, way in ways.items():
        row[f"pass_{name}_ms"] = 1e3 * _best(torch, device, way, price, first, rate)
        row[f"pass_{name}_asked"] = way(price, first, rate)[0]
    del first
    quickest = min(ways, key=lambda name: float(row[f"pass_{name}_ms"]))
    row["fastest"] = quickest
    row |= solved(torch, device, kernel, rate, weight, ways[quickest])
    row["seconds_with_transfer"] = (
        row["to_device_s"] + row["search_s"] + row["from_device_s"]
    )
    if device == "cuda":
        row["device_peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return row


def population(torch: Any, device: str, items: int, dtype: Any) -> tuple[Any, Any]:
    """Return rates and weights spread as in ``halflife bench allocate``."""
    maker = torch.Generator(device=device)
    maker.manual_seed(0)
    rate, weight = (torch.empty(items, dtype=dtype, device=device) for _ in range(2))
    for start in range(0, items, BLOCK):
        n = min(BLOCK, items - start)
        rows = slice(start, start + n)
        options = {"dtype": torch.float64, "device": device, "generator": maker}
        spread = torch.randn(n, **options)
        rate[rows] = torch.exp(spread * 1.8 - 2.302585092994046).clip(5e-4, 50.0)
        tail = (1.0 - torch.rand(n, **options)) ** (-1 / 1.2) - 1.0
        weight[rows] = torch.ceil(tail * 10.0 + 1.0).clip(max=2000.0)
    return rate, weight


def transfers(torch: Any, device: str, rate: Any, weight: Any) -> dict[str, float]:
    """Return the seconds that two columns take to the device, and one back."""
    here = [column.to("cpu") for column in (rate, weight)]
    pinned = device == "cuda"
    staged = torch.empty(min(BLOCK, rate.shape[0]), dtype=rate.dtype, pin_memory=pinned)
    room = torch.empty(staged.shape[0], dtype=rate.dtype, device=device)
    _wait(torch, device)
    began = perf_counter()
    moved = [column.to(device, copy=True) for column in here]
    _wait(torch, device)
    there = perf_counter() - began
    del moved
    began = perf_counter()
    room.copy_(staged, non_blocking=True)
    _wait(torch, device)
    rate_pinned = staged.numel() * staged.element_size() / (perf_counter() - began)
    began = perf_counter()
    here[0].copy_(rate)
    _wait(torch, device)
    size = rate.numel() * rate.element_size()
    return {
        "to_device_s": there,
        "to_device_pinned_s": 2 * size / rate_pinned,
        "from_device_s": perf_counter() - began,
    }


def compiled_pass(torch: Any) -> Callable[..., tuple[float, float]]:
    """Return one pass as ``torch.compile`` fuses it."""
    from halflife.allocation import array_kernel as kernel  # noqa: PLC0415

    def sums(price: Any, first: Any, mass: Any) -> Any:
        frequency, bend = kernel.frequencies_at(price, first, mass)
        total = torch.sum(frequency, dtype=torch.float64)
        return torch.stack([total, -torch.sum(frequency * bend, dtype=torch.float64)])

    fused = torch.compile(sums, dynamic=True)

    def run(price: float, first: Any, mass: Any) -> tuple[float, float]:
        given = torch.tensor(price, dtype=first.dtype, device=first.device)
        total, change = fused(given, first, mass).tolist()
        return total, change

    return run


def triton_pass(torch: Any) -> Callable[..., tuple[float, float]]:
    """Return one pass as a kernel that reads both columns once."""
    from fused_pass import asked  # noqa: PLC0415  (there may be no Triton)

    return asked(torch)


def solved(
    torch: Any,
    device: str,
    kernel: Any,
    rate: Any,
    weight: Any,
    ask: Callable[..., tuple[float, float]],
) -> dict[str, Any]:
    """Return the time of the whole search, and how exact what it finds is."""
    budget = PER_ITEM * rate.shape[0]
    kernel.allocate_array(rate, budget, weight=weight, ask=ask)
    _wait(torch, device)
    began = perf_counter()
    plan = kernel.allocate_array(rate, budget, weight=weight, ask=ask)
    _wait(torch, device)
    took = perf_counter() - began
    one = torch.ones(1, dtype=rate.dtype, device=device).expand(rate.shape[0])
    spent = sum(
        float(plan.frequency[s : s + BLOCK].sum(dtype=torch.float64))
        for s in range(0, rate.shape[0], BLOCK)
    )
    return {
        "search_s": took,
        "passes": plan.passes,
        "price": plan.price,
        "kkt_residual": kernel.residual(plan, rate, weight=weight, cost=one),
        "budget_error": abs(spent / budget - 1.0),
    }


def _best(torch: Any, device: str, way: Callable[..., Any], *given: Any) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        _wait(torch, device)
        began = perf_counter()
        way(*given)
        _wait(torch, device)
        best = min(best, perf_counter() - began)
    return best


def _wait(torch: Any, device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    sys.exit(main())
