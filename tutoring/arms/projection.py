"""Projection: a finished chain of an arm becomes one session of ordinary events.

The session is held once more with the stored replies and verdicts, which gives the same events. Everything is written
in the transaction that finishes the chain's work item, so no crash can separate the two.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import F
from django.utils import timezone

from accounts.pseudonyms import policy_pseudonym
from benchmark.methods import ProgramTester, Role
from benchmark.model_calls.inserts import insert_rows
from benchmark.models import Generation, Problem, Run, WorkItem
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, VisibleProblem
from benchmark.retrieval import SearchCorpus, problem_corpus
from judge import Verdict
from tutoring.actions import verdict_of
from tutoring.arms.methods import POLICIES
from tutoring.arms.policy import Execute, GiveUp, result_of
from tutoring.arms.stopping import PASSES_SAMPLES, RIGHT, WRONG
from tutoring.arms.transcript import PROTOCOL, Transcript, hold_session
from tutoring.arms.tutor.policy import CONDUCT
from tutoring.models import AbandonReason, Event, ProgramScore, Protocol, Session
from tutoring.models.choices import SessionOutcome
from tutoring.models.payloads import (
    AnyPayload,
    ExecutionRequested,
    MessageSent,
    ReplyFinished,
    SessionClosed,
    SessionOpened,
    VerdictRecorded,
    VerdictReplaced,
)
from tutoring.sessions.programs import distance, program_tokens
from tutoring.sessions.projections import count_payload

T = TypeVar("T")

_BY_TUTOR = (SessionOpened, MessageSent, ExecutionRequested)
"""The events that a tutor causes; they bear the pseudonym."""


def project(run: Run, items: Sequence[WorkItem]) -> list[Session]:
    """Store a session for each of the run's items that is done and has none; return the new sessions.

    Call it in a transaction. Runs of other methods have no sessions.
    """
    if run.method not in POLICIES:
        return []
    wanted = WorkItem.objects.filter(
        pk__in=[item.pk for item in items], state=WorkItem.State.DONE, session__isnull=True
    )
    keys = set(wanted.order_by().values_list("pk", flat=True))
    if not keys:
        return []
    answers: dict[int, dict[int, Generation]] = defaultdict(dict)
    rows = Generation.objects.filter(work_item__in=keys).defer("messages", "parameters", "retrieval")
    rows = rows.annotate(samples_verdict=F("sample_judgement__verdict")).select_related("hidden_judgement")
    for row in rows.order_by("work_item", "step"):
        answers[row.work_item_id][row.step] = row
    projection = _Projection(run)
    return projection.store([(item, answers[item.pk]) for item in items if item.pk in keys])


class _StoredChain:
    """A `benchmark.methods.Chain` over the stored replies and verdicts of a finished item."""

    program_tester: ProgramTester

    def __init__(self, item: WorkItem, answers: Mapping[int, Generation], shared: _Projection) -> None:
        self.task = VisibleProblem.of(item.problem)
        self.number = item.chain
        self.prepared = shared.prepared
        self._answers = iter([answers[step] for step in sorted(answers)])
        self._shared = shared

    async def problems(self) -> SearchCorpus:
        return self._shared.read("problems", self._shared.corpus)

    async def textbook(self, name: str) -> SearchCorpus:
        raise NotImplementedError(f"Sessions do not search the textbook {name}.")

    async def represented(self, kind: str) -> SearchCorpus:
        raise NotImplementedError(f"Sessions do not search representations of the kind {kind}.")

    async def read_once(self, name: str, read: Callable[[], T]) -> T:
        return self._shared.read(name, read)

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,  # noqa: ARG002
        shared: bool = False,  # noqa: ARG002
        role: Role = "student",  # noqa: ARG002
    ) -> Generation:
        answer = next(self._answers)
        # Other detectors on the site of an imported run would lead to other decisions of the guard.
        if answer.purpose != purpose or (CONDUCT in self.prepared and answer.prompt_hash != prompt.hash):
            raise ValueError(f"step {answer.step} answers another prompt")
        return answer

    async def adopt(self, prompt: Prompt, text: str, source: Mapping[str, Any]) -> Generation:  # noqa: ARG002
        return next(self._answers)

    async def run_samples(self, answer: Generation) -> SampleRun:
        raise NotImplementedError(f"No policy sees the samples' results of {answer}.")

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        assert answer.hidden_judgement is not None
        return HiddenRun.of(answer.hidden_judgement.first_verdict)

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        raise NotImplementedError(f"No policy sees the number of tests that {answer} passes.")


class _Projection:
    """The parts that the sessions of one run share."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.prepared: Mapping[str, Any] = run.manifest["prepared"]
        protocol = self.prepared[PROTOCOL]
        self._protocol = Protocol.objects.get(name=protocol["name"], version=protocol["version"])
        self._by = policy_pseudonym(str(run.pk))
        self._read: dict[str, Any] = {}

    def corpus(self) -> SearchCorpus:
        return problem_corpus(self._run.dataset, self._run.parameters["language"])

    def read(self, name: str, read: Callable[[], T]) -> T:
        if name not in self._read:
            self._read[name] = read()
        result: T = self._read[name]
        return result

    def store(self, chains: Sequence[tuple[WorkItem, Mapping[int, Generation]]]) -> list[Session]:
        """Store the sessions of these items with all their events and program scores."""
        sessions: list[Session] = []
        events: list[Event] = []
        scores: list[ProgramScore] = []
        for item, answers in chains:
            session, of_session, of_programs = self._session(item, answers)
            sessions.append(session)
            events += of_session
            scores += of_programs
        insert_rows(sessions)
        insert_rows(events)
        for score in scores:
            score.event_id = score.event.pk
        insert_rows(scores)
        return sessions

    def _session(
        self, item: WorkItem, answers: Mapping[int, Generation]
    ) -> tuple[Session, list[Event], list[ProgramScore]]:
        transcript = result_of(hold_session(_StoredChain(item, answers, self), POLICIES[self._run.method]))
        timed = _timed(item.problem, self._run, transcript)
        closed = timed[-1][1]
        assert isinstance(closed, SessionClosed)
        executed = transcript.programs[-1][1] if isinstance(transcript.end, Execute) else None
        outcome, former_outcome = closed.outcome, ""
        if replaced := _replaced(executed):
            timed.append(replaced)
            if replaced[1].outcome != outcome:
                outcome, former_outcome = replaced[1].outcome, outcome
        named = uuid.uuid5(self._run.pk, f"{item.problem.external_id} {item.chain}")
        session = Session(
            # The version of the id is that of people's sessions: reviewers see it, and must not learn the origin.
            pk=uuid.UUID(bytes=named.bytes, version=4),
            origin=Session.Origin.AUTOMATIC,
            problem=item.problem,
            protocol=self._protocol,
            model_id=self._run.model_id,
            model_spec=self._run.model_spec,
            language=transcript.rules.language,
            number=self._run.draw_of(item.chain)[1] + 1,
            work_item=item,
            source={"run": str(self._run.pk), "item": item.pk},
            opened_at=timed[0][0],
            closed_at=next(at for at, payload in timed if payload is closed),
            state=Session.State.CLOSED,
            outcome=outcome,
            former_outcome=former_outcome,
            judgement_id=executed.hidden_judgement_id if executed else None,
            program_outcomes="".join(_program_outcome(program) for _, program in transcript.programs),
        )
        events = []
        for seq, (at, payload) in enumerate(timed, start=1):
            count_payload(session, payload)
            by = self._by if isinstance(payload, _BY_TUTOR) else ""
            data = payload.to_json()
            events.append(
                Event(
                    session=session,
                    seq=seq,
                    kind=payload.KIND,
                    version=payload.VERSION,
                    by=by,
                    data=data,
                    at=at,
                )
            )
        return session, events, _scores(session, events, transcript)


