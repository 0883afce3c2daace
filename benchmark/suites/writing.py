"""Generators and a validator that a model writes for a problem (docs/spec.md 5.1; 6, P-17), stored as its programs.

The prompt contains the statement only, no tests or solutions.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.db.models import Max, QuerySet

from benchmark.extraction import extract_program
from benchmark.model_calls import Spending
from benchmark.model_calls.requests import ModelRequest
from benchmark.models import PackageProgram, Problem, SizedGenerator
from benchmark.prompts import Prompt, PromptFormat, VisibleProblem, problem_section
from benchmark.providers import Message, ModelReply
from benchmark.representations import Author
from benchmark.suites.recipes import COUNTS, fastest_reference

LANGUAGE = "cpp"
VALIDATOR = "validator"
PARTS = (*COUNTS, VALIDATOR)

SIZED = "sized"
"""The generator that takes a size, for the growth of running times. It is not part of a suite."""

_STATED_SIZE = re.compile(
    r"^\s*//\s*size:\s*(?P<name>[^,\n]{1,40}),\s*largest:\s*(?P<largest>\d{2,15})\s*$", re.M
)

_FIRST_ORDER = 10_000
"""The lowest order of programs that models wrote, after those of packages."""


def missing_calls(
    problem: Problem, author: Author, writing: int, *, sizes: bool = False
) -> list[ModelRequest]:
    """Return the calls for programs that the model has not written yet; none without a reference solution.

    With `sizes` the model also writes a generator that takes a size, unless the package contains one.

    No validator is requested if the problem has one. `writing` is the number of the attempt: each number requests new
    programs.
    """
    if fastest_reference(problem) is None:
        return []
    there = set(_written(problem, author, writing).values_list("name", flat=True))
    own = problem.package_programs.filter(role=PackageProgram.Role.INPUT_VALIDATOR, author="").exists()
    parts = [part for part in PARTS if _name(part, writing) not in there and not (part == VALIDATOR and own)]
    calls = [_call(problem, author, part, writing) for part in parts]
    return calls + (
        [_sized_call(problem, author, writing)] if sizes and _lacks_sizes(problem, author, writing) else []
    )


def _lacks_sizes(problem: Problem, author: Author, writing: int) -> bool:
    own = problem.sized_generators.filter(author="").exists()
    return not own and not _written_sizes(problem, author, writing).exists()


def written_programs(problem: Problem, author: Author, writing: int) -> list[PackageProgram]:
    """Return the programs that the model wrote for this problem, without replies that contain no program."""
    return [row for row in _written(problem, author, writing) if row.files]


def paid_for(problems: Iterable[Problem], author: Author, writing: int) -> Spending:
    """Return the cost of these programs for these problems."""
    rows = [
        record
        for problem in problems
        for written in (_written(problem, author, writing), _written_sizes(problem, author, writing))
        for record in written.values_list("writing", flat=True)
    ]
    tokens = ("input_tokens", "output_tokens", "cached_input_tokens")
    return sum((Spending.of_reply(*(row.get(name) for name in tokens)) for row in rows), Spending())


def writing_prompt(problem: Problem, part: str) -> Prompt:
    """Return P-17: the purpose of the program, its interface, and the statement."""
    form = PromptFormat(LANGUAGE, state_limits=True)
    names = (f"suites/{part}",) if part in (VALIDATOR, SIZED) else ("suites/generator", f"suites/{part}")
    templates = form.templates
    kind = {} if part in (VALIDATOR, SIZED) else {"kind": templates.render(f"suites/{part}")}
    sections = (
        form.section(names[0], **kind).text,
        form.section("program_block").text,
        problem_section(VisibleProblem.of(problem), form).text,
    )
    text = "\n\n".join(sections)
    return Prompt((Message("user", text),), templates.hash(*names, "program_block", "problem"))


def _written(problem: Problem, author: Author, writing: int) -> QuerySet[PackageProgram]:
    """Return the programs of the current prompts; those for an earlier statement are ignored."""
    return problem.package_programs.filter(**_of(problem, author, writing, *PARTS))


def _written_sizes(problem: Problem, author: Author, writing: int) -> QuerySet[SizedGenerator]:
    return problem.sized_generators.filter(**_of(problem, author, writing, SIZED))


def _of(problem: Problem, author: Author, writing: int, *parts: str) -> dict[str, Any]:
    """Return the conditions of rows that hold these programs by this model."""
    return {
        "author": author.spec,
        "writing__number": writing,
        "writing__parameters": author.parameters.to_json(),
        "writing__prompt_hash__in": [writing_prompt(problem, part).hash for part in parts],
    }


def _call(problem: Problem, author: Author, part: str, writing: int) -> ModelRequest:
    prompt = writing_prompt(problem, part)

    def keep(reply: ModelReply) -> None:
        last = problem.package_programs.aggregate(last=Max("order"))["last"] or 0
        extraction = extract_program(reply.text, LANGUAGE)
        role = PackageProgram.Role.INPUT_VALIDATOR if part == VALIDATOR else PackageProgram.Role.GENERATOR
        PackageProgram.objects.create(
            problem=problem,
            order=max(_FIRST_ORDER, last + 1),
            role=role,
            name=_name(part, writing),
            language=LANGUAGE,
            files={"main.cpp": extraction.code} if extraction.code else {},
            commands=[] if part == VALIDATOR else [[part, "{seed}"]],
            author=author.spec,
            writing=_record(prompt, reply, author, writing),
        )

    return ModelRequest(f"{_name(part, writing)} of {problem.external_id}", prompt, keep)


def _sized_call(problem: Problem, author: Author, writing: int) -> ModelRequest:
    prompt = writing_prompt(problem, SIZED)

    def keep(reply: ModelReply) -> None:
        last = problem.sized_generators.aggregate(last=Max("order"))["last"] or 0
        extraction = extract_program(reply.text, LANGUAGE)
        stated = _STATED_SIZE.search(extraction.code or "")
        SizedGenerator.objects.create(
            problem=problem,
            order=max(_FIRST_ORDER, last + 1),
            parameter=stated["name"].strip() if stated else "",
            name=_name(SIZED, writing),
            language=LANGUAGE,
            files={"main.cpp": extraction.code} if stated else {},
            arguments="{size} {seed}",
            largest=int(stated["largest"]) if stated else 0,
            author=author.spec,
            writing=_record(prompt, reply, author, writing),
        )

    return ModelRequest(f"{_name(SIZED, writing)} of {problem.external_id}", prompt, keep)


def _record(prompt: Prompt, reply: ModelReply, author: Author, writing: int) -> dict[str, Any]:
    """Return what is stored of the call: its prompt, parameters, reply and tokens."""
    return {
        "number": writing,
        "prompt_hash": prompt.hash,
        "template_hash": prompt.template_hash,
        "parameters": author.parameters.to_json(),
        "model_returned": reply.model,
        "text": reply.text,
        **asdict(reply.usage),
    }


def _name(part: str, writing: int) -> str:
    return f"{part}-{writing}.cpp"
