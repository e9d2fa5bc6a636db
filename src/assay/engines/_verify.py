"""What an environment really holds: versions, and files that its packages miss."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import environment_failed

# Runs in the environment's interpreter, which has no Assay.
_PROGRAM = """
import importlib.metadata, json, platform
versions, missing = {}, []
for found in importlib.metadata.distributions():
    name = found.metadata["Name"]
    versions[name] = found.version
    for file in found.files or ():
        if not str(file).endswith(".pyc") and not found.locate_file(file).exists():
            missing.append(f"{name}: {file}")
print(json.dumps({"python": platform.python_version(), "versions": versions, "missing": missing[:20]}))
"""
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """The distributions of an environment."""

    python_version: str
    versions: Mapping[str, str]
    missing_files: tuple[str, ...]
    """Files that a package lists and that are gone, at most 20."""


def read_packages(python: Path) -> Packages:
    """Ask an environment's interpreter; raises ``EnvironmentFailedError`` when it does not run."""
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _PROGRAM], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise environment_failed(f"its interpreter does not run: {error}", where=str(python)) from error
    return Packages(
        python_version=found["python"],
        versions=dict(sorted(found["versions"].items())),
        missing_files=tuple(found["missing"]),
    )
