"""One session of a policy: its events, equal to those of a session with a person, and the generations behind them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from benchmark.extraction import Ended
from benchmark.methods import Chain
from benchmark.models import Generation
from benchmark.prompts import HiddenRun, Prompt
from benchmark.providers import Message
from judge import Verdict
from tutoring.arms.policy import (
    KNOWS,
    Act,
    AskCode,
    Decide,
    Execute,
    Fact,
    GiveUp,
    Policy,
    RemainingBudget,
    Talk,
    TutorView,
)
from tutoring.arms.privileged import analysis_of, references_of
from tutoring.arms.recorded_starts import RecordedStart, recorded_start
from tutoring.models.payloads import (
    AnyPayload,
    MessageSent,
    ReplyFinished,
    ReplyRequestedAgain,
    SessionOpened,
    TokenUsage,
)
from tutoring.protocols import Rules
from tutoring.sessions.dialogue import messages_of, opening_prompt, sent_text, without_program_text
from tutoring.sessions.generations import count_reply

PROTOCOL = "protocol"
"""The key of the protocol in the record of a run: name, version, content_hash and rules."""

MOST_WITHOUT_PROGRAM = 3
"""Replies in a row without a requested program after which a session ends; the protocol has no limit for them."""

MOST_REPLIES = 100
"""Replies after which any session ends."""

NO_PROGRAM = "The model wrote no program."


class PolicyError(Exception):
    """An act of a policy that no tutor could carry out. The message names the policy and the act."""


@dataclass
class Transcript:
    """The events of a session in order, and the generation behind each reply."""

    rules: Rules
    payloads: list[AnyPayload] = field(default_factory=list)
    answers: dict[int, Generation] = field(default_factory=dict)
    """The generation behind each reply, by the number of the reply's event (from 1)."""
    programs: list[tuple[int, Generation]] = field(default_factory=list)
    """The replies that count as generations of code, with the numbers of their events."""
    end: Execute | GiveUp = field(default_factory=Execute)

    def messages(self) -> tuple[Message, ...]:
        """Return the messages of the student's next prompt."""
        return tuple(messages_of(self.payloads))

    def send(self, act: Talk | AskCode, *, fresh: bool = False) -> None:
        """Append the message of the act, as `SendMessage` does."""
        mode = "talk" if isinstance(act, Talk) else "code"
        sent = sent_text(act.text.strip(), mode, self.rules.language)  # type: ignore[arg-type]
        self.payloads.append(MessageSent(mode=mode, text=act.text, sent=sent, fresh=fresh, turn=act.turn))  # type: ignore[arg-type]

    def receive(self, answer: Generation) -> bool:
        """Append the reply, as the streamer does; return whether the protocol requests it again, without a program."""
        number, message = next(
            (number, payload)
            for number, payload in reversed(list(enumerate(self.payloads, start=1)))
            if isinstance(payload, MessageSent)
        )
        requested = message.mode == "code"
        ended = Ended.LENGTH if answer.finish_reason == "length" else Ended.COMPLETE
        if requested and str(answer.extraction.get("rule", "")).startswith("tagged"):
            counts, hidden = True, False  # as `count_reply` says, without a second search for programs
        else:
            counts, hidden = count_reply(answer.text, ended, self.rules, code_requested=requested)
        again = hidden and self.rules.unsolicited_code == "ask_again" and not self._requested_again(number)
        paid = answer.purpose != Generation.Purpose.RECORDED
        started = answer.created_at - timedelta(seconds=answer.latency) if answer.created_at else None
        first_token = (
            None if answer.first_token is None or started is None else timedelta(seconds=answer.first_token)
        )
        self.payloads.append(
            ReplyFinished(
                reply=None,
                message=number,
                text=answer.text,
                unseen_text="",
                reasoning=answer.reasoning,
                stopped=False,
                code_requested=requested,
                hidden=hidden,
                generation=len(self.programs) + 1 if counts else None,
                code=(answer.code or None) if counts else None,
                extraction_rule=answer.extraction.get("rule"),
                model=answer.model_returned or None,
                finish_reason=answer.finish_reason or None,
                request_id=answer.request_id or None,
                usage=_usage(answer) if paid else None,
                attempts=1 if paid else None,
                started_at=started,
                first_text_at=None if started is None or first_token is None else started + first_token,
                received_at=answer.created_at,
                shown_from=None,
                late_by=None,
                blocks=answer.blocks or [],
            )
        )
        self.answers[len(self.payloads)] = answer
        if counts:
            self.programs.append((len(self.payloads), answer))
        if again:
            self.payloads.append(ReplyRequestedAgain(message=number, sent=without_program_text()))
        return again

    def _requested_again(self, message: int) -> bool:
        return any(isinstance(one, ReplyRequestedAgain) and one.message == message for one in self.payloads)

    @property
    def replies_without_program(self) -> int:
        """The number of replies to messages that requested a program, since the last program."""
        since = self.programs[-1][0] if self.programs else 0
        replies = (one for one in self.payloads[since:] if isinstance(one, ReplyFinished))
        return sum(bool(reply.code_requested) for reply in replies)


