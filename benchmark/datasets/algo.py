"""The LeetCode files released with the ALGO paper: problems, and programs that models wrote (docs/spec.md 3.3, 10.3).

`leetcode_data` contains metadata.json and one statement per problem. The optional folder `leetcode_results` next to it
contains per problem a model's oracle, its input functions and a candidate, with official verdicts for the oracle and
the candidate. The import executes no program.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from benchmark.datasets.json_stream import read_object
from benchmark.datasets.records import (
    CandidateRecord,
    ImportedProblem,
    Importer,
    OracleRecord,
    SkippedEntry,
    Source,
    SourceError,
    TestRecord,
    UnusableProblemError,
)
from benchmark.functional import NotFunctionalError, Signature, normal_answer
from judge import Checker

_TITLE = re.compile(r"^###\s+(.+)$", re.MULTILINE)
_OUTPUT = re.compile(r"^\s*(?:\*\*)?Output:(?:\*\*)?\s*(.+?)\s*$", re.MULTILINE)
_DEFINITION = re.compile(r"\*\*Function definition\*\*\s*```\w*\n(.+?)```", re.DOTALL)
_CONTEST = re.compile(r"(weekly|biweekly)-contest-(\d+)")
_FIRST_CONTESTS = {"weekly": (335, date(2023, 3, 5), 7), "biweekly": (100, date(2023, 3, 18), 14)}
"""Number and date of a contest, and the days between contests of its kind."""

_VERDICTS = {
    "Accepted": "AC",
    "Wrong Answer": "WA",
    "Time Limit Exceeded": "TLE",
    "Memory Limit Exceeded": "MLE",
    "Output Limit Exceeded": "OLE",
    "Runtime Error": "RTE",
    "Compile Error": "CE",
}
_SECONDS = 10.0
_MEMORY = 512 * 2**20


@dataclass(frozen=True)
class StoredProblem:
    """The files of a problem: metadata, statement, and results, which may be empty."""

    metadata: Mapping[str, Any]
    statement: str
    results: Mapping[str, Any]

    @property
    def id(self) -> str:
        """LeetCode's number of the problem at the time of the release."""
        return str(self.metadata.get("problem", ""))


@contextmanager
def open_algo(path: Path) -> Iterator[Source]:
    """Open the problems in the folder that contains leetcode_data, or in leetcode_data itself. Raises SourceError."""
    stored = read_stored(path)
    yield Source(len(stored), (_entry(one) for one in stored))


IMPORTER = Importer("algo", "the folder that contains leetcode_data and leetcode_results", open_algo)


def read_stored(path: Path) -> list[StoredProblem]:
    """Return the files of every problem in the order of the metadata. Raises SourceError."""
    folder = path / "leetcode_data" if (path / "leetcode_data").is_dir() else path
    metadata = _json(folder / "metadata.json")
    problems = metadata.get("problems")
    if not isinstance(problems, list) or not all(isinstance(one, dict) for one in problems):
        raise SourceError(f"{folder / 'metadata.json'} contains no list of problems")
    results = folder.parent / "leetcode_results"
    stored = []
    for one in problems:
        name = str(one.get("problem", ""))
        if not name.isdecimal():
            raise SourceError(
                f"{folder / 'metadata.json'} contains a problem whose id {name!r} is not a number"
            )
        statement = folder / f"{name}.md"
        result = results / f"{name}_response.json"
        stored.append(
            StoredProblem(
                one,
                statement.read_text(encoding="utf-8") if statement.is_file() else "",
                _json(result) if result.is_file() else {},
            )
        )
    return stored


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise SourceError(
            f"{path} does not exist; the format algo needs the folder with leetcode_data and leetcode_results"
        )
    return dict(read_object(path))


def _entry(stored: StoredProblem) -> ImportedProblem | SkippedEntry:
    try:
        return _problem(stored)
    except (UnusableProblemError, NotFunctionalError) as reason:
        return SkippedEntry(stored.id, str(reason))


