"""Statistical formulas, with their sources. Pure."""

from zoo.stats.interval import AdjustedP, find_outlier, holm, rounds_for, rounds_for_ratio, sd_upper_bound
from zoo.stats.pair_interval import (
    Prior,
    Ratio,
    Sample,
    fit_prior,
    student_ratio,
    t_quantile,
    unpaired_ratio,
)

__all__ = [
    "AdjustedP",
    "Prior",
    "Ratio",
    "Sample",
    "find_outlier",
    "fit_prior",
    "holm",
    "rounds_for",
    "rounds_for_ratio",
    "sd_upper_bound",
    "student_ratio",
    "t_quantile",
    "unpaired_ratio",
]