def _usage(answer: Generation) -> TokenUsage:
    return TokenUsage(
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cached_input_tokens=answer.cached_input_tokens,
        reasoning_tokens=answer.reasoning_tokens,
    )


async def hold_session(chain: Chain, policy: Policy, template_hash: str = "") -> Transcript:
    """Hold one session of the policy on the chain's problem, and return its transcript.

    The session ends when the policy ends it, when the protocol's generations are used, or when the model writes no
    program. Raises PolicyError for an act that no tutor could carry out.
    """
    rules = rules_of_record(chain.prepared)
    transcript = Transcript(rules)
    transcript.payloads.append(_opened(chain, rules))
    start = await recorded_start(chain)
    limit = min(rules.code_generations, start.generations) if start else rules.code_generations
    if start:
        await _adopt(chain, transcript, start, template_hash)
    knows: frozenset[Fact] = frozenset(chain.prepared.get(KNOWS, policy.knows))
    decide, facts = await policy.begin(chain), await _facts(chain, knows)
    while len(transcript.programs) < limit:
        if (
            transcript.replies_without_program >= MOST_WITHOUT_PROGRAM
            or len(transcript.answers) >= MOST_REPLIES
        ):
            break
        act = await _decision(decide, await _view(chain, transcript, limit, knows, facts))
        if isinstance(act, Execute | GiveUp):
            transcript.end = act
            if isinstance(act, Execute) and not transcript.programs:
                raise PolicyError(f"The policy {policy.name} executes before there is a program.")
            return transcript
        if not act.text.strip() and (
            isinstance(act, Talk) or (len(transcript.payloads) > 1 and not policy.fresh_dialogues)
        ):
            raise PolicyError(f"The policy {policy.name} sends an empty message.")
        transcript.send(act, fresh=policy.fresh_dialogues and len(transcript.payloads) > 1)
        again = True
        while again:
            prompt = Prompt(transcript.messages(), template_hash)
            again = transcript.receive(await chain.request(prompt, Generation.Purpose.SESSION))
    transcript.end = Execute() if transcript.programs else GiveUp(NO_PROGRAM)
    return transcript


async def _adopt(chain: Chain, transcript: Transcript, start: RecordedStart, template_hash: str) -> None:
    """Begin with the recorded messages and replies up to the first program."""
    for payload in start.payloads:
        if isinstance(payload, MessageSent):
            transcript.payloads.append(
                MessageSent(mode=payload.mode, text=payload.text, sent=payload.sent, fresh=payload.fresh)
            )
        elif isinstance(payload, ReplyFinished):
            prompt = Prompt(transcript.messages(), template_hash)
            transcript.receive(await chain.adopt(prompt, payload.text, {"session": start.session}))


async def _decision(decide: Decide, view: TutorView) -> Act:
    act = decide(view)
    return await act if inspect.isawaitable(act) else act


async def _facts(chain: Chain, knows: frozenset[Fact]) -> Mapping[str, Any]:
    """Return the declared facts about the problem."""
    facts: dict[str, Any] = {}
    if "analysis" in knows:
        facts["analysis"] = await analysis_of(chain)
    if "references" in knows:
        facts["references"] = await references_of(chain)
    return facts


async def _view(
    chain: Chain, transcript: Transcript, limit: int, knows: frozenset[Fact], facts: Mapping[str, Any]
) -> TutorView:
    latest = transcript.programs[-1][1] if transcript.programs else None
    right = None
    if "program_right" in knows and latest is not None:
        result: HiddenRun = await chain.run_hidden(latest)
        right = result.verdict is Verdict.AC
    return TutorView(
        problem=chain.task,
        language=transcript.rules.language,
        dialogue=transcript.messages(),
        programs=tuple(answer.code for _, answer in transcript.programs),
        messages_sent=sum(isinstance(one, MessageSent) for one in transcript.payloads),
        budget=RemainingBudget(limit - len(transcript.programs), transcript.rules.executions),
        program_right=right,
        **facts,
    )


def _opened(chain: Chain, rules: Rules) -> SessionOpened:
    protocol = chain.prepared[PROTOCOL]
    return SessionOpened(
        prompt=opening_prompt(chain.task, rules.language),
        problem_hash=None,
        protocol=f"{protocol['name']} v{protocol['version']}",
        protocol_hash=protocol["content_hash"],
        model_spec=None,
        consent=None,
    )


def rules_of_record(record: Mapping[str, Any]) -> Rules:
    """Return the rules of the protocol in the record of a run."""
    protocol = record[PROTOCOL]
    return Rules.from_json(protocol["rules"], f"protocol {protocol['name']} v{protocol['version']}")
