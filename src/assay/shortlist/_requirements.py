"""How an engine stands to each requirement of a profile, by the facts alone."""

from assay.facts import FactBase
from assay.profile import WorkloadProfile
from assay.shortlist.types import Reason


def judge(facts: FactBase, engine: str, version: str | None, profile: WorkloadProfile) -> tuple[Reason, ...]:
    """Return one reason a requirement: device, task, and an artifact in a format that the engine loads."""
    device = _judge_one(
        facts, engine, version, f"device.{profile.hardware.device}", ("run", f"on {profile.hardware.device}")
    )
    task = _judge_one(facts, engine, version, f"task.{profile.task}", ("serve", profile.task))
    return (device, task, _judge_formats(facts, engine, version, profile))


def loadable_formats(facts: FactBase, engine: str, version: str | None, profile: WorkloadProfile) -> tuple[str, ...]:
    """Return the formats of the profile's artifacts that the engine is known to load, in the profile's order."""
    formats = (source.format for source in profile.model.artifacts)
    return tuple(name for name in formats if _is_true(facts, engine, version, f"format.{name}"))


def _is_true(facts: FactBase, engine: str, version: str | None, key: str) -> bool:
    fact = facts.find(engine, key, version=version)
    return fact is not None and fact.value is True


def _judge_one(facts: FactBase, engine: str, version: str | None, key: str, claim: tuple[str, str]) -> Reason:
    """Judge one property; ``claim`` is the verb and its object, such as ``("run", "on cpu")``."""
    verb, thing = claim
    fact = facts.find(engine, key, version=version)
    title = facts.titles.get(engine, engine)
    requirement = key.replace(".", " ")
    if fact is None:
        return Reason(requirement=requirement, verdict="unknown", text=f"not known whether {title} can {verb} {thing}")
    is_met = fact.value is True
    return Reason(
        requirement=requirement,
        verdict="met" if is_met else "not met",
        text=f"{title} {verb}s {thing}" if is_met else f"{title} does not {verb} {thing}",
        source=fact.source,
        as_of=fact.as_of,
    )


def _judge_formats(facts: FactBase, engine: str, version: str | None, profile: WorkloadProfile) -> Reason:
    reasons = [
        _judge_one(facts, engine, version, f"format.{source.format}", ("load", source.format))
        for source in profile.model.artifacts
    ]
    for verdict in ("met", "unknown"):
        for reason in reasons:
            if reason.verdict == verdict:
                return reason
    return reasons[0]
