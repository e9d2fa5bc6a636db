"""Assay: from a workload profile to a proven, pinned LLM inference runtime, with evidence for every step."""

__version__ = "0.1.0"
