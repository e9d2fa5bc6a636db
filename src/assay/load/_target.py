"""From a target to what a worker needs: the address after resolution, the request head, and each request's body."""

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from assay.core.errors import bad_input, environment_failed
from assay.load.types import Api, LoadRequest, Target

_PATHS: dict[Api, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
}
_RESERVED = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to connect, decided once for the whole run."""

    family: int
    place: tuple[str, int] | str
    label: str
    """For people, such as ``127.0.0.1:8000``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A target's URL taken apart."""

    host: str
    port: int
    path: str
    is_tls: bool

    @property
    def host_header(self) -> str:
        """Return ``host`` or ``host:port``, IPv6 in brackets, as HTTP wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"


def parse_endpoint(target: Target) -> Endpoint:
    """Return the URL's parts with the API's path; raises ``BadInputError``."""
    try:
        parts = urlsplit(target.url)
        port = parts.port
    except ValueError as error:
        raise bad_input(f"not a URL: {error}", where=target.url) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise bad_input("want http://HOST[:PORT] or https://HOST[:PORT]", where=target.url or "URL")
    if parts.username or parts.password:
        raise bad_input("a URL must not hold a password", where="URL", next_step="give an API key instead")
    is_tls = parts.scheme == "https"
    path = _full_path(parts.path, _PATHS[target.api])
    if parts.query:
        path += f"?{parts.query}"
    return Endpoint(host=parts.hostname, port=port or (443 if is_tls else 80), path=path, is_tls=is_tls)


def find_address(target: Target, endpoint: Endpoint, *, timeout_s: float) -> Address:
    """Resolve the host and return the first address that accepts a connection, IPv4 before IPv6.

    Raises ``EnvironmentFailedError`` when none does: nothing was measured then.
    """
    if target.unix_socket is not None:
        place = str(target.unix_socket)
        candidates = [Address(family=socket.AF_UNIX, place=place, label=f"unix:{place}")]
    else:
        candidates = _resolve(endpoint)
    reasons = []
    for candidate in candidates:
        refusal = _refusal(candidate, timeout_s)
        if refusal is None:
            return candidate
        reasons.append(f"{candidate.label}: {refusal}")
    raise environment_failed(
        f"no connection ({', '.join(reasons)})", where=target.url, next_step="start the server, or correct the URL"
    )


def render_head(target: Target, endpoint: Endpoint, *, is_keep_alive: bool) -> str:
    """Return the request line and headers up to ``Content-Length: ``; raises ``BadInputError`` for a bad header."""
    headers = {
        "Host": endpoint.host_header,
        "User-Agent": "assay",
        "Accept": "text/event-stream" if is_stream(target) else "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Connection": "keep-alive" if is_keep_alive else "close",
    }
    if target.api_key is not None:
        headers["Authorization"] = f"Bearer {target.api_key.value}"
    headers |= _checked_headers(target.headers)
    lines = [f"POST {endpoint.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    for line in lines:
        if not line.isascii() or "\r" in line or "\n" in line:
            # The value may be a key, so the message names the header alone.
            raise bad_input(f"not plain ASCII: '{line.partition(':')[0][:40]}'", where="request header")
    return "\r\n".join([*lines, "Content-Length: "])


def render_body(target: Target, request: LoadRequest) -> bytes:
    """Return the JSON body of one request; the target's extra fields and then the request's own come last."""
    body: dict[str, Any] = {"model": target.model}
    if target.api == "chat":
        body["messages"] = _messages(request)
    elif target.api == "completions":
        body["prompt"] = _prompt(request)
    else:
        body["input"] = _prompt(request)
    if target.api != "embeddings":
        body |= {"max_tokens": request.max_tokens, "temperature": 0}
        if target.is_streaming:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
    body |= {**target.extra_body, **request.extra_body}
    kept = {key: value for key, value in body.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()


def is_stream(target: Target) -> bool:
    """Return True when answers come as event streams; embeddings never do."""
    return target.is_streaming and target.api != "embeddings"


def _full_path(given: str, endpoint: str) -> str:
    base = given.rstrip("/")
    tail = endpoint.removeprefix("/v1")
    if base.endswith(tail):
        return base
    return base + tail if base.endswith("/v1") else base + endpoint


def _resolve(endpoint: Endpoint) -> list[Address]:
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise environment_failed(
            f"the name does not resolve: {error.strerror or error}", where=endpoint.host, next_step="correct the URL"
        ) from error
    wanted = [entry for family in (socket.AF_INET, socket.AF_INET6) for entry in found if entry[0] == family]
    addresses = []
    for family, _, _, _, place in wanted:
        host, port = str(place[0]), int(place[1])
        label = f"[{host}]:{port}" if family == socket.AF_INET6 else f"{host}:{port}"
        addresses.append(Address(family=int(family), place=(host, port), label=label))
    return addresses


def _refusal(address: Address, timeout_s: float) -> str | None:
    """Return why the address takes no connection, or ``None`` when it does; a starting server gets a second try."""
    reason = None
    for _ in range(2):
        with socket.socket(address.family, socket.SOCK_STREAM) as sock:
            sock.settimeout(timeout_s)
            try:
                sock.connect(address.place)
            except OSError as error:
                reason = error.strerror or str(error) or type(error).__name__
            else:
                return None
        time.sleep(0.1)
    return reason


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name in headers:
        if name.lower() in _RESERVED:
            raise bad_input(f"'{name}' is set by assay", where="request header")
    return dict(headers)


def _messages(request: LoadRequest) -> list[dict[str, str]]:
    if request.messages:
        return [{"role": message.role, "content": message.content} for message in request.messages]
    if request.prompt is None:
        raise bad_input("a chat request needs messages or a prompt", where="requests")
    return [{"role": "user", "content": request.prompt}]


def _prompt(request: LoadRequest) -> str:
    if request.prompt is not None:
        return request.prompt
    if not request.messages:
        raise bad_input("a request needs a prompt", where="requests")
    return "\n".join(message.content for message in request.messages)
