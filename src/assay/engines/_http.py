"""Small HTTP calls to an engine for control, not for measuring; no proxy is ever used."""

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.engines.types import ProbeRequest

_MAX_ANSWER_BYTES = 4 << 20


class NoAnswerError(Exception):
    """The server did not answer: refused, closed, silent past the timeout, or not HTTP."""


def ask(base_url: str, probe: ProbeRequest, *, timeout_s: float, api_key: str | None = None) -> tuple[int, bytes]:
    """Send one request and return status and body; raises ``NoAnswerError``."""
    parts = urlsplit(base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout_s)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    body = None
    if probe.body is not None:
        body = json.dumps(probe.body).encode()
        headers["Content-Type"] = "application/json"
    try:
        connection.request("GET" if body is None else "POST", parts.path.rstrip("/") + probe.path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(_MAX_ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(str(error) or type(error).__name__) from error
    finally:
        connection.close()


def ask_json(
    base_url: str, probe: ProbeRequest, *, timeout_s: float, api_key: str | None = None
) -> tuple[int, Mapping[str, Any]]:
    """Send one request and return status and JSON object; an answer that is none counts as no answer."""
    status, body = ask(base_url, probe, timeout_s=timeout_s, api_key=api_key)
    try:
        value = json.loads(body)
    except ValueError as error:
        raise NoAnswerError(f"status {status} with a body that is not JSON") from error
    if not isinstance(value, dict):
        raise NoAnswerError(f"status {status} with a JSON {type(value).__name__}")
    return status, value
