"""The one place where prompts are put together, and where hidden things are kept out of them.

A method never holds a `Problem` row or a judgement. It holds a `Task`, which has only what a model may read,
texts of other problems as `Document`s, and `SampleRun`s, which know nothing of hidden tests; assembly refuses
a document of the problem under test. Hidden tests and the reference solutions of that problem therefore have no way
in, its analysis only as what the oracle-assisted control names so, and canary tests send every method through a
recording server to prove it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from benchmark.functional import Signature
from benchmark.models import Problem
from benchmark.prompts.feedback import FEEDBACK_TEMPLATES, Feedback, HiddenCount, SampleRun, describe
from benchmark.prompts.leaks import PromptLeakError
from benchmark.prompts.templates import Templates, our_templates
from benchmark.providers import Message, Parameters
from benchmark.retrieval import Document, has_statement
from judge import get_language

ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh")
"""How many similar problems a prompt can introduce (docs/spec.md 1.2, A4)."""


@dataclass(frozen=True)
class Task:
    """What a model under test may know about its problem."""

    id: str
    statement: str
    time_limit: float
    memory_limit: int
    samples: str = ""
    """The samples, where the statement does not hold them."""
    signature: Signature | None = None
    """The method that a functional problem asks for; None where programs read standard input."""

    @classmethod
    def of(cls, problem: Problem) -> "Task":
        """The visible part of a stored problem."""
        signature = Signature.from_json(problem.signature) if problem.signature else None
        return cls(
            problem.external_id,
            problem.statement,
            problem.time_limit,
            problem.memory_limit,
            problem.samples_text,
            signature,
        )


MemoryUnit = Literal["MiB", "MB"]


@dataclass(frozen=True)
class PromptFormat:
    """What is the same in every prompt of a run: language asked for, whether limits are stated, the wording.

    `memory_unit` is that of the memory limit; programs are judged by it.
    """

    language: str
    state_limits: bool
    templates: Templates = field(default_factory=our_templates)
    memory_unit: MemoryUnit = "MiB"

    def section(self, template: str, **parts: str) -> "_Section":
        """A section with one template. Language and fence need not be given."""
        language = get_language(self.language)
        words = {"language": language.title, "fence": language.family}
        return _Section((template,), self.templates.render(template, **words, **parts))


@dataclass(frozen=True)
class PromptContext:
    """Texts that a prompt shows beside the problem: other problems with their solutions, and a piece of a textbook.

    `analysis` is the problem's own official explanation. Only the oracle-assisted control may fill it in.
    """

    similar: tuple[Document, ...] = ()
    excerpt: str = ""
    analysis: str = ""


NO_CONTEXT = PromptContext()
"""Of a prompt that shows the problem alone."""


@dataclass(frozen=True)
class PreviousAttempt:
    """An answer given before, numbered from 1, and what its program did on the samples.

    `hidden` is what may be told of the hidden tests, `reflection` what the model said of its failure in a reply of
    its own; None where it was not asked.
    """

    number: int
    reply: str
    samples: SampleRun
    hidden: HiddenCount | None = None
    reflection: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it passes everything that the model is told of."""
        return self.samples.passed and (self.hidden is None or self.hidden.passed == self.hidden.total)


@dataclass(frozen=True)
class Prompt:
    """A finished question, without a system message, as in the papers (docs/spec.md 6).

    It is one message of a user but for methods that go on with a conversation.
    """

    messages: tuple[Message, ...]
    template_hash: str
    temperature: float | None = None
    """Instead of the run's own, where it is not None."""

    @property
    def hash(self) -> str:
        """sha256 of the messages as canonical JSON."""
        canonical = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def parameters(self, usual: Parameters) -> Parameters:
        """The sampling parameters to ask with, in a run with these."""
        return usual if self.temperature is None else replace(usual, temperature=self.temperature)

    def to_json(self) -> list[dict[str, str]]:
        """The messages as they are stored."""
        return [{"role": message.role, "content": message.content} for message in self.messages]


SOLVE_TEMPLATES = ("instructions", "problem")
SIMILAR_TEMPLATES = ("similar_problems", "similar_problems_same", "similar_problem", "your_turn")
TEXTBOOK_TEMPLATES = ("textbook_excerpt", "your_turn")
ANALYSIS_TEMPLATES = ("analysis", "your_turn")
_ATTEMPTS_TEMPLATES = (
    "reflection",
    "attempts",
    "attempt",
    "attempt_reflection",
    "your_turn",
    *FEEDBACK_TEMPLATES,
)
REVISION_TEMPLATES = ("revision", "revision_untold", *_ATTEMPTS_TEMPLATES)
REFLECTED_TEMPLATES = ("revision_reflected", *_ATTEMPTS_TEMPLATES)
"""The templates that each part of a method uses; a run goes on only while they stay as they were."""


def solve_prompt(task: Task, form: PromptFormat, material: PromptContext = NO_CONTEXT) -> Prompt:
    """P-1: reason in steps, then one program. With material P-3, P-4 or P-5: the similar problems, then the
    textbook, then the problem (docs/spec.md 6).

    Raises PromptLeak when the problem under test is among the similar ones.
    """
    shown = _material(task, form, material)
    if (whole := _whole_question(material)) in form.templates.whole:
        return _whole_prompt(whole, task, form, shown)
    turn = [form.section("your_turn")] if shown else []
    return _prompt(form, form.section("instructions"), *shown, *turn, problem_section(task, form))


