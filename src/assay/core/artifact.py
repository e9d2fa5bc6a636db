"""The file a stage leaves behind: versioned JSON with provenance, written whole or not at all.

A file reads ``{"kind": "assay/<stage>/<version>", "provenance": {...}, "body": {...}}``. Bodies are frozen
dataclasses; pydantic checks them on the way in, so that a file edited by hand fails here with its dotted path.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from assay.core.errors import BadInputError, Problem, bad_input, environment_failed
from assay.core.ids import digest_bytes
from assay.core.provenance import Provenance, make_provenance

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(Generic[T]):
    """A stage's file after reading: its body, where it came from, and the digest of its bytes."""

    body: T
    provenance: Provenance
    digest: str


def write_artifact(path: Path, *, kind: str, body: object, inputs: Mapping[str, str], seed: int | None = None) -> str:
    """Write ``body`` (a dataclass) to ``path`` atomically and return the digest of the file.

    Raises ``EnvironmentFailedError`` when the disk refuses.
    """
    from pydantic import TypeAdapter

    provenance = make_provenance(inputs=inputs, seed=seed)
    document = {
        "kind": kind,
        "provenance": TypeAdapter(Provenance).dump_python(provenance, mode="json"),
        "body": TypeAdapter(type(body)).dump_python(body, mode="json"),
    }
    data = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    write_atomically(path, data)
    return digest_bytes(data)


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` so that ``path`` holds either its old content or all of the new, also after a power cut.

    Raises ``EnvironmentFailedError`` when the disk refuses (full, read-only, no permission).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise environment_failed(
            f"could not write: {error.strerror or error}",
            where=str(path),
            next_step="free space or choose another directory, then run the same command again",
        ) from error


def read_artifact(path: Path, *, kind: str, body_type: type[T]) -> Artifact[T]:
    """Read a file that ``write_artifact`` wrote; raises ``BadInputError`` with every problem in it."""
    from pydantic import TypeAdapter, ValidationError

    data, document = _read_json(path)
    _require_kind(path, document, kind)
    try:
        provenance = TypeAdapter(Provenance).validate_python(document.get("provenance"))
        body = TypeAdapter(body_type).validate_json(json.dumps(document.get("body")))
    except ValidationError as error:
        raise BadInputError(
            [
                Problem(
                    where=f"{path}: {'.'.join(str(part) for part in detail['loc'])}",
                    what=detail["msg"],
                    next_step="the file was edited or written by another version; remove it and run the stage again",
                )
                for detail in error.errors()
            ]
        ) from error
    return Artifact(body=body, provenance=provenance, digest=digest_bytes(data))


def _read_json(path: Path) -> tuple[bytes, dict[str, Any]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise bad_input("no such file", where=str(path), next_step="run the stage that writes it first") from error
    except OSError as error:
        raise environment_failed(f"could not read: {error.strerror or error}", where=str(path)) from error
    try:
        document = json.loads(data)
    except ValueError as error:
        raise bad_input(f"not JSON: {error}", where=str(path), next_step="remove it and run its stage again") from error
    if not isinstance(document, dict):
        raise bad_input(f"got a JSON {type(document).__name__}, want an object", where=str(path))
    return data, document


def _require_kind(path: Path, document: Mapping[str, Any], kind: str) -> None:
    found = document.get("kind")
    if found != kind:
        raise bad_input(
            f'kind: got "{found}", want "{kind}"',
            where=str(path),
            next_step="give the file of that stage, or run the stage again with this version of assay",
        )
