"""Tables IV and V of Ipeirotis et al., TODS 2007: how summaries of databases drift.

Times are in weeks, logarithms natural. Baselines are of a database with ln|D| = 0,
divergence 0 and threshold 0. In the row of QBS with all three features the rates of edu
and gov stand the other way round from every other row of Table V; they are kept as
printed.
"""

from typing import Literal, TypeAlias

Method: TypeAlias = Literal["QBS", "FPS", "CMPL"]
Feature: TypeAlias = Literal["size", "divergence", "threshold"]

DOMAINS = ("com", "edu", "gov", "misc", "org")

ALL: tuple[Feature, ...] = ("size", "divergence", "threshold")
SIZE: tuple[Feature, ...] = ("size", "threshold")
DIVERGENCE: tuple[Feature, ...] = ("divergence", "threshold")

# Table IV: coefficients of ln|D|, kappa_1 and tau, in the order of the features.
COEFFICIENTS: dict[tuple[Method, tuple[Feature, ...]], tuple[float, ...]] = {
    ("QBS", ALL): (0.094, 6.762, -1.305),
    ("QBS", SIZE): (0.179, -1.313),
    ("QBS", DIVERGENCE): (8.3, -1.308),
    ("FPS", ALL): (0.135, 10.143, -1.329),
    ("FPS", SIZE): (0.179, -1.313),
    ("FPS", DIVERGENCE): (14.765, -1.24),
    ("CMPL", ALL): (0.155, 2.849, -1.3712),
    ("CMPL", SIZE): (0.178, -1.302),
    ("CMPL", DIVERGENCE): (3.198, -1.225),
}

# Table V: rates and shapes of the baselines, in the order of the domains.
BASELINES: dict[
    tuple[Method, tuple[Feature, ...]], tuple[tuple[float, ...], tuple[float, ...]]
] = {
    ("QBS", ALL): (
        (0.0180, 0.0205, 0.0393, 0.0236, 0.0274),
        (0.901, 0.585, 0.780, 1.050, 0.724),
    ),
    ("QBS", SIZE): (
        (0.0211, 0.0392, 0.0193, 0.0163, 0.0239),
        (0.844, 0.578, 0.701, 1.072, 0.723),
    ),
    ("QBS", DIVERGENCE): (
        (0.0320, 0.0774, 0.0245, 0.0500, 0.0542),
        (0.886, 0.576, 0.795, 1.014, 0.715),
    ),
    ("FPS", ALL): (
        (2.65e-4, 3.40e-4, 1.85e-4, 1.90e-4, 3.74e-4),
        (0.787, 0.670, 0.710, 1.020, 0.764),
    ),
    ("FPS", SIZE): (
        (0.0211, 0.0392, 0.0193, 0.0163, 0.0239),
        (0.844, 0.578, 0.701, 1.072, 0.723),
    ),
    ("FPS", DIVERGENCE): (
        (7.59e-5, 1.20e-4, 5.92e-5, 6.69e-5, 7.46e-5),
        (0.743, 0.641, 0.722, 0.920, 0.728),
    ),
    ("CMPL", ALL): (
        (0.0315, 0.0267, 0.0181, 0.00589, 0.02587),
        (0.800, 0.784, 0.767, 1.41, 0.811),
    ),
    ("CMPL", SIZE): (
        (0.0241, 0.0364, 0.0209, 0.0227, 0.0260),
        (0.753, 0.683, 0.685, 1.020, 0.773),
    ),
    ("CMPL", DIVERGENCE): (
        (0.1058, 0.1044, 0.0729, 0.0294, 0.0942),
        (0.7093, 0.7371, 0.7478, 1.24, 0.7685),
    ),
}
