"""Generators and a validator that a model writes for a problem (docs/spec.md 5.1; 6, P-17), kept as its programs.

The model sees what a model under test may see: the statement, and nothing of tests or solutions.
"""

from collections.abc import Iterable
from dataclasses import asdict

from django.db.models import Max, QuerySet

from benchmark.extraction import extract_program
from benchmark.model_calls import Spending
from benchmark.model_calls.requests import ModelRequest
from benchmark.models import PackageProgram, Problem
from benchmark.prompts import Prompt, PromptFormat, Task, problem_section
from benchmark.providers import Message, ModelReply
from benchmark.representations import Author
from benchmark.suites.recipes import COUNTS, fastest_reference

LANGUAGE = "cpp"
VALIDATOR = "validator"
PARTS = (*COUNTS, VALIDATOR)

_FIRST_ORDER = 10_000
"""Of programs that models wrote; those of packages come before them."""


def missing_calls(problem: Problem, author: Author, writing: int) -> list[ModelRequest]:
    """The calls for what the model has not written for this problem yet; none where no reference could answer inputs.

    No validator is asked for where the problem came with one. `writing` tells apart programs of the same model: each
    number asks anew.
    """
    if fastest_reference(problem) is None:
        return []
    there = set(_written(problem, author, writing).values_list("name", flat=True))
    own = problem.package_programs.filter(role=PackageProgram.Role.INPUT_VALIDATOR, author="").exists()
    parts = [part for part in PARTS if _name(part, writing) not in there and not (part == VALIDATOR and own)]
    return [_call(problem, author, part, writing) for part in parts]


def written_programs(problem: Problem, author: Author, writing: int) -> list[PackageProgram]:
    """What the model has written for this problem; a reply without a program is left out."""
    return [row for row in _written(problem, author, writing) if row.files]


def paid_for(problems: Iterable[Problem], author: Author, writing: int) -> Spending:
    """What it cost to have all of that written for these problems."""
    rows = [row.writing for problem in problems for row in _written(problem, author, writing)]
    tokens = ("input_tokens", "output_tokens", "cached_input_tokens")
    return sum((Spending.of_reply(*(row.get(name) for name in tokens)) for row in rows), Spending())


def writing_prompt(problem: Problem, part: str) -> Prompt:
    """P-17: what the program is for, how it is called, and the statement."""
    form = PromptFormat(LANGUAGE, state_limits=True)
    names = ("suites/validator",) if part == VALIDATOR else ("suites/generator", f"suites/{part}")
    templates = form.templates
    kind = {} if part == VALIDATOR else {"kind": templates.render(f"suites/{part}")}
    sections = (
        form.section(names[0], **kind).text,
        form.section("program_block").text,
        problem_section(Task.of(problem), form).text,
    )
    text = "\n\n".join(sections)
    return Prompt((Message("user", text),), templates.hash(*names, "program_block", "problem"))


def _written(problem: Problem, author: Author, writing: int) -> QuerySet[PackageProgram]:
    """Answers to the questions as they are now: those about a former statement are none."""
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
