"""The requests of a block: the same for every candidate, different from block to block.

A prompt is made of common English words, about one token each in the vocabularies of today's models, and opens with
words of its own, so that a prefix cache finds nothing but the chat template. The server's own count of prompt tokens
stands in the records beside the length that was meant.
"""

from pathlib import Path
from random import Random

from assay.load import LoadRequest, Message, Schedule, closed_loop, poisson
from assay.profile import RequestClass, Traffic

_WORDS = tuple(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())
_GREEDY = {"temperature": 0.0, "ignore_eos": True}
"""The same tokens from run to run, and as many as asked for, so that all candidates do equal work."""


def make_requests(traffic: Traffic, count: int, seed: int, *, purpose: str) -> tuple[LoadRequest, ...]:
    """Return ``count`` requests of the traffic's mix, drawn from ``seed``; ``purpose`` keeps warm-up apart."""
    rng = Random(f"assay/work/{purpose}/{seed}")  # noqa: S311 - a workload, not a secret.
    return tuple(_make_request(entry, rng) for entry in _draw_classes(traffic, count, rng))


def make_schedule(traffic: Traffic, seed: int) -> Schedule:
    """Return the arrivals of one trial's measured requests."""
    if traffic.concurrency is not None:
        return closed_loop(concurrency=traffic.concurrency, total=traffic.requests_per_trial)
    if traffic.rate_rps is None:
        raise ValueError("traffic has neither a rate nor a concurrency")
    return poisson(rate_rps=traffic.rate_rps, total=traffic.requests_per_trial, seed=seed)


def _draw_classes(traffic: Traffic, count: int, rng: Random) -> list[RequestClass]:
    """Return classes in shares as exact as ``count`` allows (largest remainder), in random order."""
    exact = [entry.share * count for entry in traffic.classes]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda index: counts[index] - exact[index])
    for index in by_remainder[: count - sum(counts)]:
        counts[index] += 1
    drawn = [entry for entry, number in zip(traffic.classes, counts, strict=True) for _ in range(number)]
    rng.shuffle(drawn)
    return drawn


def _make_request(entry: RequestClass, rng: Random) -> LoadRequest:
    words = " ".join(rng.choice(_WORDS) for _ in range(entry.isl_tokens))
    return LoadRequest(
        messages=(Message(role="user", content=words),),
        max_tokens=entry.osl_tokens,
        class_name=entry.name,
        prompt_tokens=entry.isl_tokens,
        extra_body=_GREEDY,
    )
