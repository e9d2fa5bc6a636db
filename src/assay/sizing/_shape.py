"""Model facts from the artifact itself: GGUF metadata, or ``config.json`` and the safetensors headers."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import bad_input
from assay.shortlist import Artifact
from assay.sizing.types import ModelShape

_MAX_HEADER_BYTES = 100 << 20
# Fields of GGUFReader hold numpy arrays; the value stands in the last part, by the index in ``data``.


def read_shape(artifact: Artifact) -> ModelShape:
    """Return the model's shape; raises ``BadInputError`` when the file is not what its format says."""
    path = Path(artifact.path)
    try:
        return _read_gguf(path) if artifact.format == "gguf" else _read_safetensors(path)
    except (KeyError, ValueError, TypeError, IndexError, OSError) as error:
        raise bad_input(
            f"not a readable {artifact.format} model: {error!s}",
            where=str(path),
            next_step="check that the file is complete and of that format",
        ) from error


def _read_gguf(path: Path) -> ModelShape:
    from gguf import GGUFReader

    reader = GGUFReader(path)

    def value(key: str, default: Any = None) -> Any:
        field = reader.get_field(key)
        return default if field is None else field.contents()

    architecture = str(value("general.architecture"))
    prefix = architecture
    layers = int(value(f"{prefix}.block_count"))
    heads = int(value(f"{prefix}.attention.head_count"))
    width = int(value(f"{prefix}.embedding_length"))
    context = value(f"{prefix}.context_length")
    return ModelShape(
        architecture=architecture,
        layers=layers,
        kv_heads=int(value(f"{prefix}.attention.head_count_kv", heads)),
        key_dim=int(value(f"{prefix}.attention.key_length", width // heads)),
        value_dim=int(value(f"{prefix}.attention.value_length", width // heads)),
        trained_context_tokens=None if context is None else int(context),
        weights_bytes=sum(int(tensor.n_bytes) for tensor in reader.tensors),
        parameters=sum(int(tensor.n_elements) for tensor in reader.tensors),
    )


def _read_safetensors(directory: Path) -> ModelShape:
    config: Mapping[str, Any] = json.loads((directory / "config.json").read_text())
    heads = int(config["num_attention_heads"])
    head_dim = int(config.get("head_dim") or config["hidden_size"] // heads)
    weights_bytes, parameters = _sum_tensors(directory)
    context = config.get("max_position_embeddings")
    return ModelShape(
        architecture=str(config.get("model_type", "unknown")),
        layers=int(config["num_hidden_layers"]),
        kv_heads=int(config.get("num_key_value_heads") or heads),
        key_dim=head_dim,
        value_dim=head_dim,
        trained_context_tokens=None if context is None else int(context),
        weights_bytes=weights_bytes,
        parameters=parameters,
    )


def _sum_tensors(directory: Path) -> tuple[int, int]:
    """Return bytes and elements of all tensors, from the headers alone (safetensors format, 8 bytes of length)."""
    n_bytes = n_elements = 0
    files = sorted(directory.glob("*.safetensors"))
    if not files:
        raise ValueError("holds no *.safetensors file")
    for path in files:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > _MAX_HEADER_BYTES:
                raise ValueError(f"{path.name}: a header of {length} bytes")
            header: Mapping[str, Any] = json.loads(stream.read(length))
        for name, tensor in header.items():
            if name != "__metadata__":
                start, end = tensor["data_offsets"]
                n_bytes += end - start
                n_elements += math.prod(tensor["shape"])
    return n_bytes, n_elements
