"""The decision in words: the same sentences go to the terminal, to ``decision.json`` and to the report."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from assay.core.units import format_duration, format_number, format_percent
from assay.decide._metrics import describe_value, title_of
from assay.decide.types import Answer, CandidateFigures
from assay.experiments import Plan
from assay.stats import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """All that the sentences are made from."""

    plan: Plan
    figures: tuple[CandidateFigures, ...]
    contenders: tuple[CandidateFigures, ...]
    comparisons: tuple[Comparison, ...]
    answer: Answer
    more_blocks: int | None
    run_directory: str
    profile_source: str
    seconds_per_block: float | None
    """Mean time of a block so far; ``None`` before one is finished."""

    def headline(self) -> str:
        """Return the answer in one sentence."""
        match self.answer:
            case "chosen":
                return f"Take {self._leader.name}."
            case "equivalent":
                return f"Take {self._leader.name}; {_join(self._equals())} would do as well."
            case "none fits":
                return "No candidate meets the requirements."
            case "inconclusive":
                return self._open_headline()

    def argument(self) -> tuple[str, ...]:
        """Return why, by how much and how surely, one sentence or two a line."""
        lines = [self._objective_line()] if self.contenders else []
        lines += [self._pair_line(entry) for entry in self.comparisons if entry.b in self._rival_ids]
        lines += list(self._gate_lines())
        return tuple(lines)

    def would_change(self) -> tuple[str, ...]:
        """Return what would settle or change the answer, with the commands."""
        match self.answer:
            case "inconclusive":
                return tuple(self._settling_lines())
            case "none fits":
                return ("Loosen the limit that fails in the profile's `slo`, or add a candidate that is faster",)
            case _:
                return (
                    "Another request mix, rate, context or hardware: the figures hold for this profile alone",
                    "A change of the engine's version, settings or model file: it makes another candidate",
                )

    @property
    def _leader(self) -> CandidateFigures:
        return self.contenders[0]

    @property
    def _rival_ids(self) -> set[str]:
        return {entry.candidate_id for entry in self.contenders[1:]}

    def _name(self, candidate_id: str) -> str:
        return next(entry.name for entry in self.figures if entry.candidate_id == candidate_id)

    def _equals(self) -> list[str]:
        return [self._name(entry.b) for entry in self.comparisons if entry.answer == "equivalent"]

    def _open_headline(self) -> str:
        if not self.contenders:
            return "Inconclusive: no candidate has enough evidence yet."
        if self.more_blocks is None:
            return "Inconclusive: more blocks like these are not likely to tell."
        blocks = "block" if self.more_blocks == 1 else "blocks"
        lead = f"{self._leader.name} leads, but " if len(self.contenders) > 1 else ""
        return f"Inconclusive: {lead}{self.more_blocks} more {blocks} would tell."

    def _settling_lines(self) -> Iterable[str]:
        if not self.contenders:
            yield f"Finish the trials: `assay run {shlex.quote(self.run_directory)}`"
            return
        if self.more_blocks is not None:
            blocks = self.plan.blocks + self.more_blocks
            takes = "" if self.seconds_per_block is None else f", {self._duration()} more"
            command = shlex.join(
                ["assay", "select", self.profile_source, "--out", self.run_directory, "--blocks", str(blocks)]
            )
            yield f"Run {blocks} blocks{takes}: `{command}`"
        if self.more_blocks is None or self.more_blocks > self.plan.blocks:
            yield (
                "Make each trial say more: end other programs on this machine, or raise the profile's"
                " `traffic.requests_per_trial`"
            )
            yield "Or accept a wider `objective.margin`, if so small a difference does not matter to you"

    def _duration(self) -> str:
        seconds = (self.seconds_per_block or 0.0) * (self.more_blocks or 0)
        return f"about {format_duration(seconds)}"

    def _objective_line(self) -> str:
        value = describe_value(self.plan.primary_metric, self._leader.objective)
        lead = "leads with" if self.answer == "inconclusive" and len(self.contenders) > 1 else "has"
        title, blocks = title_of(self.plan.primary_metric), self._leader.blocks
        basis = "one block" if blocks == 1 else f"geometric mean of {blocks} blocks"
        return f"{self._leader.name} {lead} {value} ({title}, {basis})."

    def _pair_line(self, entry: Comparison) -> str:
        name = self._name(entry.b)
        if entry.ratio is None:
            return f"It cannot be compared with {name}: {entry.reason}"
        interval = entry.interval
        spread = (
            ""
            if interval is None
            else f" ({format_percent(interval.confidence)} interval {format_number(interval.low)} to"
            f" {format_number(interval.high)})"
        )
        return f"That is {format_number(entry.ratio)} times the figure of {name}{spread}. {entry.reason}"

    def _gate_lines(self) -> Iterable[str]:
        for entry in self.figures:
            for gate in entry.gates:
                if gate.verdict == "fail":
                    yield f"{entry.name} is out: {gate.text}"
                elif gate.verdict == "not proven" and entry in self.contenders:
                    yield f"{entry.name}: whether it keeps the SLO is not proven. {gate.text}"
                elif gate.verdict == "no evidence" and gate.gate == "starts":
                    yield f"{entry.name}: {gate.text}"


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
