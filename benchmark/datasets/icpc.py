"""ICPC (Kattis) problem packages, legacy and 2023-07: a package, a folder of packages, or a zip of either."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmark.datasets.archives import unpack
from benchmark.datasets.icpc_generators import generators_and_tests
from benchmark.datasets.icpc_programs import package_programs
from benchmark.datasets.icpc_sizes import sized_generators
from benchmark.datasets.icpc_texts import Text, analysis_text, figures_of, sample_interactions, statement_text
from benchmark.datasets.records import (
    ImportedProblem,
    Importer,
    ReferenceRecord,
    SkippedEntry,
    Source,
    SourceError,
    TestRecord,
)
from benchmark.models.problems import Tier
from benchmark.rendering.latex import problem_name
from judge import UnknownLanguageError, get_language, language_of
from judge.packages import Package, PackageError, read_package, refuse_links_outside

ASSUMED_TIME_LIMIT = 2.0
"""Seconds, for a package without a limit: the import runs no programs, so it cannot derive one."""

_UNJUDGED_LANGUAGES = {".hs": "haskell", ".cs": "csharp"}
_LARGEST_PROGRAM = 2**20


@contextmanager
def open_icpc(path: Path) -> Iterator[Source]:
    """Open the packages at the path.

    An invalid package fails the import if it is the only one, and is skipped otherwise. Raises SourceError.
    """
    if path.is_dir():
        yield _source(path, path.resolve().name)
    elif path.is_file():
        settings.VAR.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="import-", dir=settings.VAR) as folder:
            unpack(path, Path(folder))
            yield _source(Path(folder), path.stem)
    else:
        raise SourceError(
            f"{path} does not exist; the format icpc needs a package, a folder of packages, or a zip"
        )


IMPORTER = Importer("icpc", "a problem package, a folder of packages, or a zip of either", open_icpc)


def _source(root: Path, name: str) -> Source:
    packages = _find_packages(root, name)
    if not packages:
        raise SourceError(f"{name} contains no problem package: no problem.yaml in it or in its folders")
    if len(packages) == 1:
        return Source(1, _single_package(*packages[0]))
    return Source(len(packages), (_entry(*package) for package in packages))


def _find_packages(root: Path, name: str) -> list[tuple[str, Path]]:
    """Return identifier and folder of each package: the root, its folders, or the folders of its only folder."""
    if (root / "problem.yaml").is_file():
        return [(name, root)]
    folders = sorted(
        folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(".")
    )
    packages = [(folder.name, folder) for folder in folders if (folder / "problem.yaml").is_file()]
    if not packages and len(folders) == 1:
        return _find_packages(folders[0], folders[0].name)
    return packages


def _single_package(name: str, folder: Path) -> Iterator[ImportedProblem]:
    entry = _entry(name, folder)
    if isinstance(entry, SkippedEntry):
        raise SourceError(f"the package {name} cannot be imported: {entry.reason}")
    yield entry


def _entry(name: str, folder: Path) -> ImportedProblem | SkippedEntry:
    try:
        refuse_links_outside(folder)
        return _problem(name, folder, read_package(folder))
    except (PackageError, OSError) as error:
        return SkippedEntry(name, str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), name))


def _problem(name: str, folder: Path, package: Package) -> ImportedProblem:
    if package.unsupported:
        raise PackageError(f"it cannot be judged here: {package.unsupported}")
    if not package.tests:
        raise PackageError("it has no tests: data/sample and data/secret contain no .in file")
    statement = statement_text(folder)
    if statement is None:
        raise PackageError("it has no statement in Markdown or LaTeX (problem_statement/ or statement/)")
    analysis = analysis_text(folder)
    figures, notes = figures_of([text for text in (statement, analysis) if text is not None])
    if package.time_limit is None:
        notes.append(f"time limit not given: {ASSUMED_TIME_LIMIT:g} s assumed")
    given = package.problem_yaml
    tier, tags = _keywords(given.get("keywords"))
    contest, address = _origin(given)
    references, skipped = _references(package)
    generators, listed, listing_notes = generators_and_tests(folder)
    programs, unused = package_programs(package)
    sized, unsized = sized_generators(folder)
    program = package.checker.program
    interactive = program is not None and program.interactive
    dialogues = sample_interactions(folder, statement.format) if interactive else ""
    return ImportedProblem(
        external_id=name,
        title=_title(given.get("name")) or problem_name(statement.content) or name,
        tier=tier,
        tags=tags,
        statement=statement.content + dialogues,
        statement_format=statement.format,
        analysis=analysis.content if analysis else "",
        analysis_format=analysis.format if analysis else "",
        time_limit=package.time_limit or ASSUMED_TIME_LIMIT,
        memory_limit=package.memory,
        checker=package.checker.to_json(),
        # Only the validator of an interactive problem may see its sample files.
        tests=tuple(
            _test(test.name, test.input, test.answer, test.sample and not interactive)
            for test in package.tests
        ),
        states_samples=False,
        references=references,
        figures=figures,
        programs=(*generators, *programs),
        listed_tests=listed,
        sized_generators=sized,
        contest=contest,
        source_url=address,
        credits=_people(given.get("credits") or given.get("author") or given.get("authors")),
        license=_words(given.get("license")),
        notes=(*notes, *skipped, *listing_notes, *unused, *unsized),
    )


def _test(name: str, given: Path, answer: Path, sample: bool) -> TestRecord:
    explanation = ""
    for suffix in (".desc", ".hint"):
        file = given.with_suffix(suffix)
        if sample and file.is_file():
            explanation = Text.read(file).content.strip()
            break
    return TestRecord(name, sample, given, answer, explanation)


def _title(name: object) -> str:
    """Return the English name, or the name in the first other language."""
    if isinstance(name, dict):
        name = name.get("en") or next(iter(name.values()), "")
    return _words(name)


def _words(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _keywords(value: object) -> tuple[str, tuple[str, ...]]:
    """Return the tier, if a keyword names one, and the other keywords."""
    words = value if isinstance(value, list) else str(value or "").split()
    keywords = [_words(word) for word in words]
    tiers = [word.lower() for word in keywords if word.lower() in Tier.values]
    tags = dict.fromkeys(word for word in keywords if word and word.lower() not in Tier.values)
    return (tiers[0] if tiers else ""), tuple(tags)


def _origin(given: dict[str, Any]) -> tuple[str, str]:
    source = given.get("source")
    if isinstance(source, list):
        source = source[0] if source else None
    if isinstance(source, dict):
        name, address = _words(source.get("name")), source.get("url")
    else:
        name, address = _words(source), given.get("source_url")
    usable = isinstance(address, str) and address.startswith(("http://", "https://"))
    return name, address if isinstance(address, str) and usable else ""


def _people(value: object) -> str:
    """Return names without e-mail addresses from a string, a list, or a mapping with authors."""
    if isinstance(value, dict):
        value = value.get("name") or value.get("authors") or next(iter(value.values()), "")
    if isinstance(value, list):
        return ", ".join(name for person in value if (name := _people(person)))
    if isinstance(value, dict):
        return _people(value)
    return _words(value).split(" <")[0] if isinstance(value, str) else ""


def _language(path: Path) -> str | None:
    try:
        return get_language(language_of(path)).family.name
    except UnknownLanguageError:
        return _UNJUDGED_LANGUAGES.get(path.suffix.lower())


def _references(package: Package) -> tuple[tuple[ReferenceRecord, ...], Sequence[str]]:
    """Return the accepted submissions that are one file in a known language, and notes on the others."""
    kept, notes = [], []
    for submission in package.submissions:
        if submission.label != "accepted":
            continue
        path = submission.path
        language = _language(path)
        if not path.is_file() or language is None or path.stat().st_size > _LARGEST_PROGRAM:
            notes.append(f"the accepted submission {path.name} is not one program file of a known language")
            continue
        source = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        kept.append(ReferenceRecord(language, path.name, source))
    return tuple(kept), notes
