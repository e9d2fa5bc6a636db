"""Converts a GGUF to safetensors, as ``python _convert_worker.py SOURCE.gguf TARGET``; needs transformers, no Assay.

transformers keeps the weights of a GGUF with its own quantization settings, so a fresh model is built from the
configuration without them and takes the weights in bfloat16. The tokenizer and its chat template come along.
"""

import hashlib
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Convert and say what was made, last of all, in ``converted.json``."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import transformers

    where = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    packed = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    config = packed.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = torch.bfloat16
    model = type(packed)(config).to(torch.bfloat16)
    model.load_state_dict(packed.state_dict())
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    _describe(source, target, {"transformers": transformers.__version__, "torch": torch.__version__})


def _describe(source: Path, target: Path, tools: dict[str, str]) -> None:
    files = {path.name: _digest(path) for path in sorted(target.iterdir())}
    text = json.dumps(
        {"source": source.name, "source_digest": _digest(source), "tools": tools, "files": files}, indent=2
    )
    (target / "converted.json").write_text(text + "\n")


def _digest(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


if __name__ == "__main__":
    main()
