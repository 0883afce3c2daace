"""Pages of the training: the guided session, the messages to label, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.roles import Role, has_role, requires_role
from benchmark.models import Problem
from tutoring.actions.messages import PRACTICE_STUDENT
from tutoring.models import Event, Session, TrainingResult
from tutoring.models.payloads import MessageSent, ReplyFinished
from tutoring.protocols import current_protocols
from tutoring.rules import Clause, rule_set
from tutoring.sessions.context import RefusedError
from tutoring.training.actions import FinishTraining
from tutoring.training.material import TrainingMessage, material
from tutoring.views.requests import PAGE_SIZE, command_id, person_of
from tutoring.views.review_pages import chips
from tutoring.views.review_requests import requested_page


@dataclass(frozen=True)
class GuidedStep:
    """One step of the guided session, and whether it is done."""

    text: str
    done: bool


def guided_steps(session: Session | None) -> list[GuidedStep]:
    """Return the steps of the guided session with the progress that the session's events show."""
    events = list(session.events.all()) if session else []
    kinds = {event.kind for event in events}
    payloads = [event.payload for event in events]
    talked = any(isinstance(one, MessageSent) and one.mode == "talk" for one in payloads)
    programs = sum(isinstance(one, ReplyFinished) and bool(one.code) for one in payloads)
    return [
        GuidedStep("Start the session, and read the problem and its official solution there.", bool(session)),
        GuidedStep("Ask for code. The first program costs the first of your generations.", programs > 0),
        GuidedStep("Send a message that makes the student think, without a program. Talk is free.", talked),
        GuidedStep("Ask for code again, and compare the program with the previous one.", programs > 1),
        GuidedStep(
            "Submit the program that you expect to be right for judging. Its verdict ends the session.",
            Event.Kind.VERDICT in kinds,
        ),
    ]


@require_GET
@requires_role(*Role)
def training(request: HttpRequest) -> HttpResponse:
    """Show the guided session with its progress, the messages to label, and the person's own results."""
    return _page(request, {})


def _page(request: HttpRequest, answers: Mapping[int, frozenset[str]]) -> HttpResponse:
    person = person_of(request)
    problem = Problem.objects.filter(dataset__name="practice", external_id=material().problem).first()
    practice = Session.objects.filter(tutor=person, problem=problem, model_spec=PRACTICE_STUDENT)
    session = practice.first() if problem else None
    steps = guided_steps(session) if has_role(person, Role.TUTOR) and problem else []
    return render(
        request,
        "tutoring/training/training.html",
        {
            "problem": problem,
            "session": session,
            "protocol": next((one for one in current_protocols() if one.rules["language"] == "python"), None),
            "steps": steps,
            "guided_done": bool(steps) and all(step.done for step in steps),
            "material": material(),
            "labelled": [(message, answers.get(message.number, ())) for message in material().messages],
            "clauses": chips(material().rules).clauses,
            "results": person.training_results.all()[:PAGE_SIZE],
        },
    )


@require_POST
@requires_role(*Role)
def finish(request: HttpRequest) -> HttpResponse:
    """Score the labels. Fields: command; clause-N (several) for message number N."""
    person = person_of(request)
    answers = {
        message.number: frozenset(request.POST.getlist(f"clause-{message.number}"))
        for message in material().messages
    }
    try:
        FinishTraining(person=person, command=command_id(request), answers=answers).execute()
    except RefusedError as refused:
        messages.error(request, str(refused))
        return _page(request, answers)  # keeps the chosen labels
    return redirect("training_result", result_id=person.training_results.values_list("pk", flat=True)[0])


@dataclass(frozen=True)
class LabelledMessage:
    """A message with the chosen clauses and those of the codebook."""

    message: TrainingMessage
    chosen: list[Clause]
    expected: list[Clause]

    @property
    def right(self) -> bool:
        """Return whether the chosen clauses match the codebook."""
        return self.chosen == self.expected


@require_GET
@requires_role(*Role)
def result(request: HttpRequest, result_id: int) -> HttpResponse:
    """Show one result: the person's own, or any result for admins."""
    person = person_of(request)
    found = get_object_or_404(TrainingResult.objects.select_related("person"), pk=result_id)
    if found.person != person and not has_role(person, Role.ADMIN):
        raise Http404("You have no such training result.")
    clauses = rule_set(found.rule_set).clauses
    compared = []
    for message in material().messages:
        answer = found.answers.get(str(message.number), [])
        chosen = [clause for clause in clauses if clause.code in answer]
        expected = [clause for clause in clauses if clause.code in message.clauses]
        compared.append(LabelledMessage(message, chosen, expected))
    return render(
        request,
        "tutoring/training/result.html",
        {"result": found, "compared": compared, "material": material(), "own": found.person == person},
    )


@require_GET
@requires_role(Role.ADMIN)
def results(request: HttpRequest) -> HttpResponse:
    """List the results of all people, newest first."""
    page = requested_page(request, TrainingResult.objects.select_related("person"))
    return render(request, "tutoring/training/results.html", {"results": page})
