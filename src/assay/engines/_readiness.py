"""Readiness that means "can serve": the target model is listed and has just generated text.

A port that listens proves nothing: llama.cpp listens before it loads, vLLM's ``/health`` answers while its engine
hangs, and several servers echo a model name that they do not serve.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.core.clock import Clock
from assay.engines._http import NoAnswerError, ask, ask_json
from assay.engines.types import Engine, ProbeRequest

_POLL_S = 0.05
_PROBE_TIMEOUT_S = 5.0
_HTTP_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTimes:
    """When each phase of a start was first seen, on the monotonic clock; ``None`` when it was not watched."""

    started_at_ns: int | None
    """The process was started; ``None`` for a server that ran already."""
    answered_at_ns: int | None
    """The first HTTP answer of any status."""
    healthy_at_ns: int | None
    """The health path answered 200."""
    generated_at_ns: int
    """The target model had generated its first tokens."""


class NotReadyError(Exception):
    """The server cannot serve the target model; the text says how far it came."""


def wait_until_ready(
    engine: Engine,
    base_url: str,
    served_name: str,
    *,
    clock: Clock,
    deadline_s: float,
    started_at_ns: int | None,
    is_gone: Callable[[], bool],
    api_key: str | None = None,
) -> StartTimes:
    """Return once the target model generates; raises ``NotReadyError`` when it ends or the deadline passes."""
    deadline_ns = clock.now_ns() + int(deadline_s * 1e9)
    answered_at_ns, last = None, "it never answered"
    while clock.now_ns() < deadline_ns:
        if is_gone():
            raise NotReadyError("it ended while starting")
        try:
            status, _ = ask(
                base_url, ProbeRequest(path=engine.health_path), timeout_s=_PROBE_TIMEOUT_S, api_key=api_key
            )
            answered_at_ns = answered_at_ns or clock.now_ns()
            if status == _HTTP_OK:
                healthy_at_ns = clock.now_ns()
                _prove_generation(engine, base_url, served_name, (deadline_ns - healthy_at_ns) / 1e9, api_key)
                return StartTimes(
                    started_at_ns=started_at_ns,
                    answered_at_ns=answered_at_ns,
                    healthy_at_ns=healthy_at_ns,
                    generated_at_ns=clock.now_ns(),
                )
            last = f"{engine.health_path} answered {status}"
        except NoAnswerError as error:
            last = f"{engine.health_path}: {error}"
        clock.sleep(_POLL_S)
    raise NotReadyError(f"not ready after {deadline_s:g} s ({last})")


def _prove_generation(engine: Engine, base_url: str, served_name: str, timeout_s: float, api_key: str | None) -> None:
    _require_listed(base_url, served_name, api_key)
    try:
        status, answer = ask_json(base_url, engine.canary(served_name), timeout_s=timeout_s, api_key=api_key)
    except NoAnswerError as error:
        raise NotReadyError(f"healthy, but the model did not answer a short request: {error}") from error
    if status != _HTTP_OK:
        raise NotReadyError(f"healthy, but a short request got status {status}: {_error_text(answer)}")
    if engine.generated_text(answer) is None:
        raise NotReadyError("healthy, but a short request came back without generated text")


def _require_listed(base_url: str, served_name: str, api_key: str | None) -> None:
    try:
        status, answer = ask_json(
            base_url, ProbeRequest(path="/v1/models"), timeout_s=_PROBE_TIMEOUT_S, api_key=api_key
        )
    except NoAnswerError as error:
        raise NotReadyError(f"healthy, but /v1/models: {error}") from error
    listed = [str(entry.get("id")) for entry in answer.get("data") or () if isinstance(entry, dict)]
    if status != _HTTP_OK or served_name not in listed:
        raise NotReadyError(f"serves {', '.join(listed) or 'no model'}, want '{served_name}'")


def _error_text(answer: Mapping[str, object]) -> str:
    error = answer.get("error", answer.get("message", answer))
    text = error.get("message", error) if isinstance(error, dict) else error
    return str(text)[:200]
