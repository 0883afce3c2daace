"""AlgoSimBench: a tagged corpus of problems with solutions, and questions about similar problems.

The dataset card names the fields of the questions (docs/spec.md 10.5) but not those of the corpus. The importer
searches known names in order; a `fields.toml` next to the files overrides them. The tagged problems of Hintbench use
the same format.
"""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmark.datasets.json_stream import read_entries
from benchmark.datasets.records import (
    ImportedProblem,
    Importer,
    QuestionRecord,
    ReferenceRecord,
    SkippedEntry,
    Source,
    SourceError,
    TestRecord,
)
from benchmark.datasets.rows import read_rows
from judge import LANGUAGES, Checker

FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("prob_id", "problem_id", "id"),
    "statement": ("statement", "description", "problem_statement", "problem"),
    "solution": ("solution", "code", "solutions"),
    "tags": ("tags", "labels"),
    "title": ("title", "name"),
    "rating": ("rating", "difficulty"),
    "url": ("url", "link"),
    "contest": ("source", "contest"),
    "language": ("language", "lang"),
    "samples": ("samples", "examples"),
}
"""Possible names of each field; the first one that the corpus contains is used."""
REQUIRED = ("id", "statement", "solution", "tags")
QUESTION_FIELDS: dict[str, tuple[str, ...]] = {
    "reference": ("reference",),
    "positive": ("positive",),
    "negative": ("negative", "negatives"),
}
FIELD_MAP = "fields.toml"
_SUFFIXES = (".json", ".jsonl", ".yaml", ".parquet")
_TIME_LIMIT, _MEMORY_LIMIT = 2.0, 256 * 2**20
"""Assumed limits in seconds and bytes: the corpus contains none."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _File:
    """A file of entries. Each use reads the file again, so that memory does not hold its texts."""

    path: Path
    names: tuple[str, ...]
    """The fields of all entries in the order of their first occurrence."""
    count: int

    @property
    def entries(self) -> Iterator[Row]:
        return _entries(self.path)


@contextmanager
def open_algosimbench(path: Path) -> Iterator[Source]:
    """Open the corpus at `path`: a file, or a folder that also contains questions. Raises SourceError."""
    if not path.exists():
        raise SourceError(f"{path} does not exist; the format algosimbench needs a file or a folder")
    folder = path if path.is_dir() else path.parent
    given = _read_map(folder / FIELD_MAP)
    files = [_read(file) for file in (_files(path) if path.is_dir() else [path])]
    questions = [
        file
        for file in files
        if _mapping(file, QUESTION_FIELDS, given["question"]).keys() >= QUESTION_FIELDS.keys()
    ]
    others = [file for file in files if file not in questions]
    corpora = [file for file in others if "statement" in _mapping(file, FIELDS, given["problem"])] or others
    if len(corpora) != 1:
        held = "".join(f"\n  {file.path.name}: {', '.join(file.names) or 'no entries'}" for file in files)
        raise SourceError(
            f"{path} must contain one corpus of problems, but {len(corpora)} files match; pass the file itself, "
            f"or name its fields in {FIELD_MAP}. Files and their fields:{held or ' none'}"
        )
    [corpus] = corpora
    names = _mapping(corpus, FIELDS, given["problem"])
    _refuse_missing(corpus, names)
    yield Source(
        corpus.count,
        (_problem(number, entry, names) for number, entry in enumerate(corpus.entries, 1)),
        tuple(
            question for file in questions for question in _questions(file, given["question"], names["id"])
        ),
    )


IMPORTER = Importer(
    "algosimbench",
    "a file of problems, or a folder with one such file and files of questions",
    open_algosimbench,
)


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES]


def _read_map(path: Path) -> dict[str, dict[str, str]]:
    """Return the tables [problem] and [question] of fields.toml, empty without the file. Raises SourceError."""
    tables: dict[str, dict[str, str]] = {"problem": {}, "question": {}}
    if not path.is_file():
        return tables
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read: {error}") from error
    for table, names in read.items():
        known = {"problem": FIELDS, "question": QUESTION_FIELDS}.get(table)
        if known is None or not isinstance(names, dict):
            raise SourceError(f"{path}: [{table}] is not one of [problem], [question]")
        for field, name in names.items():
            if field not in known or not isinstance(name, str):
                raise SourceError(
                    f"{path}: {field} = {name!r} is not a valid field; [{table}] may contain: {', '.join(known)}"
                )
            tables[table][field] = name
    return tables


def _mapping(file: _File, fields: Mapping[str, tuple[str, ...]], given: Mapping[str, str]) -> dict[str, str]:
    """Return the file's own names of the fields that it contains."""
    available = set(file.names)
    names = {}
    for field, candidates in fields.items():
        wanted = (given[field],) if field in given else candidates
        found = next((name for name in wanted if name in available), None)
        if found is not None:
            names[field] = found
    return names


def _refuse_missing(corpus: _File, names: Mapping[str, str]) -> None:
    missing = [field for field in REQUIRED if field not in names]
    if missing:
        tried = "; ".join(f"{field} ({', '.join(FIELDS[field])})" for field in missing)
        raise SourceError(
            f"{corpus.path} has no field for {tried}. Its fields: {', '.join(corpus.names) or 'none'}. Write a "
            f'{FIELD_MAP} next to it with their names, for example [problem] and then {missing[0]} = "…"'
        )


