"""The decision in words: the same sentences go to the terminal, to ``decision.json`` and to the report."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.core.units import format_number, format_percent
from assay.decide._metrics import describe_value, title_of
from assay.decide.types import Answer, CandidateFigures
from assay.experiments import Plan
from assay.stats import MIN_BLOCKS, Comparison


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
        lines: list[str] = []
        if self.answer == "inconclusive" and self.contenders:
            lines.append(f"Run more blocks: `assay select {self._profile_hint} --blocks {self._target_blocks()}`")
        if self.answer == "none fits":
            lines.append("Loosen the limit that fails in the profile's `slo`, or give a candidate that is faster")
        if self.answer in {"chosen", "equivalent"}:
            lines.append("Another request mix, rate, context or hardware: the figures hold for this profile alone")
            lines.append("A change of the engine's version, settings or model file: it makes another candidate")
        return tuple(lines)

    @property
    def _leader(self) -> CandidateFigures:
        return self.contenders[0]

    @property
    def _rival_ids(self) -> set[str]:
        return {entry.candidate_id for entry in self.contenders[1:]}

    @property
    def _profile_hint(self) -> str:
        return f"PROFILE --out {self.run_directory}"

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

    def _target_blocks(self) -> int:
        return self.plan.blocks + (self.more_blocks or MIN_BLOCKS)

    def _objective_line(self) -> str:
        value = describe_value(self.plan.primary_metric, self._leader.objective)
        lead = "leads with" if self.answer == "inconclusive" and len(self.contenders) > 1 else "has"
        return (
            f"{self._leader.name} {lead} {value} ({title_of(self.plan.primary_metric)}, geometric mean of"
            f" {self._leader.blocks} blocks)."
        )

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
        return f"That is {format_number(entry.ratio)} times {name}'s{spread}. {entry.reason}"

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