def _timed(problem: Problem, run: Run, transcript: Transcript) -> list[tuple[datetime, AnyPayload]]:
    """Return all events with their times, which never decrease: those of the generations, then of the verdict."""
    opened, *later = transcript.payloads
    assert isinstance(opened, SessionOpened)
    first = next(iter(transcript.answers.values()))
    at = first.created_at - timedelta(seconds=first.latency)
    opened = opened.model_copy(update={"problem_hash": problem.content_hash, "model_spec": run.model_spec})
    timed: list[tuple[datetime, AnyPayload]] = [(at, opened)]
    for number, payload in enumerate(later, start=2):
        if isinstance(payload, ReplyFinished):
            at = max(at, transcript.answers[number].created_at)
        timed.append((at, payload))
    if isinstance(transcript.end, GiveUp):
        reason = SessionClosed(
            reason=transcript.end.reason, outcome=Session.Outcome.ABANDONED, why=AbandonReason.MODEL_STUCK
        )
        return [*timed, (at, reason)]
    number, program = transcript.programs[-1]
    judgement = program.hidden_judgement and program.hidden_judgement.first_verdict
    timed.append(
        (
            at,
            ExecutionRequested(
                generation=len(transcript.programs),
                program=number,
                judgement=judgement.pk if judgement else None,
                turn=transcript.end.turn,
            ),
        )
    )
    if judgement is None:
        # A reply may count as a generation without a program that could be judged (NO_CODE).
        return [*timed, (at, SessionClosed(reason="executed", outcome=Session.Outcome.NOT_SOLVED))]
    at = max(at, judgement.finished_at or timezone.now())
    verdict = verdict_of(judgement, problem)
    return [*timed, (at, verdict), (at, SessionClosed(reason="executed", outcome=_outcome(verdict)))]


