"""Will it fit, with which layout?"""

from assay.sizing.size import read_sizing, size, write_sizing
from assay.sizing.types import CandidateSize, ModelShape, SizingPlan, Term

__all__ = ["CandidateSize", "ModelShape", "SizingPlan", "Term", "read_sizing", "size", "write_sizing"]
