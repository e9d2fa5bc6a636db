"""From a profile, the facts and this machine's inventory to the candidates that can be measured.

A candidate of the profile is in when every requirement is met by a fact, its engine is at hand, and its artifact is
here. Unknown never counts as yes: such a candidate stays out, with the question named. Engines that the profile does
not name are judged too, so that a reader sees what was passed over and why.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from assay.core.artifact import read_artifact, write_artifact
from assay.core.caveat import Caveat
from assay.core.errors import BadInputError, Problem, did_you_mean
from assay.core.ids import digest_json, short
from assay.facts import FactBase
from assay.profile import CandidateRequest, LoadedProfile, WorkloadProfile
from assay.shortlist._artifacts import Missing, resolve_artifact
from assay.shortlist._requirements import judge, loadable_formats
from assay.shortlist.types import Artifact, Candidate, InstalledEngine, Inventory, Reason, Rejection, Shortlist

SHORTLIST_KIND = "assay/shortlist/1"
_VERIFY = (
    "each engine serves the model by the name that requests use (readiness asks it to generate)",
    "TTFT and TPOT under the profile's load (experiment: load)",
)


def shortlist(loaded: LoadedProfile, facts: FactBase, inventory: Inventory) -> Shortlist:
    """Judge every candidate of the profile; raises ``BadInputError`` for unknown engines and missing artifacts."""
    profile = loaded.profile
    _require_known_engines(loaded, facts)
    artifacts = _resolve_artifacts(loaded, inventory)
    accepted: list[Candidate] = []
    rejected: list[Rejection] = []
    grounds: dict[str, tuple[Reason, ...]] = {}
    for request in profile.candidates:
        outcome = _judge_request(request, profile, facts, inventory, artifacts)
        if isinstance(outcome, Rejection):
            rejected.append(outcome)
        else:
            candidate, reasons = outcome
            accepted.append(candidate)
            grounds[candidate.id] = reasons
    rejected.extend(_judge_others(profile, facts))
    return Shortlist(candidates=tuple(accepted), rejections=tuple(rejected), grounds=grounds, verify=_VERIFY)


def write_shortlist(path: Path, result: Shortlist, *, profile_digest: str, facts: FactBase) -> str:
    """Write the stage's file and return its digest."""
    inputs = {"profile": profile_digest, "facts": facts.digest}
    return write_artifact(path, kind=SHORTLIST_KIND, body=result, inputs=inputs)


def read_shortlist(path: Path) -> tuple[Shortlist, str]:
    """Return a shortlist and the digest of its file."""
    artifact = read_artifact(path, kind=SHORTLIST_KIND, body_type=Shortlist)
    return artifact.body, artifact.digest


def _require_known_engines(loaded: LoadedProfile, facts: FactBase) -> None:
    engines = facts.subjects("engine")
    problems = [
        Problem(
            where=f"{loaded.source}: candidates[{index}].engine",
            what=f"unknown engine '{request.engine}'",
            next_step=did_you_mean(request.engine, engines) or f"known: {', '.join(engines)}",
        )
        for index, request in enumerate(loaded.profile.candidates)
        if request.engine not in engines
    ]
    if problems:
        raise BadInputError(problems)


def _resolve_artifacts(loaded: LoadedProfile, inventory: Inventory) -> dict[str, Artifact | Missing]:
    """Return each format's artifact; a missing one is an error only when the profile is at fault."""
    resolved: dict[str, Artifact | Missing] = {}
    problems: list[Problem] = []
    for index, source in enumerate(loaded.profile.model.artifacts):
        outcome = resolve_artifact(source, Path(loaded.directory), inventory)
        if isinstance(outcome, Missing) and outcome.is_bad_input:
            problems.append(replace(outcome.problem, where=f"{loaded.source}: model.artifacts[{index}]"))
        resolved.setdefault(source.format, outcome)
    if problems:
        raise BadInputError(problems)
    return resolved


