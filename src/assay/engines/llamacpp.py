"""llama.cpp: its own HTTP server, hosted by the xllamacpp wheel.

``-c`` is split over the slots (llama.cpp tools/server/README.md), so the adapter multiplies the profile's context by
the number of slots. ``/health`` never looks at the worker; the canary does.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from assay.core.caveat import Caveat
from assay.core.errors import BadInputError, Problem, bad_input, did_you_mean
from assay.core.yaml_file import load_document
from assay.engines._openai import chat_canary, chat_text, refuse_reserved
from assay.engines.types import Command, LaunchRequest, ProbeRequest, Setting

_HOST = Path(__file__).with_name("_llamacpp_host.py")
_FLAGS = Path(__file__).parent / "data" / "llamacpp_flags.yaml"
_RESERVED = frozenset({"host", "port", "model", "alias", "ctx-size", "metrics"})
_CONFIG_NAME = "llamacpp.json"


class LlamaCpp:
    """Adapter of llama.cpp's server."""

    name = "llama.cpp"
    health_path = "/health"
    metrics_path: str | None = "/metrics"
    stop_grace_s = 10.0

    def command(self, request: LaunchRequest) -> Command:
        """Return the host's command line; raises ``BadInputError`` for a setting it does not know."""
        refuse_reserved(self.name, request.settings, _RESERVED)
        config = {
            "model": str(request.artifact),
            "host": "127.0.0.1",
            "port": request.port,
            "fields": _fields(request),
        }
        # Isolated, so that modules beside the host do not shadow the standard library.
        return Command(
            argv=(str(request.python), "-I", str(_HOST), _CONFIG_NAME),
            files={_CONFIG_NAME: json.dumps(config, indent=2)},
        )

    def canary(self, served_name: str) -> ProbeRequest:
        """Return a short chat request."""
        return chat_canary(served_name)

    def generated_text(self, answer: Mapping[str, object]) -> str | None:
        """Return the text of a chat answer."""
        return chat_text(answer)

    def version(self, request: LaunchRequest) -> ProbeRequest | None:
        """The server of the wheel says ``b0-unknown``; the version is the wheel's."""
        return None

    def caveats(self, request: LaunchRequest) -> tuple[Caveat, ...]:
        """A launch as such raises no doubt."""
        return ()


@cache
def known_flags() -> Mapping[str, str]:
    """Return the field of CommonParams by llama-server option."""
    flags: Mapping[str, str] = load_document(_FLAGS).data
    return flags


def _fields(request: LaunchRequest) -> dict[str, Setting]:
    flags = known_flags()
    unknown = [name for name in request.settings if name not in flags]
    if unknown:
        raise BadInputError(
            [
                Problem(what=f"llama.cpp: unknown setting '{name}'", next_step=did_you_mean(name, flags))
                for name in unknown
            ]
        )
    slots = _slots(request.settings)
    chosen: dict[str, Setting] = {"ctx-size": request.context_tokens * slots, "metrics": True}
    if request.threads is not None:
        chosen |= {"threads": request.threads, "threads-batch": request.threads}
    chosen |= request.settings
    return {"model_alias": request.served_name, **{flags[name]: value for name, value in chosen.items()}}


def _slots(settings: Mapping[str, Setting]) -> int:
    slots = settings.get("parallel", 1)
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise bad_input(f"llama.cpp: parallel: got {slots!r}, want a whole number >= 1")
    return slots
