"""Formulas, with their sources. Pure."""

from zoo.analysis.stats.family import Adjusted, holm
from zoo.analysis.stats.outlying import outlier
from zoo.analysis.stats.precision import rounds_for, sd_at_most
from zoo.analysis.stats.prior import Prior, Sample, fit_prior
from zoo.analysis.stats.ratio import Ratio, student_ratio, t_quantile, unpaired_ratio

__all__ = [
    "Adjusted",
    "Prior",
    "Ratio",
    "Sample",
    "fit_prior",
    "holm",
    "outlier",
    "rounds_for",
    "sd_at_most",
    "student_ratio",
    "t_quantile",
    "unpaired_ratio",
]
