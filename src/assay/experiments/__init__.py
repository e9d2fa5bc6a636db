"""The experiments: which trials are run, in which order, and what evidence they leave."""

from assay.experiments._store import RECORDS_NAME, RESULT_NAME, RunStore, only_writer
from assay.experiments.plan import BLOCKS_BY_BUDGET, plan, read_plan, write_plan
from assay.experiments.run_plan import run_plan
from assay.experiments.types import (
    BudgetName,
    FailedTrial,
    MachineState,
    Plan,
    RunProgress,
    StartPhases,
    Trial,
    TrialResult,
)

__all__ = [
    "BLOCKS_BY_BUDGET",
    "RECORDS_NAME",
    "RESULT_NAME",
    "BudgetName",
    "FailedTrial",
    "MachineState",
    "Plan",
    "RunProgress",
    "RunStore",
    "StartPhases",
    "Trial",
    "TrialResult",
    "only_writer",
    "plan",
    "read_plan",
    "run_plan",
    "write_plan",
]
