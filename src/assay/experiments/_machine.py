"""What else the machine is doing before a trial, for a busy machine measures itself."""

from assay.core.caveat import Caveat
from assay.core.units import format_percent
from assay.experiments.types import MachineState

_LOOK_S = 0.25
# Half of one core of two: above it another program takes a visible part of what the engine would get.
_BUSY_SHARE = 0.25


def look_at_machine() -> MachineState:
    """Watch the processors for a quarter of a second, and read load and memory."""
    import psutil

    return MachineState(
        busy_share=psutil.cpu_percent(interval=_LOOK_S) / 100,
        load_average_1min=psutil.getloadavg()[0],
        available_memory_bytes=psutil.virtual_memory().available,
    )


def machine_caveats(state: MachineState, trial_id: str) -> tuple[Caveat, ...]:
    """Return the doubt that a busy machine casts on a trial."""
    if state.busy_share < _BUSY_SHARE:
        return ()
    return (
        Caveat(
            id="busy-machine",
            subject=trial_id,
            text=f"{format_percent(state.busy_share)} of the processors were busy before the engine started.",
            remedy="End other programs and run the trial again.",
        ),
    )
