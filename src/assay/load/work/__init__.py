"""What is asked? Requests made up by length, read from a data set, or rebuilt from a trace of real traffic.

Each source returns a ``Workload``: the requests, their arrival times where the source knows them, and what had to be
left out. A source draws from one seed, so the same call gives the same requests byte for byte.
"""

from assay.load.work.dataset import read_dataset
from assay.load.work.lengths import Fixed, Lengths, LogNormal, Pairs, Uniform, parse_lengths
from assay.load.work.synthetic import shared_prefix, synthetic, synthetic_sessions
from assay.load.work.types import Clip, Workload

__all__ = [
    "Clip",
    "Fixed",
    "Lengths",
    "LogNormal",
    "Pairs",
    "Uniform",
    "Workload",
    "parse_lengths",
    "read_dataset",
    "shared_prefix",
    "synthetic",
    "synthetic_sessions",
]
