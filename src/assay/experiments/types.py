"""A plan (which trials, in which order, judged how) and a trial's result (what one measurement left behind)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from assay.core.caveat import Caveat
from assay.profile import ObjectiveMetric, Slo, Traffic
from assay.shortlist import Candidate

BudgetName = Literal["quick", "standard", "thorough"]
Phase = Literal["skipped", "starting", "warming up", "measuring", "stopping", "finished", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measurement of one candidate: a fresh engine start, a warm-up, and one load."""

    id: str
    """Block, place in the block and candidate; also the name of its directory."""
    experiment: Literal["load"]
    block: int
    """Number of its block, from 1; all candidates of a block get the same requests."""
    position: int
    """Place in the block's random order, from 1."""
    candidate_id: str
    seed: int
    """Seed of the block's requests and arrivals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be run, written down before the first measurement."""

    budget: BudgetName
    blocks: int
    trials: tuple[Trial, ...]
    candidates: tuple[Candidate, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Candidates of the shortlist that are not run, by name, and why."""
    traffic: Traffic
    slo: Slo
    primary_metric: ObjectiveMetric
    margin: float
    confidence: float
    seed: int
    extended_from_blocks: int | None = None
    """Blocks of the plan that this one extends after its results were seen; ``None`` for a first plan."""

    def candidate(self, candidate_id: str) -> Candidate:
        """Return a candidate by id; raises ``KeyError``."""
        return next(entry for entry in self.candidates if entry.id == candidate_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPhases:
    """How long a start took, in seconds from the process start; ``None`` for a server that ran already."""

    answered_s: float | None
    """First HTTP answer of any status."""
    healthy_s: float | None
    """Health path answered 200."""
    generated_s: float | None
    """The target model had generated its first tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """The machine just before a trial's engine start."""

    busy_share: float
    """Share of all processor time that was used, over a short look (0 to 1)."""
    load_average_1min: float
    available_memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What a finished trial says; raw records lie beside it and every figure can be computed again."""

    trial: Trial
    candidate_name: str
    started_at_utc: str
    duration_s: float
    """Whole trial, engine start and stop included."""
    start: StartPhases
    engine_version: str | None
    """As the running server reports it, else as installed; ``None`` when neither is known."""
    argv: tuple[str, ...]
    """Command line; empty for an attached server."""
    environment: Mapping[str, str]
    """Variables set for the engine beyond our own."""
    exit_code: int | None
    """Engine's exit code after SIGTERM; ``None`` for an attached server."""
    was_killed: bool
    """Whether SIGTERM was not enough."""
    outcomes: Mapping[str, int]
    """Number of requests by outcome; they add up to what was offered."""
    machine: MachineState
    files: Mapping[str, str]
    """Digest of each file of the evidence, by its name in the trial's directory."""
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTrial:
    """A trial that did not finish: kept as evidence, and tried again by the next run."""

    trial: Trial
    candidate_name: str
    failed_at_utc: str
    reason: str
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """Where a run stands, for a display."""

    phase: Phase
    trial: Trial
    candidate_name: str
    number: int
    """Place of the trial in the whole plan, from 1."""
    total: int
    text: str = ""
    """Interim figures or the reason, for people."""
    share: float = 0.0
    """Part of this trial's requests that have ended (0 to 1)."""


class Tell(Protocol):
    """Says where a trial stands."""

    def __call__(self, phase: Phase, text: str = "", share: float = 0.0) -> None:
        """Report a phase, with interim figures and the share of the trial's requests that have ended."""
        ...
