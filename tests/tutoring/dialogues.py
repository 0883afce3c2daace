"""Sessions without processes: the actions of the page, the streamer and the worker, called in turn."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.contrib.auth.models import User

from benchmark.judging import perform
from benchmark.model_calls.catalogue import model_for
from benchmark.models import LanguageModel, Problem
from benchmark.providers import Completed, Parameters, TokenUsage, parse_model_spec
from tutoring.actions import AcceptConsent, Execute, SendMessage, StartSession
from tutoring.models import Assignment, Event, Protocol, Session, Study
from tutoring.models.payloads import Mode
from tutoring.protocols import consent_hash, rules_of
from tutoring.replies.claimed_reply import ClaimedReply
from tutoring.replies.claims import claim_replies
from tutoring.replies.endings import finish_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import Delta, append_deltas

RIGHT = "Here it is.\n\n```python\nprint(2 * int(input()))\n```\n"
WRONG = "Here it is.\n\n```python\nprint(3 * int(input()))\n```\n"
TALK = "I would read the number first."


def start(person: User, problem: Problem, protocol: Protocol, model_spec: str = "openai:m") -> Session:
    """Accept the consent text and start a session, as the page does."""
    AcceptConsent(person, protocol, consent_hash(rules_of(protocol))).execute()
    return StartSession(person, problem, protocol, model(model_spec)).execute()


def model(spec: str) -> LanguageModel:
    """Return the row of a model with the provider's default sampling."""
    return model_for(parse_model_spec(spec), Parameters())


def join_study(row: Session, tutor: User) -> None:
    """Make the session one of a running study of this tutor."""
    study = Study.objects.create(name="s", version=1, title="S", state=Study.State.RUNNING, design={})
    study.tutors.add(tutor)
    assert row.model is not None
    assert row.problem is not None
    arm = study.arms.create(name="one", kind="human", position=0, model=row.model, protocol=row.protocol)
    Assignment.objects.create(
        study=study, arm=arm, problem=row.problem, session=row, tutor=tutor, replicate=1, order=1
    )


@dataclass
class SessionUnderTest:
    """A session and its tutor, with methods for the steps of the page, the streamer and the worker."""

    row: Session
    tutor: User

    @property
    def pk(self) -> UUID:
        return self.row.pk

    def say(self, text: str = "Go on.", mode: Mode = "talk", command: UUID | None = None) -> None:
        SendMessage(
            session_id=self.pk,
            person=self.tutor,
            command=command or uuid4(),
            mode=mode,
            text=text,
        ).execute()

    def claim(self) -> ClaimedReply:
        [claimed] = claim_replies(10)
        return claimed

    def reply(self, text: str, finish_reason: str = "stop") -> None:
        self.finish(self.claim(), text, finish_reason)

    def finish(self, claimed: ClaimedReply, text: str, finish_reason: str = "stop") -> None:
        """Write this text as the reply that was claimed."""
        append_deltas([Delta(claimed.pk, claimed.attempt, 1, text)], [(claimed.pk, claimed.attempt)])
        completed = Completed(
            usage=TokenUsage(
                input_tokens=10, output_tokens=5, cached_input_tokens=None, reasoning_tokens=None
            ),
            model="hidden-model-name-2026",
            finish_reason=finish_reason,
            request_id="request-1",
        )
        finish_reply(claimed, ModelAnswer(completed=completed))

    def stopped_reply(self, text: str) -> None:
        """Write a reply that the tutor stops after this text."""
        claimed = self.claim()
        append_deltas([Delta(claimed.pk, claimed.attempt, 1, text)], [(claimed.pk, claimed.attempt)])
        finish_reply(claimed, ModelAnswer(text=f"{text} and more"), stopped=True)

    def ask_and_get(self, text: str) -> None:
        """Request code and write this reply."""
        self.say("Try it.", mode="code")
        self.reply(text)

    def execute(self) -> None:
        Execute(session_id=self.pk, person=self.tutor, command=uuid4()).execute()

    def judge(self) -> None:
        """Judge the execution, as a worker does."""
        self.refresh()
        assert self.row.judgement_id is not None
        perform(self.row.judgement_id)
        self.refresh()

    def refresh(self) -> Session:
        self.row.refresh_from_db()
        return self.row

    def events(self, *kinds: str) -> list[Event]:
        return [event for event in self.row.events.all() if not kinds or event.kind in kinds]
