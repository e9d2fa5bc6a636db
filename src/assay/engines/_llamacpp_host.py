"""Runs llama.cpp's own HTTP server from the xllamacpp wheel, as ``python _llamacpp_host.py CONFIG.json``.

It needs xllamacpp alone, so that it also runs in an environment without Assay. The configuration holds ``model``,
``port``, ``host`` and ``fields`` (CommonParams fields by dotted name). Exit codes: 0 after SIGTERM, 1 when the model
does not load, 2 for a setting that this build does not take.
"""

import json
import signal
import sys
import threading
from typing import Any

_ENUMS = {
    "cache_type_k": ("ggml_type", "GGML_TYPE_"),
    "cache_type_v": ("ggml_type", "GGML_TYPE_"),
    "flash_attn_type": ("llama_flash_attn_type", "LLAMA_FLASH_ATTN_TYPE_"),
}
_SWITCHES = {"on": "ENABLED", "off": "DISABLED", "true": "ENABLED", "false": "DISABLED"}


def _fail(code: int, text: str) -> None:
    print(f"error: {text}", file=sys.stderr, flush=True)  # noqa: T201 - the log is standard error.
    sys.exit(code)


def _enum_value(xllamacpp: Any, field: str, value: Any) -> Any:
    enum_name, prefix = _ENUMS[field]
    enum = getattr(xllamacpp, enum_name)
    word = str(value).lower()
    member = prefix + _SWITCHES.get(word, word).upper()
    if not hasattr(enum, member):
        known = sorted(name.removeprefix(prefix).lower() for name in dir(enum) if name.startswith(prefix))
        _fail(2, f"{field}: got {value!r}, want one of {', '.join(known)}")
    return getattr(enum, member)


def _apply(xllamacpp: Any, parameters: Any, dotted: str, value: Any) -> None:
    *parents, field = dotted.split(".")
    holder = parameters
    for parent in parents:
        holder = getattr(holder, parent)
    if field in _ENUMS:
        value = _enum_value(xllamacpp, field, value)
    if field == "model_alias":
        value = {value}
    try:
        setattr(holder, field, value)
    except (TypeError, ValueError, AttributeError) as error:
        _fail(2, f"{dotted}: got {value!r}: {error}")


def main() -> None:
    """Start the server and wait for SIGTERM or SIGINT."""
    import xllamacpp

    with open(sys.argv[1], encoding="utf-8") as stream:  # noqa: PTH123 - no imports beyond need.
        config = json.load(stream)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = config["model"]
    parameters.hostnames = [config["host"]]
    parameters.port = config["port"]
    for dotted, value in config["fields"].items():
        _apply(xllamacpp, parameters, dotted, value)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = xllamacpp.Server(parameters)
    except Exception as error:
        _fail(1, f"the server did not start: {error}")
    print(f"xllamacpp {xllamacpp.__version__}: listening on {server.listening_address}", file=sys.stderr)  # noqa: T201
    stop.wait()
    del server  # Ends llama.cpp's own loop and its threads.


if __name__ == "__main__":
    main()
