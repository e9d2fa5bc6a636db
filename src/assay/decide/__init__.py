"""Which candidate, and what would change that?"""

from assay.decide._metrics import FORMULAS, describe_value, title_of
from assay.decide.decide import decide, is_higher_better, read_decision, write_decision
from assay.decide.types import CandidateFigures, Decision, GateResult, Quantiles

__all__ = [
    "FORMULAS",
    "CandidateFigures",
    "Decision",
    "GateResult",
    "Quantiles",
    "decide",
    "describe_value",
    "is_higher_better",
    "read_decision",
    "title_of",
    "write_decision",
]
