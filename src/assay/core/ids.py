"""Digests: the name of a file or a text by its content (``sha256:`` and 64 hexadecimal digits)."""

import hashlib
import json
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 1 << 20


def digest_bytes(data: bytes) -> str:
    """Return the digest of ``data``."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest_file(path: Path) -> str:
    """Return the digest of a file's content; raises ``OSError`` when it cannot be read."""
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
    return f"sha256:{hasher.hexdigest()}"


def digest_json(value: Any) -> str:
    """Return the digest of a JSON value in its canonical form (sorted keys, no spaces)."""
    return digest_bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def short(digest: str) -> str:
    """Return the first 12 hexadecimal digits of a digest, for people."""
    return digest.removeprefix("sha256:")[:12]
