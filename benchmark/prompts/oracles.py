"""The prompts of ALGO: for the oracle, the generators of its inputs, and the coder (docs/spec.md 6, P-7 to P-12)."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.prompts.assembly import Prompt, PromptFormat, VisibleProblem, problem_section
from benchmark.providers import Message
from benchmark.text.excerpts import excerpt

SHOWN = 2_000
"""Characters of an input or output in a prompt (docs/spec.md 6)."""

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
    """An input on which a program fails, with the expected answer, the program's output and the fault.

    The input is a sample or made by a model's generator; it never comes from a hidden test.
    """

    input: str
    expected: str
    output: str
    fault: str


def oracle_prompt(task: VisibleProblem, form: PromptFormat) -> Prompt:
    """Return prompt P-7: a brute-force solution, as a class with the method or as a function of the whole input."""
    return _statement_prompt(
        task, form, "brute_force", interface=_interface(task, form, "class_interface", "text_interface")
    )


def validator_prompt(task: VisibleProblem, form: PromptFormat) -> Prompt:
    """Return prompt P-8."""
    interface = _interface(task, form, "validator_of_values", "validator_of_text")
    return _statement_prompt(task, form, "validator", interface=interface)


def generator_prompt(task: VisibleProblem, form: PromptFormat, validator: str) -> Prompt:
    """Return prompt P-9, or P-11 for a problem whose inputs are texts."""
    if task.signature is None:
        return _statement_prompt(task, form, "generator_of_text")
    return _statement_prompt(task, form, "generator", validator=validator, method=task.signature.method)


def batch_prompt(task: VisibleProblem, form: PromptFormat, generator: str) -> Prompt:
    """Return prompt P-10, for a functional problem only."""
    assert task.signature is not None
    return _statement_prompt(task, form, "batch", generator=generator, method=task.signature.method)


def tricky_prompt(task: VisibleProblem, form: PromptFormat) -> Prompt:
    """Return prompt P-12."""
    return _statement_prompt(
        task, form, "tricky", interface=_interface(task, form, "tricky_values", "tricky_texts")
    )


def written_tests_prompt(task: VisibleProblem, form: PromptFormat) -> Prompt:
    """Return the prompt for tests with the model's own answers, ALGO's Table 4 (docs/spec.md 3.3, T16)."""
    interface = _interface(task, form, "written_values", "written_texts")
    return _statement_prompt(
        task, form, "written_tests", ("problem", *WRITTEN_TESTS_TEMPLATES), interface=interface
    )


def tagged_prompt(task: VisibleProblem, form: PromptFormat, tag: str) -> Prompt:
    """Return prompt P-7t: a solution with the method of a tag, which is named at the beginning and at the end."""
    sections = (
        form.section("oracle/tagged", tag=tag).text,
        problem_section(task, form).text,
        form.section("oracle/tagged_end", tag=tag).text,
    )
    return _prompt(form, ("oracle/tagged", "problem", "oracle/tagged_end"), sections)


def counterexample_prompt(
    task: VisibleProblem, form: PromptFormat, number: int, reply: str, cases: Sequence[OracleCase]
) -> Prompt:
    """Return the prompt with the problem, the last attempt and inputs on which it fails.

    Without such inputs the attempt had no program.
    """
    failures = [
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
    result = "\n\n".join(failures) or "There was no program in it."
    attempt = form.templates.render("attempt", number=str(number), reply=reply, result=result)
    sections = (form.section("oracle/counterexamples").text, problem_section(task, form).text, attempt)
    return _prompt(form, ("problem", *COUNTEREXAMPLE_TEMPLATES), sections)


def _statement_prompt(
    task: VisibleProblem,
    form: PromptFormat,
    name: str,
    templates: Sequence[str] = VERIFIER_TEMPLATES,
    **parts: str,
) -> Prompt:
    """Return a prompt with the problem's statement, without instructions for the form of solutions."""
    sections = (
        form.section(f"oracle/{name}", **parts).text,
        form.section("problem", problem=task.statement).text,
    )
    return _prompt(form, templates, sections)


def _interface(task: VisibleProblem, form: PromptFormat, functional: str, text: str) -> str:
    """Return the interface of a program, for a functional problem or one with texts as inputs."""
    if task.signature is None:
        return form.section(f"oracle/{text}").text
    return form.section(f"oracle/{functional}", method=task.signature.method).text


def _prompt(form: PromptFormat, templates: Sequence[str], sections: Sequence[str]) -> Prompt:
    return Prompt((Message("user", "\n\n".join(sections)),), form.templates.hash(*templates))
