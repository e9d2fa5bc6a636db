"""Imports point upwards only: a package may import the packages above it in the design's table, and no other."""

import ast
from pathlib import Path

import pytest

PACKAGES = (
    "core",
    "facts",
    "profile",
    "shortlist",
    "sizing",
    "engines",
    "load",
    "experiments",
    "stats",
    "decide",
    "catalog",
    "render",
    "checks",
    "report",
    "cli",
)
MAY_ONLY_IMPORT = {"load": {"core"}}
SOURCE = Path(__file__).parents[1] / "src" / "assay"


def imported_packages(path: Path) -> set[str]:
    """Return the Assay packages that a module imports, wherever in the module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "assay" and len(parts) > 1 and parts[1] in PACKAGES:
                found.add(parts[1])
    return found


def modules_of(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


def test_every_package_directory_is_in_the_order() -> None:
    directories = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert directories <= set(PACKAGES)
    assert {"core", "cli"} <= directories


@pytest.mark.parametrize("package", [name for name in PACKAGES if (SOURCE / name / "__init__.py").exists()])
def test_package_imports_only_what_stands_above_it(package: str) -> None:
    allowed = MAY_ONLY_IMPORT.get(package, set(PACKAGES[: PACKAGES.index(package)])) | {package}
    modules = modules_of(package)
    assert modules
    wrong = {str(path.relative_to(SOURCE)): sorted(imported_packages(path) - allowed) for path in modules}
    assert {name: packages for name, packages in wrong.items() if packages} == {}


def test_nothing_but_the_command_line_is_imported_by_name_main() -> None:
    assert imported_packages(SOURCE / "__main__.py") == {"cli"}


def test_standalone_programs_of_engines_import_no_assay() -> None:
    for name in ("_warden.py", "_llamacpp_host.py"):
        assert imported_packages(SOURCE / "engines" / name) == set()
