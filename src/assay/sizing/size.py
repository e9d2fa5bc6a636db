"""Will it fit? Weights as stored plus the KV cache that the settings reserve, against the hardware's memory.

KV bytes = tokens x layers x KV heads x (key dim + value dim) x bits / 8 (planners' formula for MHA, GQA and MQA).
Left out, and said so in the notes: activations and the engine's own overhead.
"""

from collections.abc import Mapping
from pathlib import Path

from assay.core.artifact import read_artifact, write_artifact
from assay.core.units import GIB
from assay.facts import FactBase
from assay.profile import WorkloadProfile
from assay.shortlist import Candidate, Shortlist
from assay.sizing._shape import read_shape
from assay.sizing.types import CandidateSize, ModelShape, SizingPlan, Term, Verdict

SIZING_KIND = "assay/sizing/1"
_KV_TYPE_SETTINGS = {"llama.cpp": ("cache-type-k", "cache-type-v"), "vllm": ("kv-cache-dtype", "kv-cache-dtype")}
_KV_TYPE_DEFAULT = {"llama.cpp": "f16", "vllm": "auto"}
_SEQUENCES_SETTING = {"llama.cpp": "parallel", "vllm": "max-num-seqs"}
_OVERHEAD_NOTE = "activations and the engine's own overhead are not in this figure"


def size(profile: WorkloadProfile, shortlist: Shortlist, facts: FactBase, *, machine_bytes: int | None) -> SizingPlan:
    """Size every candidate; ``machine_bytes`` is this machine's memory, used where the profile gives none.

    Raises ``BadInputError`` for an artifact that is not what its format says.
    """
    shapes: dict[str, ModelShape] = {}
    for candidate in shortlist.candidates:
        artifact = candidate.artifact
        if artifact is not None and artifact.digest not in shapes:
            shapes[artifact.digest] = read_shape(artifact)
    given = profile.hardware.memory_gib
    available = int(given * GIB) if given is not None else machine_bytes
    return SizingPlan(
        sizes=tuple(_size_candidate(candidate, shapes, facts, available) for candidate in shortlist.candidates)
    )


def write_sizing(path: Path, plan: SizingPlan, *, shortlist_digest: str, facts: FactBase) -> str:
    """Write the stage's file and return its digest."""
    inputs = {"shortlist": shortlist_digest, "facts": facts.digest}
    return write_artifact(path, kind=SIZING_KIND, body=plan, inputs=inputs)


def read_sizing(path: Path) -> tuple[SizingPlan, str]:
    """Return a sizing plan and the digest of its file."""
    artifact = read_artifact(path, kind=SIZING_KIND, body_type=SizingPlan)
    return artifact.body, artifact.digest


def _size_candidate(
    candidate: Candidate, shapes: Mapping[str, ModelShape], facts: FactBase, available: int | None
) -> CandidateSize:
    shape = shapes.get(candidate.artifact.digest) if candidate.artifact else None
    if shape is None:
        return _unknown(candidate, available, "runs outside Assay: its memory is not ours to size")
    kv_term = _kv_term(candidate, shape, facts)
    if kv_term is None:
        return _unknown(candidate, available, "its KV cache type has no known size", shape)
    weights = Term(name="weights", size_bytes=shape.weights_bytes, formula="sum of all tensors as stored")
    needed = weights.size_bytes + kv_term.size_bytes
    fits: Verdict = "unknown" if available is None else ("fits" if needed <= available else "does not fit")
    return CandidateSize(
        candidate_id=candidate.id,
        candidate_name=candidate.name,
        shape=shape,
        terms=(weights, kv_term),
        needed_bytes=needed,
        available_bytes=available,
        verdict=fits,
        notes=(_OVERHEAD_NOTE, *_context_notes(candidate, shape)),
    )


def _unknown(candidate: Candidate, available: int | None, note: str, shape: ModelShape | None = None) -> CandidateSize:
    return CandidateSize(
        candidate_id=candidate.id,
        candidate_name=candidate.name,
        shape=shape,
        terms=(),
        needed_bytes=None,
        available_bytes=available,
        verdict="unknown",
        notes=(note,),
    )


def _kv_term(candidate: Candidate, shape: ModelShape, facts: FactBase) -> Term | None:
    key_bits, value_bits = (_kv_bits(candidate, name, facts) for name in _KV_TYPE_SETTINGS[candidate.engine])
    if key_bits is None or value_bits is None:
        return None
    sequences = candidate.settings.get(_SEQUENCES_SETTING[candidate.engine], 1)
    tokens = candidate.context_tokens * int(sequences)
    bits = shape.key_dim * key_bits + shape.value_dim * value_bits
    size_bytes = int(tokens * shape.layers * shape.kv_heads * bits / 8)
    formula = (
        f"{candidate.context_tokens} tokens x {sequences} sequences x {shape.layers} layers x {shape.kv_heads} KV heads"
        f" x ({shape.key_dim} x {key_bits:g} + {shape.value_dim} x {value_bits:g}) bits / 8"
    )
    return Term(name="KV cache at full use", size_bytes=size_bytes, formula=formula)


def _kv_bits(candidate: Candidate, setting: str, facts: FactBase) -> float | None:
    kind = candidate.settings.get(setting, _KV_TYPE_DEFAULT[candidate.engine])
    fact = facts.find(f"kv.{kind}", "bits_per_element")
    return float(fact.value) if fact is not None and isinstance(fact.value, int | float) else None


def _context_notes(candidate: Candidate, shape: ModelShape) -> tuple[str, ...]:
    limit = shape.trained_context_tokens
    if limit is not None and candidate.context_tokens > limit:
        return (f"the profile's context of {candidate.context_tokens} tokens exceeds the model's {limit}",)
    return ()
