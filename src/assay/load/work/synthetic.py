"""Requests made up by length: alone, with shared prefixes, or as sessions of several turns."""

from dataclasses import dataclass
from random import Random
from typing import Any

from assay.load.types import LoadRequest, Message
from assay.load.work.lengths import Lengths, Pairs
from assay.load.work.text import words
from assay.load.work.types import Workload


def synthetic(
    *,
    count: int,
    prompt: Lengths,
    output: Lengths,
    seed: int,
    pairs: Pairs | None = None,
    class_name: str = "synthetic",
) -> Workload:
    """Return ``count`` requests whose prompts share nothing; ``pairs`` draws both lengths together instead."""
    rng = _rng("synthetic", seed)
    requests = []
    for _ in range(count):
        n_prompt, n_output = pairs.draw(rng) if pairs else (prompt.draw(rng), output.draw(rng))
        requests.append(_request(words(n_prompt, rng), n_prompt, n_output, class_name))
    return Workload(requests=tuple(requests), source="synthetic", rows=count)


def shared_prefix(
    *, count: int, groups: int, prefix_tokens: int, prompt: Lengths, output: Lengths, seed: int
) -> Workload:
    """Return requests of ``groups`` groups in random order; all of one group open with the same prefix.

    Each request costs ``prefix_tokens`` and its own prompt; a prefix cache saves the former from the group's second on.
    """
    rng = _rng("shared-prefix", seed)
    prefixes = [words(prefix_tokens, rng) for _ in range(groups)]
    requests = []
    for _ in range(count):
        group = rng.randrange(groups)
        n_own, n_output = prompt.draw(rng), output.draw(rng)
        text = f"{prefixes[group]} {words(n_own, rng)}"
        requests.append(_request(text, prefix_tokens + n_own, n_output, f"group-{group}"))
    return Workload(requests=tuple(requests), source="shared prefixes", rows=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionShape:
    """How sessions look."""

    turns: int
    prompt: Lengths
    """Of each user message."""
    output: Lengths
    think_time_s: float = 0.0
    """Mean pause before a further turn, exponential."""


def synthetic_sessions(*, sessions: int, shape: SessionShape, seed: int) -> Workload:
    """Return the turns of sessions; each turn carries the whole conversation so far.

    Earlier answers are made-up text of the wanted length, not what the server said, so that every server gets the same
    work. A prefix cache can therefore reuse only what precedes the first of them.
    """
    rng = _rng("sessions", seed)
    requests: list[LoadRequest] = []
    for session in range(sessions):
        messages: list[Message] = []
        n_so_far = 0
        for turn in range(shape.turns):
            n_prompt, n_output = shape.prompt.draw(rng), shape.output.draw(rng)
            messages.append(Message(role="user", content=words(n_prompt, rng)))
            n_so_far += n_prompt
            requests.append(
                LoadRequest(
                    messages=tuple(messages),
                    max_tokens=n_output,
                    class_name=f"turn-{turn + 1}",
                    prompt_tokens=n_so_far,
                    session=session,
                    think_time_s=_think(shape.think_time_s, rng) if turn else 0.0,
                )
            )
            messages.append(Message(role="assistant", content=words(n_output, rng)))
            n_so_far += n_output
    return Workload(requests=tuple(requests), source="synthetic sessions", rows=len(requests))


def _think(mean_s: float, rng: Random) -> float:
    return rng.expovariate(1 / mean_s) if mean_s > 0 else 0.0


def _request(text: str, n_prompt: int, n_output: int, class_name: str) -> LoadRequest:
    message = Message(role="user", content=text)
    return LoadRequest(messages=(message,), max_tokens=n_output, class_name=class_name, prompt_tokens=n_prompt)


def _rng(purpose: str, seed: Any) -> Random:
    return Random(f"assay/{purpose}/{seed}")  # noqa: S311 - a workload, not a secret.
