"""The questions of ALGO: the oracle, what makes inputs for it, and the coder's (docs/spec.md 6, P-7 to P-12)."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.prompts.assembly import Prompt, PromptFormat, Task, problem_section
from benchmark.providers import Message
from benchmark.text.excerpts import excerpt

SHOWN = 2_000
"""Characters of an input or output that a prompt shows (docs/spec.md 6)."""

VERIFIER_TEMPLATES = (
    "problem",
    *(
        f"oracle/{name}"
        for name in (
            "brute_force",
            "class_interface",
            "text_interface",
            "validator",
            "validator_of_values",
            "validator_of_text",
            "generator",
            "generator_of_text",
            "batch",
            "tricky",
            "tricky_values",
            "tricky_texts",
        )
    ),
)
WRITTEN_TESTS_TEMPLATES = (
    "oracle/written_tests",
    "oracle/written_values",
    "oracle/written_texts",
)
TAGGED_TEMPLATES = ("oracle/tagged", "oracle/tagged_end")
COUNTEREXAMPLE_TEMPLATES = ("oracle/counterexamples", "oracle/counterexample", "attempt")


@dataclass(frozen=True)
class OracleCase:
    """An input on which a program fails: the statement's or the oracle's answer, and what the program did.

    It is a sample or made by a model's generator. Nothing of a hidden test can be in it.
    """

    input: str
    expected: str
    output: str
    fault: str


def oracle_prompt(task: Task, form: PromptFormat) -> Prompt:
    """P-7: a brute-force solution, as a class with the method or as a function of the whole input."""
    return _about(task, form, "brute_force", interface=_one(task, form, "class_interface", "text_interface"))


def validator_prompt(task: Task, form: PromptFormat) -> Prompt:
    """P-8."""
    interface = _one(task, form, "validator_of_values", "validator_of_text")
    return _about(task, form, "validator", interface=interface)


def generator_prompt(task: Task, form: PromptFormat, validator: str) -> Prompt:
    """P-9, or P-11 for a problem whose inputs are texts."""
    if task.signature is None:
        return _about(task, form, "generator_of_text")
    return _about(task, form, "generator", validator=validator, method=task.signature.method)


def batch_prompt(task: Task, form: PromptFormat, generator: str) -> Prompt:
    """P-10, for a functional problem only."""
    assert task.signature is not None
    return _about(task, form, "batch", generator=generator, method=task.signature.method)


def tricky_prompt(task: Task, form: PromptFormat) -> Prompt:
    """P-12."""
    return _about(task, form, "tricky", interface=_one(task, form, "tricky_values", "tricky_texts"))


def written_tests_prompt(task: Task, form: PromptFormat) -> Prompt:
    """Tests with answers of the model's own: the written tests of ALGO's Table 4 (docs/spec.md 3.3, T16)."""
    interface = _one(task, form, "written_values", "written_texts")
    return _about(task, form, "written_tests", ("problem", *WRITTEN_TESTS_TEMPLATES), interface=interface)


def tagged_prompt(task: Task, form: PromptFormat, tag: str) -> Prompt:
    """P-7t: a solution with the method of a tag, named at the beginning and at the end."""
    sections = (
        form.section("oracle/tagged", tag=tag).text,
        problem_section(task, form).text,
        form.section("oracle/tagged_end", tag=tag).text,
    )
    return _prompt(form, ("oracle/tagged", "problem", "oracle/tagged_end"), sections)


def counterexample_prompt(
    task: Task, form: PromptFormat, number: int, reply: str, cases: Sequence[OracleCase]
) -> Prompt:
    """The problem, the last attempt, and inputs on which it fails; without any it had no program."""
    told = [
        form.templates.render(
            "oracle/counterexample",
            input=excerpt(case.input, SHOWN),
            expected=excerpt(case.expected, SHOWN),
            result=f"printed\n{excerpt(case.output, SHOWN)}"
            if case.fault == "WA"
            else f"ended with {case.fault}",
        )
        for case in cases
    ]
    result = "\n\n".join(told) or "There was no program in it."
    attempt = form.templates.render("attempt", number=str(number), reply=reply, result=result)
    sections = (form.section("oracle/counterexamples").text, problem_section(task, form).text, attempt)
    return _prompt(form, ("problem", *COUNTEREXAMPLE_TEMPLATES), sections)


def _about(
    task: Task, form: PromptFormat, name: str, templates: Sequence[str] = VERIFIER_TEMPLATES, **parts: str
) -> Prompt:
    """A question about the problem as it is stated, without a word on how solutions are handed in."""
    sections = (
        form.section(f"oracle/{name}", **parts).text,
        form.section("problem", problem=task.statement).text,
    )
    return _prompt(form, templates, sections)


def _one(task: Task, form: PromptFormat, functional: str, text: str) -> str:
    """How a program is called, for the one kind of problem or the other."""
    if task.signature is None:
        return form.section(f"oracle/{text}").text
    return form.section(f"oracle/{functional}", method=task.signature.method).text


def _prompt(form: PromptFormat, templates: Sequence[str], sections: Sequence[str]) -> Prompt:
    return Prompt((Message("user", "\n\n".join(sections)),), form.templates.hash(*templates))
