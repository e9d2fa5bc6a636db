"""Where a file of ours came from: which tool, which facts, which inputs, which seed, when."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from assay import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The header of every file that a stage writes."""

    tool: str = "assay"
    tool_version: str
    tool_commit: str | None
    """The commit of a source checkout, ``-dirty`` appended when changed; ``None`` when not known."""
    created_at_utc: str
    """Wall time of writing, ISO 8601 in UTC."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Digest of each input by its role, such as ``profile`` or ``facts``."""
    seed: int | None = None
    """Seed of every random draw of the stage; ``None`` when it drew nothing."""


def make_provenance(*, inputs: Mapping[str, str], seed: int | None = None, now: datetime | None = None) -> Provenance:
    """Return the provenance of a file that is written now from ``inputs`` (role to digest)."""
    moment = now or datetime.now(UTC)
    return Provenance(
        tool_version=__version__,
        tool_commit=tool_commit(),
        created_at_utc=moment.isoformat(timespec="seconds"),
        inputs=dict(sorted(inputs.items())),
        seed=seed,
    )


@cache
def tool_commit() -> str | None:
    """Return the commit of the source checkout that this package runs from, or ``None`` elsewhere."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists() or not (root / "pyproject.toml").exists():
        return None
    commit = _git(root, "rev-parse", "--short=12", "HEAD")
    if commit is None:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
