"""The only place where prompts are assembled, and where hidden content is kept out of them.

A method has no access to a `Problem` row or a judgement. It has a `Task`, which contains only what a model may read,
texts of other problems as `Document`s, and `SampleRun`s, which contain no hidden tests. Assembly refuses a document of
the problem under test. Hidden tests and reference solutions of that problem therefore cannot get into a prompt, and
its analysis only through the oracle-assisted control. Canary tests verify this by sending every method through a
recording server.
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
"""Ordinals of the similar problems in a prompt, which bound their number (docs/spec.md 1.2, A4)."""


@dataclass(frozen=True)
class Task:
    """The problem under test, with the content that a model may read."""

    id: str
    statement: str
    time_limit: float
    memory_limit: int
    samples: str = ""
    """The samples, where the statement does not contain them."""
    title: str = ""
    """The title, which prompts of sessions state."""
    signature: Signature | None = None
    """The method that a functional problem requires; None where programs read standard input."""

    @classmethod
    def of(cls, problem: Problem) -> "Task":
        """Return the visible part of a stored problem."""
        signature = Signature.from_json(problem.signature) if problem.signature else None
        return cls(
            problem.external_id,
            problem.statement,
            problem.time_limit,
            problem.memory_limit,
            problem.samples_text,
            problem.title,
            signature,
        )


MemoryUnit = Literal["MiB", "MB"]


@dataclass(frozen=True)
class PromptFormat:
    """The format of all prompts of a run: language of the programs, statement of limits, and templates.

    `memory_unit` is the unit of the memory limit; programs are judged by it.
    """

    language: str
    state_limits: bool
    templates: Templates = field(default_factory=our_templates)
    memory_unit: MemoryUnit = "MiB"

    def section(self, template: str, **parts: str) -> "_Section":
        """Return a section with one template; language and fence are filled in."""
        language = get_language(self.language)
        words = {"language": language.title, "fence": language.family.name}
        return _Section((template,), self.templates.render(template, **words, **parts))


@dataclass(frozen=True)
class PromptContext:
    """Texts in a prompt besides the problem: other problems with their solutions, and a textbook excerpt.

    `analysis` is the problem's own official analysis. Only the oracle-assisted control may set it.
    """

    similar: tuple[Document, ...] = ()
    excerpt: str = ""
    analysis: str = ""


NO_CONTEXT = PromptContext()
"""The context of a prompt that shows the problem alone."""


@dataclass(frozen=True)
class PreviousAttempt:
    """A previous answer, numbered from 1, with the results of its program on the samples.

    `hidden` is the result on hidden tests that may be shown; `reflection` is the model's analysis of its failure in a
    reply of its own, None without one.
    """

    number: int
    reply: str
    samples: SampleRun
    hidden: HiddenCount | None = None
    reflection: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it passes all tests of the feedback."""
        return self.samples.passed and (self.hidden is None or self.hidden.passed == self.hidden.total)


@dataclass(frozen=True)
class Prompt:
    """A finished prompt, without a system message, as in the papers (docs/spec.md 6).

    It is one user message, except in methods with a conversation.
    """

    messages: tuple[Message, ...]
    template_hash: str
    temperature: float | None = None
    """Overrides the run's temperature where it is not None."""

    @property
    def hash(self) -> str:
        """The sha256 of the messages as canonical JSON."""
        canonical = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def parameters(self, usual: Parameters) -> Parameters:
        """Return the sampling parameters of this prompt in a run with the parameters `usual`."""
        return usual if self.temperature is None else replace(usual, temperature=self.temperature)

    def to_json(self) -> list[dict[str, str]]:
        """Return the messages in their stored form."""
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
"""The templates of each part of a method; a run resumes only while they are unchanged."""


def solve_prompt(task: Task, form: PromptFormat, context: PromptContext = NO_CONTEXT) -> Prompt:
    """Return prompt P-1: reasoning in steps, then one program (docs/spec.md 6).

    With context it is P-3, P-4 or P-5: similar problems, then the textbook, then the problem. Raises PromptLeakError
    when the problem under test is among the similar ones.
    """
    shown = _context_sections(task, form, context)
    if (whole := _whole_template(context)) in form.templates.whole:
        return _whole_prompt(whole, task, form, shown)
    turn = [form.section("your_turn")] if shown else []
    return _prompt(form, form.section("instructions"), *shown, *turn, problem_section(task, form))


