"""Formulas, with their sources. Pure."""

from zoo.stats.family import Adjusted, holm
from zoo.stats.outlying import outlier
from zoo.stats.precision import rounds_for, sd_at_most
from zoo.stats.ratio import Ratio, paired_ratio, t_quantile, unpaired_ratio

__all__ = [
    "Adjusted",
    "Ratio",
    "holm",
    "outlier",
    "paired_ratio",
    "rounds_for",
    "sd_at_most",
    "t_quantile",
    "unpaired_ratio",
]