def _replaced(executed: Generation | None) -> tuple[datetime, VerdictReplaced] | None:
    """Return the event of a verdict that a rejudging replaced on the site of an imported run, with its time."""
    judgement = executed.hidden_judgement if executed else None
    if judgement is None or judgement.replaces_id is None:
        return None
    verdict = verdict_of(judgement, None)
    payload = VerdictReplaced(
        rejudging=None,
        reason="judged again where the run was executed",
        problem_hash=judgement.problem_hash,
        judgement=judgement.pk,
        former=Verdict(judgement.first_verdict.verdict),
        verdict=verdict.verdict,
        passed=verdict.passed,
        total=verdict.total,
        judge_version=verdict.judge_version,
        near_limit=verdict.near_limit,
        time_factor=verdict.time_factor,
        outcome=_outcome(verdict),
    )
    return judgement.finished_at or timezone.now(), payload


def _program_outcome(program: Generation) -> str:
    """Return the letter of a program in `Session.program_outcomes`."""
    judgement = program.hidden_judgement
    if judgement is not None and judgement.verdict == Verdict.AC:
        return RIGHT
    # `project` annotates the verdict: the judgement's row with all its outputs is not read.
    return PASSES_SAMPLES if getattr(program, "samples_verdict", "") == Verdict.AC else WRONG


def _outcome(verdict: VerdictRecorded) -> SessionOutcome:
    return SessionOutcome.SOLVED if verdict.verdict == Verdict.AC else SessionOutcome.NOT_SOLVED


def _scores(session: Session, events: Sequence[Event], transcript: Transcript) -> list[ProgramScore]:
    """Return the scores of the programs, whose judgements are those of the run."""
    judged = [
        (generation, number, answer)
        for generation, (number, answer) in enumerate(transcript.programs, start=1)
        if answer.hidden_judgement_id is not None
    ]
    tokens = [program_tokens(answer.code, session.language) for _, _, answer in judged]
    return [
        ProgramScore(
            session=session,
            event=events[number - 1],
            generation=generation,
            distance_to_previous=distance(tokens[at - 1], tokens[at]) if at else None,
            distance_to_final=distance(tokens[at], tokens[-1]),
            judgement_id=answer.hidden_judgement_id,
        )
        for at, (generation, number, answer) in enumerate(judged)
    ]