def revision_prompt(
    task: Task,
    form: PromptFormat,
    context: PromptContext,
    attempts: Sequence[PreviousAttempt],
    feedback: Feedback,
) -> Prompt:
    """Return prompt P-2, with context P-6: problem, context, attempts with their results (docs/spec.md 6).

    After a reflection in a reply of its own, it requests only the program. Raises PromptLeakError when the problem
    under test is among the similar ones.
    """
    if attempts and attempts[-1].reflection is not None:
        instructions = "revision_reflected"
    else:
        instructions = "revision_untold" if feedback == "none" else "revision"
    shown = _context_sections(task, form, context)
    whole = "whole/reflexion_retrieval" if shown else "whole/reflexion"
    if instructions == "revision" and not context.analysis and whole in form.templates.whole:
        return _whole_prompt(whole, task, form, shown, _attempts_text(attempts, form, feedback))
    attempts_text = _attempts_text(attempts, form, feedback)
    return _attempts_prompt(form.section(instructions), task, form, context, attempts_text)


def reflection_prompt(
    task: Task,
    form: PromptFormat,
    context: PromptContext,
    attempts: Sequence[PreviousAttempt],
    feedback: Feedback,
) -> Prompt:
    """Return the prompt for a reflection alone; the prompt for the program follows it (docs/spec.md 2).

    Raises PromptLeakError when the problem under test is among the similar ones.
    """
    attempts_text = _attempts_text(attempts, form, feedback)
    return _attempts_prompt(form.section("reflection"), task, form, context, attempts_text)


def _attempts_prompt(
    instructions: "_Section",
    task: Task,
    form: PromptFormat,
    context: PromptContext,
    attempts_text: str,
) -> Prompt:
    return _prompt(
        form,
        instructions,
        problem_section(task, form),
        *_context_sections(task, form, context),
        _Section(
            ("attempts", "attempt", "attempt_reflection", *FEEDBACK_TEMPLATES),
            form.section("attempts", attempts=attempts_text).text,
        ),
        form.section("your_turn"),
    )


def _attempts_text(attempts: Sequence[PreviousAttempt], form: PromptFormat, feedback: Feedback) -> str:
    return "\n\n".join(_attempt_text(attempt, form, feedback) for attempt in attempts)


def _attempt_text(attempt: PreviousAttempt, form: PromptFormat, feedback: Feedback) -> str:
    """Return an attempt with its result and its reflection."""
    number = str(attempt.number)
    result = describe(attempt.samples, feedback, form.templates, attempt.hidden)
    text = form.templates.render("attempt", number=number, reply=attempt.reply, result=result)
    if not attempt.reflection:
        return text
    reflection = form.templates.render("attempt_reflection", number=number, reflection=attempt.reflection)
    return f"{text}\n\n{reflection}"


@dataclass(frozen=True)
class _Section:
    """A part of a prompt, with the names of its templates."""

    templates: tuple[str, ...]
    text: str


def _prompt(form: PromptFormat, *sections: _Section) -> Prompt:
    """Return the sections as one message, separated by blank lines."""
    templates = [name for section in sections for name in section.templates]
    text = "\n\n".join(section.text for section in sections)
    return Prompt((Message("user", text),), form.templates.hash(*templates))


def _whole_template(context: PromptContext) -> str:
    """Return the name of the template for the whole prompt with this context; blank without one."""
    kinds = [kind for kind, found in (("episodic", context.similar), ("semantic", context.excerpt)) if found]
    return "" if context.analysis else f"whole/{'_'.join(kinds) or 'solve'}"


def _whole_prompt(
    name: str, task: Task, form: PromptFormat, shown: Sequence["_Section"], attempts: str = ""
) -> Prompt:
    """Return the prompt that consists of one template."""
    retrieved = "\n\n".join(section.text for section in shown)
    text = form.templates.render(
        name, problem=_problem_text(task, form), retrieved=retrieved, attempts=attempts
    )
    used = [name, *(template for section in shown for template in section.templates)]
    if attempts:
        used += ("attempt", *FEEDBACK_TEMPLATES)
    return Prompt((Message("user", text),), form.templates.hash(*used))


def problem_section(task: Task, form: PromptFormat) -> _Section:
    """Return the statement between its markers, with the limits if the format states them."""
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


def _context_sections(task: Task, form: PromptFormat, context: PromptContext) -> list[_Section]:
    """Return the sections of the context: similar problems, then the textbook, as in the published code (1.2, A5)."""
    if any(document.id == task.id for document in context.similar):
        raise PromptLeakError(
            f"{task.id} was retrieved for itself: a prompt must not contain the solution of its own problem"
        )
    sections = []
    if context.similar:
        introduced = [
            form.templates.render("similar_problem", ordinal=ordinal, text=document.text)
            for ordinal, document in zip(ORDINALS[: len(context.similar)], context.similar, strict=True)
        ]
        same = any(has_statement(document, task.statement) for document in context.similar)
        name = "similar_problems_same" if same else "similar_problems"
        shown = form.section(name, similar_problems="\n\n".join(introduced))
        sections.append(_Section((name, "similar_problem"), shown.text))
    if context.excerpt:
        sections.append(form.section("textbook_excerpt", excerpt=context.excerpt))
    if context.analysis:
        sections.append(form.section("analysis", analysis=context.analysis))
    return sections
