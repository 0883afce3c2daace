"""`practice:student`: a scripted student that tries the practice problems, without a key and without a network.

It makes the mistakes that are written down for each problem in benchmark/practice_problems/*/student/, and gets
on by one stage with every message that helps. There is no hidden state: what it says follows from the messages
alone, so a repeated call gives the same reply. It writes Python whatever language it is asked for.
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
    """One thing the student believes: its program, what it says about it, and what makes it think again."""

    program: str
    verdict: str
    """What the judge says to the program."""
    explanation: str
    """Comes with the program when the student has just got here."""
    again: str
    """Comes with the same program after a message that did not help."""
    question: str
    """The reply without a program after a message that did not help."""
    understood: str
    """The reply without a program to the message that led here; empty in the first stage."""
    hints: tuple[re.Pattern[str], ...]
    """A message in which one of these is found leads to the next stage."""

    def is_helped_by(self, text: str) -> bool:
        return any(hint.search(text) for hint in self.hints)


@dataclass(frozen=True)
class StudentScript:
    """The student's way through one problem, from its first mistake to a right program."""

    slug: str
    title: str
    phrase: str
    """Words of the statement, normalised, by which the problem is known where its title is missing."""
    learns_from_examples: bool
    stages: tuple[ScriptStage, ...]


@cache
def practice_scripts() -> tuple[StudentScript, ...]:
    """The ladders of all practice problems, sorted by the name of their folder."""
    return tuple(_read_ladder(path) for path in sorted(PRACTICE_PROBLEMS.glob("*/student/student.yaml")))


def _read_ladder(path: Path) -> StudentScript:
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
    """What the messages say: the problem, where the student stands, and what it has been asked for."""

    ladder: StudentScript
    stage: ScriptStage
    helped: bool
    """Whether the latest message led to this stage."""
    shown: bool
    """Whether the stage's program stands in the messages already."""
    talk: bool
    """Whether the latest message asks for words only."""


class PracticeProvider:
    """The scripted student as a provider of models; the only model is `student`."""

    scripted = True

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """The student's reply, word by word, PRACTICE_WORD_DELAY seconds (a setting) apart.

        Words separated by blanks are counted as tokens, in the usage and for `max_output_tokens`; the other
        parameters change nothing. Raises ProviderError (kind "configuration") for another model.
        """
        if model != MODEL:
            raise ProviderError(
                "configuration", f"There is no practice model {model!r}; write practice:{MODEL}."
            )
        words = re.findall(r"\s*\S+", reply_to(messages))
        finish_reason = "stop"
        if parameters.max_output_tokens is not None and len(words) > parameters.max_output_tokens:
            words = words[: parameters.max_output_tokens]
            finish_reason = "length"
        for word in words:
            await asyncio.sleep(settings.PRACTICE_WORD_DELAY)
            yield TextDelta(word)
        asked = sum(len(message.content.split()) for message in messages)
        usage = TokenUsage(asked, len(words), cached_input_tokens=0, reasoning_tokens=0)
        yield Completed(usage, MODEL, finish_reason, request_id=_request_id(messages))

    async def aclose(self) -> None:
        """There is no connection to close."""


def reply_to(messages: Sequence[Message]) -> str:
    """What the student says to these messages, always the same for the same ones.

    Its program stands in one block fenced as ```python, unless the latest user message asks for words only or
    the messages name no practice problem.
    """
    conversation = _read(messages)
    if conversation is None:
        titles = ", ".join(ladder.title for ladder in practice_scripts())
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
    """Replays the messages; None if no user message names a practice problem."""
    asked = [message.content for message in messages if message.role == "user"]
    openings = ((number, _ladder_named_in(text)) for number, text in enumerate(asked))
    number, ladder = next(((number, ladder) for number, ladder in openings if ladder), (0, None))
    if ladder is None:
        return None
    opening, later = asked[number], asked[number + 1 :]
    position, helped = _first_stage(ladder, opening), False
    for text in later:
        helped = ladder.stages[position].is_helped_by(text)
        position += helped
    stage = ladder.stages[position]
    program = _squeezed(stage.program)
    shown = any(program in _squeezed(message.content) for message in messages)
    return _Conversation(ladder, stage, helped, shown, talk=bool(_TALK.search(asked[-1])))


def _ladder_named_in(text: str) -> StudentScript | None:
    """The practice problem that a prompt is about; if it names several, the one named first.

    Only what stands between the last pair of problem markers counts, if there is one: the examples and the
    instructions of a prompt may speak of other problems.
    """
    without_examples = _EXAMPLES.sub("", text)
    marked = _PROBLEM.findall(without_examples)
    about = _normalised(marked[-1] if marked else without_examples)
    places = {
        place: ladder
        for ladder in practice_scripts()
        for name in (ladder.phrase, _normalised(ladder.title))
        if (place := f" {about} ".find(f" {name} ")) >= 0
    }
    return places[min(places)] if places else None


def _first_stage(ladder: StudentScript, opening: str) -> int:
    """The stage at which the student begins, which examples and recorded attempts in the prompt move on.

    A prompt may hold earlier attempts with their results (Reflexion). What follows the latest attempt of
    a stage is then read like a tutor's message.
    """
    position = 1 if ladder.learns_from_examples and _EXAMPLES.search(opening) else 0
    recorded = _squeezed(_PROBLEM.sub("", _EXAMPLES.sub("", opening)))
    while True:
        stage = ladder.stages[position]
        _, attempt, result = recorded.rpartition(_squeezed(stage.program))
        if not attempt or not stage.is_helped_by(result):
            return position
        position += 1


def _normalised(text: str) -> str:
    """The words of a text in lower case, without punctuation and markup, one blank apart."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _squeezed(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def _request_id(messages: Sequence[Message]) -> str:
    digest = hashlib.sha256(repr([(message.role, message.content) for message in messages]).encode())
    return f"practice-{digest.hexdigest()[:16]}"