def revision_prompt(
    task: Task,
    form: PromptFormat,
    material: PromptContext,
    attempts: Sequence[PreviousAttempt],
    feedback: Feedback,
) -> Prompt:
    """P-2, with material P-6: the problem, the material again, the attempts with their results (docs/spec.md 6).

    Where the model has said in a reply of its own what went wrong, only the program is asked for.
    Raises PromptLeak when the problem under test is among the similar ones.
    """
    if attempts and attempts[-1].reflection is not None:
        instructions = "revision_reflected"
    else:
        instructions = "revision_untold" if feedback == "none" else "revision"
    shown = _material(task, form, material)
    whole = "whole/reflexion_retrieval" if shown else "whole/reflexion"
    if instructions == "revision" and not material.analysis and whole in form.templates.whole:
        return _whole_prompt(whole, task, form, shown, _all_told(attempts, form, feedback))
    return _attempts_prompt(form.section(instructions), task, form, material, attempts, feedback)


def reflection_prompt(
    task: Task,
    form: PromptFormat,
    material: PromptContext,
    attempts: Sequence[PreviousAttempt],
    feedback: Feedback,
) -> Prompt:
    """As `revision_prompt`, but what went wrong is all that is asked for: the program comes later (docs/spec.md 2).

    Raises PromptLeak when the problem under test is among the similar ones.
    """
    return _attempts_prompt(form.section("reflection"), task, form, material, attempts, feedback)


def _attempts_prompt(
    instructions: "_Section",
    task: Task,
    form: PromptFormat,
    material: PromptContext,
    attempts: Sequence[PreviousAttempt],
    feedback: Feedback,
) -> Prompt:
    return _prompt(
        form,
        instructions,
        problem_section(task, form),
        *_material(task, form, material),
        _Section(
            ("attempts", "attempt", "attempt_reflection", *FEEDBACK_TEMPLATES),
            form.section("attempts", attempts=_all_told(attempts, form, feedback)).text,
        ),
        form.section("your_turn"),
    )


def _all_told(attempts: Sequence[PreviousAttempt], form: PromptFormat, feedback: Feedback) -> str:
    return "\n\n".join(_told(attempt, form, feedback) for attempt in attempts)


def _told(attempt: PreviousAttempt, form: PromptFormat, feedback: Feedback) -> str:
    """An attempt with its result, and with what the model has said of it."""
    number = str(attempt.number)
    result = describe(attempt.samples, feedback, form.templates, attempt.hidden)
    told = form.templates.render("attempt", number=number, reply=attempt.reply, result=result)
    if not attempt.reflection:
        return told
    words = form.templates.render("attempt_reflection", number=number, reflection=attempt.reflection)
    return f"{told}\n\n{words}"


@dataclass(frozen=True)
class _Section:
    """A part of a prompt, and the templates it was made with."""

    templates: tuple[str, ...]
    text: str


def _prompt(form: PromptFormat, *sections: _Section) -> Prompt:
    """The sections as one message, a blank line apart."""
    templates = [name for section in sections for name in section.templates]
    text = "\n\n".join(section.text for section in sections)
    return Prompt((Message("user", text),), form.templates.hash(*templates))


def _whole_question(material: PromptContext) -> str:
    """Return the name of the whole prompt that asks with this material; "" where there is none."""
    kinds = [
        kind for kind, found in (("episodic", material.similar), ("semantic", material.excerpt)) if found
    ]
    return "" if material.analysis else f"whole/{'_'.join(kinds) or 'solve'}"


def _whole_prompt(
    name: str, task: Task, form: PromptFormat, shown: Sequence["_Section"], attempts: str = ""
) -> Prompt:
    """Return the prompt that one template words as a whole."""
    retrieved = "\n\n".join(section.text for section in shown)
    text = form.templates.render(
        name, problem=_problem_text(task, form), retrieved=retrieved, attempts=attempts
    )
    used = [name, *(template for section in shown for template in section.templates)]
    if attempts:
        used += ("attempt", *FEEDBACK_TEMPLATES)
    return Prompt((Message("user", text),), form.templates.hash(*used))


def problem_section(task: Task, form: PromptFormat) -> _Section:
    """Return the statement between its markers, with the limits where the form states them."""
    return form.section("problem", problem=_problem_text(task, form))


def _problem_text(task: Task, form: PromptFormat) -> str:
    statement = task.statement
    if task.samples:
        statement = f"{statement.rstrip()}\n\n{task.samples}"
    if task.signature:
        statement += f"\n\n{task.signature.request}"
    if form.state_limits:
        megabytes = task.memory_limit / 2**20
        statement += f"\n\nTime limit: {task.time_limit:g} s\nMemory limit: {megabytes:g} {form.memory_unit}"
    return statement


def _material(task: Task, form: PromptFormat, material: PromptContext) -> list[_Section]:
    """Similar problems first, then the textbook, as the published code puts them (docs/spec.md 1.2, A5)."""
    if any(document.id == task.id for document in material.similar):
        raise PromptLeakError(
            f"{task.id} was retrieved for itself: its solution must not be in its own prompt"
        )
    sections = []
    if material.similar:
        introduced = [
            form.templates.render("similar_problem", ordinal=ordinal, text=document.text)
            for ordinal, document in zip(ORDINALS[: len(material.similar)], material.similar, strict=True)
        ]
        same = any(has_statement(document, task.statement) for document in material.similar)
        name = "similar_problems_same" if same else "similar_problems"
        shown = form.section(name, similar_problems="\n\n".join(introduced))
        sections.append(_Section((name, "similar_problem"), shown.text))
    if material.excerpt:
        sections.append(form.section("textbook_excerpt", excerpt=material.excerpt))
    if material.analysis:
        sections.append(form.section("analysis", analysis=material.analysis))
    return sections
