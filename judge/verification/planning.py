"""The plan of a verification: the submissions to judge, and what is skipped."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge.packages import LabelledSubmission, Package, PackageError, read_package, shown
from judge.toolchains import ToolMissingError, get_language


@dataclass(frozen=True)
class Skipped:
    """A package or submission that is not judged, and the reason.

    `file` is empty for a whole package. `broken` marks packages that their authors should repair.
    """

    package: str
    file: str
    reason: str
    broken: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the command's JSON output."""
        return {"package": self.package, "file": self.file, "reason": self.reason}


@dataclass(frozen=True)
class PackageWork:
    """The submissions of one package that are to be judged."""

    package: Package
    submissions: tuple[LabelledSubmission, ...]


def find_packages(folders: Iterable[Path]) -> list[Path]:
    """Return the named packages: each folder itself, or, if it is not a package, the packages directly in it.

    A plain file is ignored if folders are named too: `packages/*` in a shell may name a README.
    """
    named = list(folders)
    found: list[Path] = []
    for folder in [path for path in named if not path.is_file()] or named:
        inside = sorted(file.parent for file in folder.glob("*/problem.yaml"))
        found += inside if inside and not (folder / "problem.yaml").exists() else [folder]
    return found


def plan(
    paths: Iterable[Path], languages: Iterable[str], python: str
) -> tuple[list[PackageWork], list[Skipped]]:
    """Return the work in these packages, and what is skipped. Without `languages` all languages are judged.

    `python` is the language whose interpreter runs Python submissions.
    """
    wanted = {python if language == "python" else language for language in languages}
    works: list[PackageWork] = []
    skipped: list[Skipped] = []
    for path in paths:
        try:
            package = read_package(path)
        except PackageError as error:
            skipped.append(Skipped(shown(path.resolve().name), "", str(error), broken=True))
            continue
        submissions = tuple(
            replace(one, language=python) if one.language == "python" else one for one in package.submissions
        )
        package = replace(package, name=shown(package.name), submissions=submissions)
        if reason := _obstacle(package):
            skipped.append(Skipped(package.name, "", reason))
            continue
        reasons = [(one, _reason_to_skip(one, wanted)) for one in package.submissions]
        skipped += [Skipped(package.name, one.name, reason) for one, reason in reasons if reason]
        works.append(PackageWork(package, tuple(one for one, reason in reasons if not reason)))
    return works, skipped


def _obstacle(package: Package) -> str:
    """Return the reason why no submission of the package can be judged here, or ""."""
    if package.unsupported:
        return package.unsupported
    for what, there in (("tests", package.tests), ("submissions", package.submissions)):
        if not there:
            return f"it has no {what}"
    validator = package.checker.program
    return missing_tool(validator.language) if validator else ""


def _reason_to_skip(submission: LabelledSubmission, wanted: set[str]) -> str:
    if submission.skipped:
        return submission.skipped
    if wanted and submission.language is not None and submission.language not in wanted:
        return "its language is not selected"
    return missing_tool(submission.language)


def missing_tool(language: str | None) -> str:
    """Return the message about a missing compiler, interpreter or virtual machine, or ""."""
    try:
        if language is not None:
            get_language(language).tool()
            get_language(language).machine()
    except ToolMissingError as missing:
        return str(missing)
    return ""