def _problem(stored: StoredProblem) -> ImportedProblem:
    statement = stored.statement.replace("\r\n", "\n")
    title = _TITLE.search(statement)
    if title is None:
        raise UnusableProblemError(f"there is no statement {stored.id}.md with a title")
    signature = signature_of(statement)
    contest = str(stored.metadata.get("contest") or "")
    tags = [str(stored.metadata.get("level") or ""), *map(str, stored.metadata.get("tags") or [])]
    return ImportedProblem(
        external_id=stored.id,
        title=title[1].strip(),
        statement=statement[title.end() :].strip() + "\n",
        statement_format="markdown",
        time_limit=_SECONDS,
        memory_limit=_MEMORY,
        checker=checker_of(signature).to_json(),
        tests=samples_of(stored, signature),
        tags=tuple(tag for tag in tags if tag),
        contest=contest,
        contest_date=_day(contest),
        source_url=f"https://leetcode.com/problems/{stored.metadata['link_id']}/"
        if stored.metadata.get("link_id")
        else "",
        signature=signature,
        oracle=oracle_of(stored.results),
        candidates=candidates_of(stored.results),
    )


def signature_of(statement: str) -> Signature:
    """Return the method that the statement defines. Raises NotFunctionalError."""
    definition = _DEFINITION.search(statement)
    if definition is None:
        raise NotFunctionalError("the statement has no function definition")
    return Signature.of(definition[1])


def checker_of(signature: Signature) -> Checker:
    """Return the checker: tokens, and numbers within 1e-5 if the type contains `float`, as on LeetCode."""
    tolerance = 1e-5 if "float" in signature.result else None
    return Checker(case_sensitive=True, float_absolute=tolerance, float_relative=tolerance)


def samples_of(stored: StoredProblem, signature: Signature) -> tuple[TestRecord, ...]:
    """Return the inputs of the metadata with the outputs of the statement. Raises UnusableProblemError."""
    inputs = stored.metadata.get("sample_inputs")
    outputs = _OUTPUT.findall(stored.statement)
    if not isinstance(inputs, list) or len(inputs) != len(outputs) or not inputs:
        count = len(inputs) if isinstance(inputs, list) else 0
        raise UnusableProblemError(f"it has {count} sample inputs and {len(outputs)} outputs")
    records = []
    for number, (given, output) in enumerate(zip(inputs, outputs, strict=True), 1):
        try:
            answer = normal_answer(output, signature)
        except ValueError:
            raise UnusableProblemError(
                f"the output {output[:60]!r} of sample {number} is not a JSON value"
            ) from None
        records.append(TestRecord(f"sample-{number}", True, f"{given}\n".encode(), f"{answer}\n".encode()))
    return tuple(records)


def oracle_of(results: Mapping[str, Any]) -> OracleRecord | None:
    """Return the stored oracle with its input functions, each empty if missing; None without an oracle."""
    program = _code(results, "code_brute_force") or _code(results, "code_bruteforce")
    if not program:
        return None
    return OracleRecord(
        oracle=program,
        validator=_code(results, "data_validator"),
        generator=_code(results, "data_generator"),
        batch=_code(results, "data_random_generator"),
        tricky=_code(results, "data_tricky_generator"),
        official_verdict=_verdict(results, "code_brute_force") or _verdict(results, "code_bruteforce"),
    )


def candidates_of(results: Mapping[str, Any]) -> tuple[CandidateRecord, ...]:
    """Return the stored candidates with their official verdicts, empty if unknown."""
    return tuple(
        CandidateRecord("python", name, code, _verdict(results, name))
        for name in ("code_baseline", "code_tag_generation")
        if (code := _code(results, name))
    )


def _part(results: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = results.get(name)
    return part if isinstance(part, dict) else {}


def _code(results: Mapping[str, Any], name: str) -> str:
    code = _part(results, name).get("code")
    return code if isinstance(code, str) else ""


def _verdict(results: Mapping[str, Any], name: str) -> str:
    return _VERDICTS.get(str(_part(_part(results, name), "result").get("status_msg", "")), "")


def _day(contest: str) -> date | None:
    """Return the date of a LeetCode contest: weekly ones on Sundays, biweekly ones on every second Saturday."""
    match = _CONTEST.fullmatch(contest)
    if match is None:
        return None
    number, day, days = _FIRST_CONTESTS[match[1]]
    return day + timedelta(days=days * (int(match[2]) - number))
