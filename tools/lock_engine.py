"""Which packages, by version and hash, make up an engine's environment? Writes one lock file of ``engines/data/locks``.

pip resolves, and its installation report (pip documentation, "Installation Report") gives each wheel's SHA-256. A wheel
built for one CPython is looked up again for the other ones, so that the lock serves them too. A lock holds names,
versions and hashes alone; where a wheel comes from stays the choice of whoever installs it, with
``pip install --require-hashes --no-deps -r LOCK``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

_WIDTH = 110


class _LockError(Exception):
    """pip could not resolve, or gave an artifact that no lock should hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pin:
    """One package as pip resolved it."""

    name: str
    """Normalised name."""
    version: str
    hashes: frozenset[str]
    """SHA-256 of each wheel that may be installed."""
    is_interpreter_bound: bool
    """Another CPython needs another wheel."""

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Resolve, look the other interpreters' wheels up, and write the lock."""
    options = _parser().parse_args(arguments)
    try:
        pins = _resolved(options)
        pins = [_with_other_wheels(options.python, pin, options.also_python) for pin in pins]
    except _LockError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    options.output.write_text(render_lock(pins, _how(options)), encoding="utf-8")
    print(f"{options.output}: {len(pins)} packages")
    return 0


def render_lock(pins: Sequence[_Pin], how: str) -> str:
    """Return a pip requirements file with hashes, sorted by name, with a comment that says how it was made."""
    lines = ["# Made by tools/lock_engine.py; change its arguments and run it again rather than editing this file:"]
    lines += [f"#   {line}" for line in how.splitlines()]
    lines.append("# Install with: pip install --require-hashes --no-deps -r THIS_FILE")
    for pin in sorted(pins, key=lambda pin: pin.name):
        digests = [f"    --hash=sha256:{digest}" for digest in sorted(pin.hashes)]
        lines.append(" \\\n".join([pin.requirement, *digests]))
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Write the pinned, hashed lock of an engine's environment.")
    parser.add_argument("requirements", nargs="*", help="taken with everything they depend on")
    parser.add_argument(
        "--alone", action="append", default=[], metavar="REQUIREMENT", help="taken without dependencies"
    )
    parser.add_argument("--exclude", action="append", default=[], metavar="NAME", help="left out once resolved")
    parser.add_argument("--python", default=sys.executable, help="interpreter whose pip resolves (default: this one)")
    parser.add_argument(
        "--also-python", action="append", default=[], metavar="X.Y", help="another CPython whose wheels may be taken"
    )
    parser.add_argument("--output", type=Path, required=True, help="lock file to write")
    return parser


def _how(options: argparse.Namespace) -> str:
    """Return the arguments in a form that says the same on every machine; interpreter and output are left out."""
    parts = [*options.requirements]
    for flag in ("alone", "exclude", "also_python"):
        parts += [f"--{flag.replace('_', '-')} {value}" for value in getattr(options, flag)]
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) > _WIDTH:
            lines.append("")
        lines[-1] += f" {part}"
    return "\n".join(line.strip() for line in lines)


def _resolved(options: argparse.Namespace) -> list[_Pin]:
    pins = _report(options.python, options.requirements) if options.requirements else []
    pins += _report(options.python, ["--no-deps", *options.alone]) if options.alone else []
    excluded = {_normalised(name) for name in options.exclude}
    unused = excluded - {pin.name for pin in pins}
    if unused:
        raise _LockError(f"--exclude {', '.join(sorted(unused))}: not among the resolved packages")
    return [pin for pin in pins if pin.name not in excluded]


def _with_other_wheels(python: str, pin: _Pin, versions: Sequence[str]) -> _Pin:
    hashes = set(pin.hashes)
    for version in versions if pin.is_interpreter_bound else ():
        try:
            found = _report(python, ["--no-deps", "--python-version", version, pin.requirement])
        except _LockError:
            print(f"{pin.requirement}: no wheel for CPython {version}", file=sys.stderr)
            continue
        hashes.update(*(other.hashes for other in found))
    return replace(pin, hashes=frozenset(hashes))


def _report(python: str, arguments: Sequence[str]) -> list[_Pin]:
    """Return what pip would install into an empty environment; raises ``_LockError`` with pip's last words."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "report.json"
        command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--target", scratch]
        command += ["--only-binary", ":all:", "--report", str(path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise _LockError(done.stderr.strip()[-2000:])
        return [_pin(entry) for entry in json.loads(path.read_text(encoding="utf-8"))["install"]]


def _pin(entry: dict[str, dict[str, object]]) -> _Pin:
    name, version = str(entry["metadata"]["name"]), str(entry["metadata"]["version"])
    archive = entry["download_info"].get("archive_info")
    digest = str(archive.get("hash", "")) if isinstance(archive, dict) else ""
    if not digest.startswith("sha256="):
        raise _LockError(f"{name} {version}: pip gave no SHA-256 for it")
    wheel = unquote(str(entry["download_info"]["url"]).rpartition("/")[2])
    python_tag, abi_tag = wheel.removesuffix(".whl").split("-")[-3:-1]
    return _Pin(
        name=_normalised(name),
        version=version,
        hashes=frozenset({digest.removeprefix("sha256=")}),
        is_interpreter_bound=python_tag.startswith("cp") and abi_tag != "abi3",
    )


def _normalised(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    sys.exit(main())
