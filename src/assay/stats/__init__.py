"""What do the records say, how surely?"""

from assay.stats.compare import MIN_BLOCKS, Comparison, Interval, compare
from assay.stats.summarize import is_good, summarize
from assay.stats.types import MetricSummary, Quantile, SloLimits, Summary, Window

__all__ = [
    "MIN_BLOCKS",
    "Comparison",
    "Interval",
    "MetricSummary",
    "Quantile",
    "SloLimits",
    "Summary",
    "Window",
    "compare",
    "is_good",
    "summarize",
]
