"""Policies: a repeated session of a person gives the same prompts, and each arm says what its table states."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from typing import Any

import pytest
from django.contrib.auth.models import User

from benchmark.models import Dataset, Problem
from benchmark.prompts import VisibleProblem
from benchmark.providers import Message
from benchmark.providers.practice import reply_to
from benchmark.providers.worlds import hint_text, read_world
from judge import Checker
from tests.tutoring.arms.chains import GivenReplies
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest, start
from tutoring.arms import control_policies as control
from tutoring.arms.policy import (
    Act,
    AskCode,
    Execute,
    GiveUp,
    Policy,
    RemainingBudget,
    Talk,
    TutorView,
    stateless,
)
from tutoring.arms.privileged import REFERENCES
from tutoring.arms.settings import protocol_record
from tutoring.arms.sham_hints import HINTS
from tutoring.arms.simulated_tutor import hold as drive
from tutoring.arms.simulated_tutor import simulated_tutor
from tutoring.arms.transcript import PROTOCOL, PolicyError, Transcript, hold_session
from tutoring.models import Event, Protocol
from tutoring.models.payloads import MessageSent, ReplyFinished
from tutoring.protocols import PRESETS, Rules, freeze, rules_of
from tutoring.replies.claims import claim_replies

WORLD = read_world("guidance-60")
TASK = VisibleProblem("doubling", "Read a number and print twice the number.", 1, 2**28, title="Doubling")


def record(rules: Rules, **more: Any) -> dict[str, Any]:
    protocol = Protocol(name="usaco-2024", version=1, content_hash="0" * 64)
    return {PROTOCOL: protocol_record(protocol, rules), **more}


def hold(policy: Policy, chain: GivenReplies) -> Transcript:
    return asyncio.run(hold_session(chain, policy))


def sent(transcript: Transcript) -> list[str]:
    return [one.text for one in transcript.payloads if isinstance(one, MessageSent)]


def replayed(acts: list[Act]) -> Policy:
    """Return the policy that repeats these acts, and then executes."""
    left = iter(acts)
    return Policy("replayed", frozenset(), stateless(lambda _view: next(left, Execute())))


def as_bytes(messages: tuple[Message, ...]) -> bytes:
    return json.dumps([(message.role, message.content) for message in messages]).encode()


@pytest.mark.parametrize("unsolicited", ["count", "suppress", "ask_again"])
def test_a_session_of_a_person_said_again_gives_the_same_prompts_byte_for_byte(
    alice: User, unsolicited: str
) -> None:
    practice, _ = Dataset.objects.get_or_create(name="practice", defaults={"format": "icpc"})
    problem = Problem.objects.create(
        dataset=practice,
        external_id="hut-to-hut",
        title="From Hut to Hut",
        statement="Walk the trail.",
        samples_text="Sample 1\n3 4\n",
        statement_format="markdown",
        time_limit=1.5,
        memory_limit=2**28,
        checker=Checker().to_json(),
        content_hash="1" * 64,
    )
    rules = PRESETS["usaco-2024"].with_settings(unsolicited_code=unsolicited)
    protocol = freeze("replay", rules)
    session = SessionUnderTest(start(alice, problem, protocol, "practice:student"), alice)
    prompts, replies = [], []

    def answer() -> None:
        while claimed := next(iter(claim_replies(1)), None):
            prompts.append(claimed.messages)
            replies.append(WRONG if len(prompts) == 2 else reply_to(claimed.messages))
            session.finish(claimed, replies[-1])

    acts: list[Act] = [
        AskCode(),
        Talk("  Is every day best for itself? Do not write code yet.\n"),
        AskCode("Think of the *whole trail*."),
        AskCode("Is 40 000 a problem?"),
    ]
    for act in acts:
        session.say(act.text, mode="talk" if isinstance(act, Talk) else "code")  # type: ignore[union-attr]
        answer()

    chain = GivenReplies(
        VisibleProblem.of(problem),
        {PROTOCOL: protocol_record(protocol, rules_of(protocol))},
        iter(replies),
    )
    transcript = hold(replayed(acts), chain)
    assert [as_bytes(prompt.messages) for prompt in chain.prompts] == [as_bytes(one) for one in prompts]
    assert len(prompts) == (5 if unsolicited == "ask_again" else 4)
    recorded = [event.payload for event in Event.objects.filter(session=session.pk).order_by("seq")]
    assert [type(one) for one in recorded] == [type(one) for one in transcript.payloads]
    for one, other in zip(recorded, transcript.payloads, strict=True):
        if isinstance(one, ReplyFinished) and isinstance(other, ReplyFinished):
            assert (one.generation, one.code, one.hidden, one.message, one.extraction_rule) == (
                other.generation,
                other.code,
                other.hidden,
                other.message,
                other.extraction_rule,
            )


def test_each_arm_says_what_its_table_promises() -> None:
    rules = PRESETS["usaco-2024"]
    extra = {REFERENCES: {"doubling": []}, HINTS: {"doubling": [[]]}}
    for policy, first in (
        (control.NEUTRAL, ""),
        (control.WITH_ANALYSIS, control.ANALYSIS.format(analysis="THE-ANALYSIS")),
    ):
        chain = GivenReplies(TASK, record(rules, **extra), iter([WRONG] * 5))
        transcript = hold(policy, chain)
        assert sent(transcript) == [first, *["Please try again."] * 4]
        assert transcript.end == Execute()
        assert chain.judged == []
    chain = GivenReplies(TASK, record(rules), iter([WRONG, WRONG, RIGHT]), lambda code: "2 *" in code)
    transcript = hold(control.VERDICT, chain)
    assert sent(transcript) == ["", *["This program is not correct. Please try again."] * 2]
    assert len(transcript.programs) == 3
    chain = GivenReplies(TASK, record(rules), iter([WRONG] * 5))
    hold(control.AGAIN, chain)
    assert [len(prompt.messages) for prompt in chain.prompts] == [1] * 5


def test_a_view_has_no_fact_that_the_policy_does_not_declare() -> None:
    views: list[TutorView] = []

    def look(view: TutorView) -> Act:
        views.append(view)
        return AskCode("Go on.")

    rules = PRESETS["usaco-2024"]
    for knows in (frozenset(), frozenset({"analysis"}), frozenset({"program_right"})):
        chain = GivenReplies(TASK, record(rules), iter([WRONG] * 5))
        hold(Policy("look", knows, stateless(look)), chain)  # type: ignore[arg-type]
        last = views[-1]
        assert (last.analysis is not None) == ("analysis" in knows)
        assert (last.program_right is not None) == ("program_right" in knows)
        assert last.references is None
        assert last.budget.code_generations == 1
        assert bool(chain.judged) == ("program_right" in knows)
    assert {field.name for field in fields(TutorView)} == {
        "problem", "language", "dialogue", "programs", "messages_sent", "budget", "analysis", "references",
        "program_right",
    }  # fmt: skip


def test_acts_that_no_tutor_could_carry_out_are_faults_of_the_policy() -> None:
    rules = PRESETS["usaco-2024"]
    for acts, message in (
        ([Execute()], "executes before there is a program"),
        ([AskCode(), AskCode("  ")], "empty message"),
        ([Talk("")], "empty message"),
    ):
        with pytest.raises(PolicyError, match=message):
            hold(replayed(list(acts)), GivenReplies(TASK, record(rules), iter([WRONG] * 5)))


def test_a_policy_may_give_up_and_may_be_asynchronous() -> None:
    async def decide(view: TutorView) -> Act:
        return GiveUp("enough") if view.messages_sent else Talk("Hello?")

    chain = GivenReplies(TASK, record(PRESETS["usaco-2024"]), iter([TALK]))
    transcript = hold(Policy("asynchronous", frozenset(), stateless(decide)), chain)
    assert transcript.end == GiveUp("enough")


class Steps:
    """A session whose student writes a wrong program first and then a right one; `done` lists the steps."""

    def __init__(self, generations: int) -> None:
        self.generations = generations
        self.done: list[str] = []
        self.dialogue = [Message("user", "[BEGIN PROBLEM]\nFrom Hut to Hut\n[END PROBLEM]")]
        self.bug = next(iter(WORLD.problems["hut-to-hut"].bugs))

    def view(self) -> TutorView:
        replies = sum(message.role == "assistant" for message in self.dialogue)
        return TutorView(
            problem=TASK,
            language="python",
            dialogue=tuple(self.dialogue),
            programs=("program",) * replies,
            messages_sent=replies,
            budget=RemainingBudget(self.generations - replies, 1),
            program_right=replies > 1 if replies else None,
        )

    def send(self, act: Talk | AskCode) -> None:
        self.done.append(act.text)
        bug = self.bug if len(self.done) == 1 else None
        program = WORLD.problems["hut-to-hut"].program("hut-to-hut", bug)
        reply = Message("assistant", f"```python\n{program}\n```")
        self.dialogue += [Message("user", act.text), reply]

    def execute(self) -> None:
        self.done.append("execute")

    def give_up(self, reason: str) -> None:
        self.done.append(reason)


def test_a_simulated_tutor_gives_the_fitting_hint_through_given_steps() -> None:
    steps = Steps(5)
    asyncio.run(drive(simulated_tutor(WORLD, level=3, verifies=True), steps))
    assert steps.done == ["", hint_text("hut-to-hut", steps.bug, 3), "execute"]
    steps = Steps(3)
    asyncio.run(drive(simulated_tutor(WORLD, level=0, verifies=False), steps))
    assert steps.done == ["", "Please try again.", "Please try again.", "execute"]
