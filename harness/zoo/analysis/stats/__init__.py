"""Formulas, with their sources. Pure."""

from zoo.analysis.stats.interval import Adjusted, holm, outlier, rounds_for, sd_at_most
from zoo.analysis.stats.ratio import Prior, Ratio, Sample, fit_prior, student_ratio, t_quantile, unpaired_ratio

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
