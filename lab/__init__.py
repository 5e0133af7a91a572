"""Experiments and benchmarks: they use halflife and are not part of the wheel."""
