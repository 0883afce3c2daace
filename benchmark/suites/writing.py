"""Generators and a validator that a model writes for a problem (docs/spec.md 5.1; 6, P-17), stored as its programs.

The prompt contains the statement only, no tests or solutions.
"""

from collections.abc import Iterable
from dataclasses import asdict

from django.db.models import Max, QuerySet

from benchmark.extraction import extract_program
from benchmark.model_calls import Spending
from benchmark.model_calls.requests import ModelRequest
from benchmark.models import PackageProgram, Problem
from benchmark.prompts import Prompt, PromptFormat, VisibleProblem, problem_section
from benchmark.providers import Message, ModelReply
from benchmark.representations import Author
from benchmark.suites.recipes import COUNTS, fastest_reference

LANGUAGE = "cpp"
VALIDATOR = "validator"
PARTS = (*COUNTS, VALIDATOR)

_FIRST_ORDER = 10_000
"""The lowest order of programs that models wrote, after those of packages."""


def missing_calls(problem: Problem, author: Author, writing: int) -> list[ModelRequest]:
    """Return the calls for programs that the model has not written yet; none without a reference solution.

    No validator is requested if the problem has one. `writing` is the number of the attempt: each number requests new
    programs.
    """
    if fastest_reference(problem) is None:
        return []
    there = set(_written(problem, author, writing).values_list("name", flat=True))
    own = problem.package_programs.filter(role=PackageProgram.Role.INPUT_VALIDATOR, author="").exists()
    parts = [part for part in PARTS if _name(part, writing) not in there and not (part == VALIDATOR and own)]
    return [_call(problem, author, part, writing) for part in parts]


def written_programs(problem: Problem, author: Author, writing: int) -> list[PackageProgram]:
    """Return the programs that the model wrote for this problem, without replies that contain no program."""
    return [row for row in _written(problem, author, writing) if row.files]


def paid_for(problems: Iterable[Problem], author: Author, writing: int) -> Spending:
    """Return the cost of these programs for these problems."""
    rows = [row.writing for problem in problems for row in _written(problem, author, writing)]
    tokens = ("input_tokens", "output_tokens", "cached_input_tokens")
    return sum((Spending.of_reply(*(row.get(name) for name in tokens)) for row in rows), Spending())


def writing_prompt(problem: Problem, part: str) -> Prompt:
    """Return P-17: the purpose of the program, its interface, and the statement."""
    form = PromptFormat(LANGUAGE, state_limits=True)
    names = ("suites/validator",) if part == VALIDATOR else ("suites/generator", f"suites/{part}")
    templates = form.templates
    kind = {} if part == VALIDATOR else {"kind": templates.render(f"suites/{part}")}
    sections = (
        form.section(names[0], **kind).text,
        form.section("program_block").text,
        problem_section(VisibleProblem.of(problem), form).text,
    )
    text = "\n\n".join(sections)
    return Prompt((Message("user", text),), templates.hash(*names, "program_block", "problem"))


def _written(problem: Problem, author: Author, writing: int) -> QuerySet[PackageProgram]:
    """Return the programs of the current prompts; those for an earlier statement are ignored."""
    return problem.package_programs.filter(
        author=author.spec,
        writing__number=writing,
        writing__parameters=author.parameters.to_json(),
        writing__prompt_hash__in=[writing_prompt(problem, part).hash for part in PARTS],
    )


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
            writing={
                "number": writing,
                "prompt_hash": prompt.hash,
                "template_hash": prompt.template_hash,
                "parameters": author.parameters.to_json(),
                "model_returned": reply.model,
                "text": reply.text,
                **asdict(reply.usage),
            },
        )

    return ModelRequest(f"{_name(part, writing)} of {problem.external_id}", prompt, keep)


def _name(part: str, writing: int) -> str:
    return f"{part}-{writing}.cpp"