def _read(path: Path) -> _File:
    """Return a file of entries. Raises SourceError for a file that contains anything else."""
    names: dict[str, None] = {}
    count = 0
    for entry in _entries(path):
        names.update(dict.fromkeys(entry))
        count += 1
    return _File(path, tuple(names), count)


def _entries(path: Path) -> Iterator[Row]:
    """Yield the entries of a list of objects, or of an object of objects whose keys become the ids."""
    if path.suffix in (".jsonl", ".parquet"):
        yield from read_rows(path)[1]
        return
    for key, entry in _yaml_entries(path) if path.suffix == ".yaml" else read_entries(path, "list", "object"):
        if not isinstance(entry, dict):
            raise SourceError(f"{path} must contain a list of objects")
        yield entry if key is None else {"prob_id": key, **entry}


def _yaml_entries(path: Path) -> Iterator[tuple[str | None, Any]]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SourceError(
            f"{path} cannot be read ({error}). It may be incomplete: fetch it again."
        ) from error
    if isinstance(content, dict):
        yield from content.items()
    elif isinstance(content, list):
        yield from ((None, entry) for entry in content)
    else:
        raise SourceError(f"{path} must contain a list of objects")


def _problem(number: int, entry: Row, names: Mapping[str, str]) -> ImportedProblem | SkippedEntry:
    values = {field: entry.get(name) for field, name in names.items()}
    identifier = str(values["id"] or "").strip() or f"entry {number}"
    statement, tags = values["statement"], values["tags"]
    solution = values["solution"]
    if isinstance(solution, list):
        solution = next((one for one in solution if isinstance(one, str)), None)
    for field, value in (("statement", statement), ("solution", solution)):
        if not isinstance(value, str) or not value.strip():
            return SkippedEntry(identifier, f"its {field} ({names[field]}) is not a string")
    try:
        labels = tuple(_label(tag) for tag in ([tags] if isinstance(tags, str) else tags or ()))
        tests = tuple(_samples(values.get("samples")))
    except (TypeError, ValueError) as error:
        return SkippedEntry(identifier, str(error))
    assert isinstance(statement, str)
    assert isinstance(solution, str)
    rating = values.get("rating")
    url = values.get("url")
    language = values.get("language")
    return ImportedProblem(
        external_id=identifier,
        title=str(values.get("title") or identifier),
        statement=statement,
        statement_format="markdown",
        time_limit=_TIME_LIMIT,
        memory_limit=_MEMORY_LIMIT,
        checker=Checker().to_json(),
        tests=tests,
        tags=labels,
        references=(
            ReferenceRecord(language if language in LANGUAGES else _language(solution), "solution", solution),
        ),
        contest=str(values.get("contest") or ""),
        rating=int(rating) if isinstance(rating, int | float) and rating > 0 else None,
        source_url=url if isinstance(url, str) else "",
    )


def _label(tag: object) -> str:
    """Return a tag as a path of its categories and its name joined by " > ", at any depth of nesting."""
    if isinstance(tag, str) and tag.strip():
        return tag.strip()
    if isinstance(tag, dict):
        parts = [
            tag.get(name) for name in ("category", "subcategory", "sub_category", "label", "tag", "name")
        ]
    else:
        parts = list(tag) if isinstance(tag, list | tuple) else []
    texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
    if not texts:
        raise ValueError(f"its tag {tag!r} is neither a string nor a path of categories")
    return " > ".join(texts)


def _samples(samples: object) -> Iterator[TestRecord]:
    for number, entry in enumerate(samples if isinstance(samples, list) else (), 1):
        sample = [entry.get("input"), entry.get("output")] if isinstance(entry, dict) else entry
        if not (isinstance(sample, list) and len(sample) == 2 and all(isinstance(t, str) for t in sample)):
            raise ValueError(f"its sample {number} is not a pair of an input and an output")
        yield TestRecord(str(number), True, sample[0].encode(), sample[1].encode())


def _language(solution: str) -> str:
    if "#include" in solution:
        return "cpp"
    return "java" if "public static void main" in solution else "python"


def _questions(file: _File, given: Mapping[str, str], id_name: str) -> Iterator[QuestionRecord]:
    names = _mapping(file, QUESTION_FIELDS, given)
    for number, entry in enumerate(file.entries, 1):
        negative = entry.get(names["negative"])
        if not isinstance(negative, list) or len(negative) != 3:
            raise SourceError(
                f"{file.path}: question {number} does not have three problems in {names['negative']}"
            )
        reference, positive, *others = (
            _identifier(one, id_name)
            for one in (entry.get(names["reference"]), entry.get(names["positive"]), *negative)
        )
        if not (reference and positive and all(others)):
            raise SourceError(
                f"{file.path}: question {number} names a problem without an id ({id_name}); "
                f"its reference is {entry.get(names['reference'])!r}"
            )
        yield QuestionRecord(reference, positive, tuple(others))


def _identifier(problem: object, id_name: str) -> str:
    """Return the id of a problem in a question: the id itself, or the id of an object."""
    if isinstance(problem, dict):
        named = (problem.get(name) for name in dict.fromkeys((id_name, *FIELDS["id"])))
        problem = next((value for value in named if value), "")
    return str(problem).strip() if isinstance(problem, str | int) else ""
