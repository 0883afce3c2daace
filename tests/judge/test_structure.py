"""The judge's packages depend on each other in one direction, and its documentation lists packages and languages."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import judge

JUDGE = Path(judge.__file__).parent
DOCUMENTATION = JUDGE.parent / "docs" / "judge.md"
PACKAGES = sorted(file.parent.name for file in JUDGE.glob("*/__init__.py"))


def package_of(module: str) -> str:
    """Return the package of the judge that a module belongs to; "judge" for those directly in it."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in PACKAGES else "judge"


def imports(file: Path) -> set[str]:
    """Return the modules of the judge that a file imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "judge" else []
            modules.update(names or [node.module])
    return {module for module in modules if module.split(".")[0] == "judge"}


def test_no_package_imports_one_that_imports_it() -> None:
    needed: dict[str, set[str]] = {}
    for file in JUDGE.rglob("*.py"):
        module = ".".join(file.relative_to(JUDGE.parent).with_suffix("").parts).removesuffix(".__init__")
        package = package_of(module)
        needed.setdefault(package, set()).update({package_of(one) for one in imports(file)} - {package})
    order = list(TopologicalSorter(needed).static_order())
    assert needed["records"] == set()
    documented = [name for name in documented_packages() if name in order]
    assert all(
        documented.index(below) < documented.index(package) for package in needed for below in needed[package]
    )


def documented_packages() -> list[str]:
    """Return the packages of the table "where lives what", from the bottom to the top."""
    rows = re.findall(r"^\| `judge/(\w+)?/?` \|", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE)
    return [name or "judge" for name in rows]


def test_the_documentation_lists_every_package_once() -> None:
    assert sorted(documented_packages()) == sorted([*PACKAGES, "judge"])


@pytest.mark.parametrize("language", judge.LANGUAGES.values(), ids=lambda language: language.name)
def test_the_documentation_lists_every_language_as_its_entry_says(language: judge.Language) -> None:
    default = [suffix for suffix in language.extensions if judge.language_of(suffix) == language.name]
    suffixes = " ".join(f"`{suffix}`" for suffix in default)
    cells = f"`{language.name}`", language.description, f"{language.time_multiplier:g}", suffixes
    row = f"| {' | '.join(cells)} |".replace("|  |", "| |")
    assert row in DOCUMENTATION.read_text(encoding="utf-8").splitlines()
