"""`practice:student`: a scripted student for the practice problems, without a key or a network.

It makes the mistakes in benchmark/practice_problems/*/student/ and advances by one stage with every helpful message.
It has no hidden state: a reply follows from the messages alone, and a repeated call returns the same reply. It always
writes Python.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Completed, Message, Parameters, StreamEvent, TextDelta, TokenUsage

PRACTICE_PROBLEMS = Path(__file__).resolve().parent.parent / "practice_problems"
MODEL = "student"

_PROBLEM = re.compile(r"\[BEGIN PROBLEM\](.*?)\[END PROBLEM\]", re.DOTALL)
_EXAMPLES = re.compile(
    r"\[BEGIN (SIMILAR PROBLEMS|TEXTBOOK EXCERPT)\]\n.*?\n\[END \1\]",
    re.DOTALL,
)
_TALK = re.compile(
    r"\b(?:do not|don[’']?t|without|rather than|instead of)\s+(?:\w+\s+){0,2}?"
    r"(?:writ|giv|generat|show|send|output|produc|includ|return|post)(?:e|ing|t?ting)?\s+(?:\w+\s+){0,3}?(?:code|programs?)\b"
    r"|\bno (?:code|programs?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ScriptStage:
    """A stage of the script: a program, the replies with and without it, and the hints that lead to the next stage."""

    program: str
    verdict: str
    """The judge's verdict on the program."""
    explanation: str
    """The text with the program in the first reply of this stage."""
    again: str
    """The text with the same program after a message that did not help."""
    question: str
    """The reply without a program after a message that did not help."""
    understood: str
    """The reply without a program to the message that led to this stage; empty in the first stage."""
    hints: tuple[re.Pattern[str], ...]
    """A message that matches one of these leads to the next stage."""
    doubts: tuple[re.Pattern[str], ...]
    """A message that matches one of these does not help, whatever hints it contains."""

    def is_helped_by(self, text: str) -> bool:
        """Return whether the text contains a hint of this stage, and nothing that the student does not believe."""
        return any(hint.search(text) for hint in self.hints) and not any(
            doubt.search(text) for doubt in self.doubts
        )


@dataclass(frozen=True)
class StudentScript:
    """The stages of the student for one problem, from the first mistake to a correct program."""

    slug: str
    title: str
    phrase: str
    """Normalised words of the statement that identify the problem if its title is missing."""
    learns_from_examples: bool
    stages: tuple[ScriptStage, ...]


@cache
def practice_scripts() -> tuple[StudentScript, ...]:
    """Return the scripts of all practice problems, sorted by the name of their folder."""
    return tuple(_read_script(path) for path in sorted(PRACTICE_PROBLEMS.glob("*/student/student.yaml")))


def _read_script(path: Path) -> StudentScript:
    package = path.parent.parent
    description: dict[str, Any] = yaml.safe_load((package / "problem.yaml").read_text("utf-8"))
    script: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    stages = tuple(
        ScriptStage(
            program=(path.parent / stage["program"]).read_text("utf-8").strip(),
            verdict=stage["verdict"],
            explanation=stage["explanation"].strip(),
            again=stage["again"].strip(),
            question=stage["question"].strip(),
            understood=stage.get("understood", "").strip(),
            hints=tuple(re.compile(hint, re.IGNORECASE) for hint in stage["hints"]),
            doubts=tuple(re.compile(doubt, re.IGNORECASE) for doubt in stage.get("doubts", ())),
        )
        for stage in script["stages"]
    )
    return StudentScript(
        package.name,
        description["name"],
        _normalised(script["phrase"]),
        script["learns_from_examples"],
        stages,
    )


@dataclass(frozen=True)
class _Conversation:
    """The state that follows from the messages: the problem, the student's stage, and the kind of reply requested."""

    script: StudentScript
    stage: ScriptStage
    helped: bool
    """Whether the latest message led to this stage."""
    shown: bool
    """Whether an earlier message contains the stage's program."""
    talk: bool
    """Whether the latest message requests a reply without a program."""