def _judge_request(
    request: CandidateRequest,
    profile: WorkloadProfile,
    facts: FactBase,
    inventory: Inventory,
    artifacts: dict[str, Artifact | Missing],
) -> tuple[Candidate, tuple[Reason, ...]] | Rejection:
    installed = _choose_installed(request, inventory)
    version = installed.version if installed else request.version
    reasons = judge(facts, request.engine, version, profile)
    unmet = tuple(reason for reason in reasons if reason.verdict != "met")
    if unmet:
        return _reject(request, unmet)
    if request.url is not None:
        return _make_candidate(request, profile, None, None), reasons
    if installed is None:
        return _reject(
            request, (_not_installed(request),), f"run: assay engines install {_wanted(request)} --device cpu"
        )
    formats = loadable_formats(facts, request.engine, version, profile)
    artifact = artifacts[formats[0]]
    if isinstance(artifact, Missing):
        text = artifact.problem.what
        return _reject(
            request, (Reason(requirement="artifact", verdict="not met", text=text),), artifact.problem.next_step
        )
    return _make_candidate(request, profile, installed, artifact), reasons


def _choose_installed(request: CandidateRequest, inventory: Inventory) -> InstalledEngine | None:
    at_hand = inventory.engines.get(request.engine, ())
    return next((entry for entry in at_hand if request.version in {None, entry.version}), None)


def _wanted(request: CandidateRequest) -> str:
    return f"{request.engine}=={request.version}" if request.version else request.engine


def _not_installed(request: CandidateRequest) -> Reason:
    return Reason(requirement="installed", verdict="not installed", text=f"{_wanted(request)} is not installed here")


def _reject(request: CandidateRequest, reasons: tuple[Reason, ...], next_step: str | None = None) -> Rejection:
    return Rejection(name=request.name, engine=request.engine, was_asked_for=True, reasons=reasons, next_step=next_step)


def _make_candidate(
    request: CandidateRequest,
    profile: WorkloadProfile,
    installed: InstalledEngine | None,
    artifact: Artifact | None,
) -> Candidate:
    candidate = Candidate(
        id="",
        name=request.name,
        engine=request.engine,
        engine_version=installed.version if installed else request.version,
        python=installed.python if installed else None,
        url=request.url,
        port=request.port,
        artifact=artifact,
        model_name=profile.model.name,
        context_tokens=profile.model.context_tokens,
        settings=dict(request.settings),
        device=profile.hardware.device,
        cores=profile.hardware.cores,
        caveats=tuple(_caveats(request, installed, artifact)),
    )
    return replace(candidate, id=_candidate_id(candidate))


def _candidate_id(candidate: Candidate) -> str:
    """Return a slug of the name and a digest of what the candidate is; where it lies on this machine does not count."""
    identity = {
        "engine": candidate.engine,
        "version": candidate.engine_version,
        "artifact": candidate.artifact.digest if candidate.artifact else None,
        "url": candidate.url,
        "context_tokens": candidate.context_tokens,
        "settings": dict(candidate.settings),
        "device": candidate.device,
        "cores": candidate.cores,
    }
    slug = re.sub(r"[^a-z0-9]+", "-", candidate.name.lower()).strip("-")[:40] or "candidate"
    return f"{slug}-{short(digest_json(identity))[:6]}"


def _caveats(
    request: CandidateRequest, installed: InstalledEngine | None, artifact: Artifact | None
) -> Iterable[Caveat]:
    if installed is not None:
        yield from (replace(caveat, subject=request.name) for caveat in installed.caveats)
    if artifact is not None and artifact.converted_from is not None:
        yield Caveat(
            id="converted-artifact",
            subject=request.name,
            text=f"Serves weights converted from {artifact.converted_from} to {artifact.format}: other bytes and other"
            " kernels than the candidates that serve the original, so a difference is not the engine's alone.",
            remedy="Compare engines on one artifact, or prove equal quality first.",
        )
    if request.url is not None:
        yield Caveat(
            id="attached-server",
            subject=request.name,
            text="Runs outside Assay: its version, settings and start are not under control, and blocks are not"
            " separated by fresh starts.",
            remedy="Let Assay start the engine.",
        )


def _judge_others(profile: WorkloadProfile, facts: FactBase) -> Iterable[Rejection]:
    """Return the engines that the profile does not name, with what the facts say of them."""
    asked = {request.engine for request in profile.candidates}
    for engine in facts.subjects("engine"):
        if engine in asked:
            continue
        unmet = tuple(reason for reason in judge(facts, engine, None, profile) if reason.verdict != "met")
        not_asked = Reason(requirement="asked for", verdict="not met", text="the profile names no candidate of it")
        title = facts.titles.get(engine, engine)
        yield Rejection(name=title, engine=engine, was_asked_for=False, reasons=unmet or (not_asked,))
