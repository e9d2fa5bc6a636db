"""What the OpenAI-compatible engines share: the canary, and how settings become flags."""

from collections.abc import Mapping

from assay.core.errors import bad_input
from assay.engines.types import ProbeRequest, Setting

_CANARY_TOKENS = 4


def chat_canary(served_name: str) -> ProbeRequest:
    """Return a chat request of a few tokens at temperature 0."""
    return ProbeRequest(
        path="/v1/chat/completions",
        body={
            "model": served_name,
            "messages": [{"role": "user", "content": "Say hello."}],
            "max_tokens": _CANARY_TOKENS,
            "temperature": 0,
        },
    )


def chat_text(answer: Mapping[str, object]) -> str | None:
    """Return the text of a chat answer, or ``None`` when it holds no generated text."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) and content else None


def refuse_reserved(engine: str, settings: Mapping[str, Setting], reserved: frozenset[str]) -> None:
    """Raise ``BadInputError`` for settings that Assay itself must choose."""
    taken = sorted(set(settings) & reserved)
    if taken:
        raise bad_input(
            f"{engine}: assay sets '{taken[0]}' itself", next_step="leave it out of the candidate's settings"
        )


def flags(settings: Mapping[str, Setting]) -> list[str]:
    """Return settings as command-line flags: ``true`` gives ``--name``, ``false`` gives ``--no-name``."""
    arguments: list[str] = []
    for name, value in settings.items():
        if isinstance(value, bool):
            arguments.append(f"--{name}" if value else f"--no-{name}")
        else:
            arguments += [f"--{name}", str(value)]
    return arguments
