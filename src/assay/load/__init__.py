"""What happened to each scheduled request? The load generator; a library of its own, which imports ``core`` alone.

``run_load`` sends the requests of a ``Schedule`` to a ``Target`` and leaves one ``RequestRecord`` a request on disk.
Nothing here imports numpy or pyarrow before it is used: the worker processes start from this package.
"""

from assay.load.records import load_records, load_run_info
from assay.load.run_load import run_load
from assay.load.schedule import (
    Schedule,
    closed_loop,
    constant,
    gamma,
    load_schedule,
    poisson,
    save_schedule,
)
from assay.load.types import (
    Api,
    LoadOptions,
    LoadProgress,
    LoadRequest,
    LoadResult,
    Message,
    Outcome,
    RequestRecord,
    RunInfo,
    Secret,
    StampSource,
    Target,
    WorkerReport,
)

__all__ = [
    "Api",
    "LoadOptions",
    "LoadProgress",
    "LoadRequest",
    "LoadResult",
    "Message",
    "Outcome",
    "RequestRecord",
    "RunInfo",
    "Schedule",
    "Secret",
    "StampSource",
    "Target",
    "WorkerReport",
    "closed_loop",
    "constant",
    "gamma",
    "load_records",
    "load_run_info",
    "load_schedule",
    "poisson",
    "run_load",
    "save_schedule",
]