class PracticeProvider:
    """The scripted student as a provider; its only model is `student`."""

    scripted = True

    def require_model(self, model: str) -> None:
        """Raise ProviderError (kind "configuration") for any model other than `student`."""
        if model != MODEL:
            raise ProviderError(
                "configuration", f"There is no practice model {model!r}; write practice:{MODEL}."
            )

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """Yield the student's reply word by word, PRACTICE_WORD_DELAY seconds (a setting) apart.

        Words separated by blanks count as tokens, for the usage and for `max_output_tokens`; other parameters have no
        effect. Raises ProviderError (kind "configuration") for any other model.
        """
        self.require_model(model)
        words = re.findall(r"\s*\S+", reply_to(messages))
        finish_reason = "stop"
        if parameters.max_output_tokens is not None and len(words) > parameters.max_output_tokens:
            words = words[: parameters.max_output_tokens]
            finish_reason = "length"
        for word in words:
            await asyncio.sleep(settings.PRACTICE_WORD_DELAY)
            yield TextDelta(word)
        prompt_words = sum(len(message.content.split()) for message in messages)
        usage = TokenUsage(prompt_words, len(words), cached_input_tokens=0, reasoning_tokens=0)
        yield Completed(usage, MODEL, finish_reason, request_id=_request_id(messages))

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def reply_to(messages: Sequence[Message]) -> str:
    """Return the student's reply, which depends on the messages only.

    Its program is in one block fenced as ```python, unless the latest user message requests a reply without a program
    or the messages name no practice problem.
    """
    conversation = _read(messages)
    if conversation is None:
        titles = ", ".join(script.title for script in practice_scripts())
        return (
            "I am a scripted student, not a language model: everything I say was written in advance, and I know "
            f"nothing but the practice problems ({titles}). This seems to be another problem, so I cannot write a "
            "program for it. Please choose a practice problem, or another model for this one."
        )
    stage = conversation.stage
    if conversation.talk:
        return stage.understood if conversation.helped and stage.understood else stage.question
    text = stage.again if conversation.shown else stage.explanation
    return f"{text}\n\n```python\n{stage.program}\n```"


def _read(messages: Sequence[Message]) -> _Conversation | None:
    """Return the state after these messages; None if no user message names a practice problem."""
    openings = (
        (number, script_named_in(message.content) if message.role == "user" else None)
        for number, message in enumerate(messages)
    )
    number, script = next(((number, script) for number, script in openings if script), (0, None))
    if script is None:
        return None
    position, helped = _first_stage(script, messages[number].content), False
    for message in messages[number + 1 :]:
        if message.role == "user":
            helped = script.stages[position].is_helped_by(message.content)
            position += helped
        else:
            position = max(position, _stage_shown_in(script, message.content))
    latest = next(message.content for message in reversed(messages) if message.role == "user")
    stage = script.stages[position]
    program = _collapse_spaces(stage.program)
    shown = any(program in _collapse_spaces(message.content) for message in messages)
    return _Conversation(script, stage, helped, shown, talk=requests_no_program(latest))


def requests_no_program(text: str) -> bool:
    """Return whether a message requests a reply without a program."""
    return bool(_TALK.search(text))


def script_named_in(text: str) -> StudentScript | None:
    """Return the script of the practice problem that a prompt is about; of several, the one named first.

    Only the text between the last pair of problem markers counts, if there is one, because examples and instructions
    may name other problems.
    """
    without_examples = _EXAMPLES.sub("", text)
    marked = _PROBLEM.findall(without_examples)
    about = _normalised(marked[-1] if marked else without_examples)
    positions = {
        position_in_text: script
        for script in practice_scripts()
        for name in (script.phrase, _normalised(script.title))
        if (position_in_text := f" {about} ".find(f" {name} ")) >= 0
    }
    return positions[min(positions)] if positions else None


def _first_stage(script: StudentScript, opening: str) -> int:
    """Return the index of the first stage, after examples and earlier attempts in the prompt.

    A prompt may contain earlier attempts with their results (Reflexion). The text after the latest attempt of a stage
    is read like a tutor's message.
    """
    position = 1 if script.learns_from_examples and _EXAMPLES.search(opening) else 0
    recorded = _collapse_spaces(_PROBLEM.sub("", _EXAMPLES.sub("", opening)))
    while True:
        stage = script.stages[position]
        _, attempt, result = recorded.rpartition(_collapse_spaces(stage.program))
        if not attempt or not stage.is_helped_by(result):
            return position
        position += 1


def _stage_shown_in(script: StudentScript, reply: str) -> int:
    """Return the index of the last stage whose program the reply contains; 0 without any.

    A prompt may show the last program only, without the messages that led to it (Refine, slow programs).
    """
    shown = _collapse_spaces(reply)
    stages = (index for index, stage in enumerate(script.stages) if _collapse_spaces(stage.program) in shown)
    return max(stages, default=0)


def _normalised(text: str) -> str:
    """Return the words in lower case, without punctuation and markup, separated by one blank."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _collapse_spaces(text: str) -> str:
    """Return the text with every run of white space replaced by one blank."""
    return " ".join(text.split())


def _request_id(messages: Sequence[Message]) -> str:
    digest = hashlib.sha256(repr([(message.role, message.content) for message in messages]).encode())
    return f"practice-{digest.hexdigest()[:16]}"
