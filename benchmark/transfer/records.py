"""The records of the format `hintbench-run/1`, as docs/runs.md describes them field by field.

A reference to a row is the number of its line, from 1, in the file of the same run; a problem is named by its id.
"""

from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

FORMAT: Literal["hintbench-run/1"] = "hintbench-run/1"
FAMILY, VERSION = "hintbench-run", 1

_LARGEST_INTEGER = 2**31 - 1
"""The largest value that an integer column can hold on every database."""

Count = Annotated[int, Field(ge=0, le=_LARGEST_INTEGER)]
LargeCount = Annotated[int, Field(ge=0, le=2**63 - 1)]
Line = Annotated[int, Field(ge=1, le=_LARGEST_INTEGER)]
Short = Annotated[str, Field(max_length=60)]
Name = Annotated[str, Field(max_length=200)]
Required = Annotated[str, Field(min_length=1, max_length=200)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hash = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
Verdict = Annotated[str, Field(max_length=10)]
Object = dict[str, JsonValue]


class Record(BaseModel):
    """A JSON object with exactly the fields of its class."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return self.model_dump(mode="json")


class FileEntry(Record):
    """A file of the folder: path with forward slashes, size in bytes, number of lines, and hash of its bytes."""

    name: Annotated[str, Field(pattern=r"^[0-9a-f-]{36}/[a-z]+\.jsonl?$")]
    bytes: Annotated[int, Field(ge=0, le=64 * 2**30)]
    rows: Count
    sha256: Sha256


class Manifest(Record):
    """The file `manifest.json`: the format, the ids of the runs, and every other file of the folder."""

    format: Literal["hintbench-run/1"]
    runs: Annotated[list[UUID], Field(min_length=1, max_length=10_000)]
    files: Annotated[list[FileEntry], Field(max_length=60_000)]


class SourceRecord(Record):
    """The site on which the run was executed, and the commit of its program (blank: unknown)."""

    site: Required
    version: Name


class DatasetRecord(Record):
    """The dataset of the run: its name at the source, and the format of its importer."""

    name: Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]{1,80}$")]
    format: Annotated[str, Field(max_length=30)]


class ModelRecord(Record):
    """The version of the language model that the run used, without prices of single calls and permitted users."""

    label: Annotated[str, Field(pattern=r"^[\w.-]{1,80}$")]
    version: Count
    spec: Required
    parameters: Object
    context_tokens: Count | None
    content_hash: Sha256
    price: Object | None
    cutoff: date | None
    created_at: AwareDatetime


class TutorRecord(Record):
    """The model in the role of the tutor of a run, with its usage beside that of the student."""

    model: ModelRecord
    model_spec: Required
    parameters: Object
    price: Object | None
    limits: Object
    paid_calls: LargeCount
    paid_input_tokens: LargeCount
    paid_output_tokens: LargeCount
    paid_cached_input_tokens: LargeCount
    calls_without_tokens: LargeCount
    calls_broken_off: LargeCount


class RunRecord(Record):
    """The row of a run."""

    id: UUID
    source: SourceRecord
    dataset: DatasetRecord
    model: ModelRecord | None
    method: Short
    model_spec: Required
    parameters: Object
    attempts: Annotated[int, Field(ge=1, le=_LARGEST_INTEGER)]
    epochs: Annotated[int, Field(ge=1, le=_LARGEST_INTEGER)]
    first_draw: Count
    state: Literal["finished", "stopped"]
    manifest: Object
    started_at: AwareDatetime
    finished_at: AwareDatetime | None
    rejudged_at: AwareDatetime | None = None
    price: Object | None
    budget: Object
    limits: Object
    stop_reason: str
    paid_calls: LargeCount
    paid_input_tokens: LargeCount
    paid_output_tokens: LargeCount
    paid_cached_input_tokens: LargeCount
    calls_without_tokens: LargeCount
    calls_broken_off: LargeCount
    tutor: TutorRecord | None = None


class ProblemRecord(Record):
    """The data of a problem that pages and figures show, without statement, tests, analysis and solutions."""

    id: Required
    content_hash: Hash
    title: Annotated[str, Field(max_length=300)]
    tier: Annotated[str, Field(max_length=20)]
    tags: list[str]
    statement_format: Annotated[str, Field(max_length=20)]
    time_limit: float
    memory_limit: LargeCount
    checker: Object
    samples_only: bool
    contest: Name
    contest_date: date | None
    source_url: Annotated[str, Field(max_length=500)]
    credits: Annotated[str, Field(max_length=500)]
    license: Annotated[str, Field(max_length=100)]


class ResultOfTest(Record):
    """The result of one test; the texts of a hidden test are blank. Fields of other versions are kept."""

    model_config = ConfigDict(extra="allow")

    name: str
    sample: bool
    verdict: Verdict
    time: float
    memory: int
    message: str


class JudgementResult(Record):
    """The results of the tests. Other fields of the judge's record are kept."""

    model_config = ConfigDict(extra="allow")

    tests: list[ResultOfTest] = []


class SubmissionRecord(Record):
    """A program that was judged."""

    problem: Required
    language: Annotated[str, Field(max_length=20)]
    source: str
    source_hash: Annotated[str, Field(max_length=64)]


class JudgementRecord(Record):
    """A judgement on a submission. The results of hidden tests have no texts."""

    submission: Line
    purpose: Literal["verdict", "score"]
    suite: Literal["samples", "all"]
    policy: Verdict
    stop_at_first_failure: bool
    memory_limit: LargeCount | None
    whole_output: bool
    state: Literal["done", "failed"]
    verdict: Verdict
    passed: Count | None
    total: Count | None
    result: JudgementResult | None
    fault: str
    relaxed_verdict: Verdict
    measured_factor: Annotated[float, Field(gt=0)] | None = None
    time_factor: Annotated[float, Field(gt=0)] = 1.0
    near_limit: bool = False
    problem_hash: Hash
    replaces: Line | None = None
    """The line of the former judgement that a rejudging replaced; it precedes this line."""
    finished_at: AwareDatetime | None


class ItemRecord(Record):
    """A work item: one chain of one problem. `selected` is a step of this item, `judgement` a line."""

    problem: Required
    chain: Count
    state: Literal["pending", "done", "failed"]
    fault: str
    permanent: bool
    selected: Count | None
    judgement: Line | None


class ReusedRecord(Record):
    """The paid reply that another one repeats: the step of an item of a run, given by the line of the item."""

    run: UUID
    item: Line
    step: Count


class GenerationRecord(Record):
    """One reply of the model with its prompt. `item`, `sample_judgement` and `hidden_judgement` are lines."""

    item: Line
    step: Count
    purpose: Annotated[str, Field(max_length=10)]
    messages: list[Object]
    prompt_hash: Hash
    template_hash: Hash
    parameters: Object
    model_returned: Name
    text: str
    reasoning: str
    blocks: list[Object] | None = None
    code: str
    extraction: Object
    input_tokens: Count | None
    output_tokens: Count | None
    cached_input_tokens: Count | None
    reasoning_tokens: Count | None
    latency: float
    first_token: float | None
    finish_reason: Short
    request_id: Name
    retrieval: Object | None
    sample_judgement: Line | None
    hidden_judgement: Line | None
    reused: ReusedRecord | None
    created_at: AwareDatetime


FILES: dict[str, type[Record]] = {
    "run.json": RunRecord,
    "problems.jsonl": ProblemRecord,
    "submissions.jsonl": SubmissionRecord,
    "judgements.jsonl": JudgementRecord,
    "items.jsonl": ItemRecord,
    "generations.jsonl": GenerationRecord,
}
"""The files of each run with the records of their lines. `run.json` has one line."""
