"""Sites with a simulated student, and with sessions that people held with it through the actions.

Tests copy both, because the judgements of wrong programs and the checks of messages take seconds.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from django.contrib.auth.models import Group, User
from django.test import Client

from accounts.roles import Role
from benchmark.extraction import extract_program
from benchmark.judging import perform, request_judgement, store_submission
from benchmark.models import Judgement, Problem
from benchmark.prompts import VisibleProblem
from benchmark.providers import parse_model_spec
from benchmark.providers.simulated import reply_to
from benchmark.providers.worlds import World, bug_of, expected_rate, read_world
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import add_prepared, cached_folder
from tests.tutoring.dialogues import SessionUnderTest, start
from tutoring.arms.policy import AskCode, RemainingBudget, Talk, TutorView, result_of
from tutoring.arms.simulated_tutor import hold, simulated_tutor
from tutoring.models import Protocol
from tutoring.models.payloads import ReplyFinished
from tutoring.sessions.dialogue import messages_of

WORLD = "guidance-60"

SLOW = "watering-round"
"""A problem with a wrong program that runs into every time limit."""

TIME_LIMIT = 0.1
"""The time limit of that problem in seconds, instead of 1, so that the program is stopped early. The limit for Python
is about three times as long, and the right program needs up to 0.06 s."""

GENERATIONS = 5
"""The generations of code of the protocol `usaco-2024`."""


def add_world(var: Path) -> Path:
    """Copy a prepared site into a HINTBENCH_VAR and return the folder. It has verdicts of the world's programs."""
    return shutil.copytree(cached_folder(WORLD, _fill_world), var, dirs_exist_ok=True)


def add_people(var: Path, tutors: int) -> Path:
    """Copy a site of the world with the sessions of tutors into a HINTBENCH_VAR and return the folder.

    Each tutor has held a session on every practice problem, with hints of level 3 at the program's bug.
    """

    def fill(people: Path) -> None:
        if tutors == 1:
            add_world(people)
        else:
            add_people(people, tutors - 1)
        run_apart(_hold_sessions, people, tutors - 1)

    return shutil.copytree(cached_folder(f"people-{tutors}", fill), var, dirs_exist_ok=True)


def _fill_world(var: Path) -> None:
    run_apart(_judge_programs, add_prepared(var))


def _judge_programs(var: Path) -> None:
    """Judge the programs of the simulated student on the samples and on all tests, as runs of arms do."""
    use_var(var)
    Problem.objects.filter(external_id=SLOW).update(time_limit=TIME_LIMIT)
    for slug, conduct in read_world(WORLD).problems.items():
        problem = Problem.objects.get(dataset__name="practice", external_id=slug)
        for bug in (None, *conduct.bugs):
            program = extract_program(f"```python\n{conduct.program(slug, bug)}\n```", "python").code
            assert program is not None
            submission = store_submission(problem, program, "python")
            for scope in (Judgement.TestScope.SAMPLES, Judgement.TestScope.ALL):
                perform(request_judgement(submission, suite=scope, stop_at_first_failure=False).pk)


def _hold_sessions(var: Path, number: int) -> None:
    """Let the tutor with this number hold the sessions, and execute each program without a bug."""
    use_var(var)
    world = read_world(WORLD)
    assert parse_model_spec(f"simulated:{WORLD}").provider == "simulated"
    protocol = Protocol.objects.get(name="usaco-2024")
    tutor = User.objects.create_user(f"tutor{number}")
    tutor.groups.set(Group.objects.filter(name=Role.TUTOR))
    for problem in Problem.objects.filter(dataset__name="practice").order_by("external_id"):
        session = SessionUnderTest(start(tutor, problem, protocol, f"simulated:{WORLD}"), tutor)
        steps = _Steps(session, world, VisibleProblem.of(problem), seed=1_000 * number)
        result_of(hold(simulated_tutor(world, level=3, verifies=True), steps))


@dataclass
class _Steps:
    """The steps of one session, carried out by the actions of the page, the streamer and the worker."""

    session: SessionUnderTest
    world: World
    task: VisibleProblem
    seed: int
    programs: list[str] = field(default_factory=list)

    def view(self) -> TutorView:
        payloads = [event.payload for event in self.session.events()]
        replies = [one for one in payloads if isinstance(one, ReplyFinished)]
        bug = bug_of(self.world, self.task.id, replies[-1].text) if replies else None
        return TutorView(
            problem=self.task,
            language="python",
            dialogue=tuple(messages_of(payloads)),
            programs=tuple(self.programs),
            messages_sent=len(replies),
            budget=RemainingBudget(GENERATIONS - len(self.programs), 1),
            program_right=None if bug is None else not bug,
        )

    def send(self, act: Talk | AskCode) -> None:
        self.session.say(act.text, mode="talk" if isinstance(act, Talk) else "code")
        messages = tuple(messages_of([event.payload for event in self.session.events()]))
        text = reply_to(self.world, messages, self.seed + len(self.programs))
        self.session.reply(text)
        self.programs.append(text)

    def execute(self) -> None:
        self.session.execute()
        self.session.judge()

    def give_up(self, reason: str) -> None:
        raise AssertionError(reason)


def rates(name: str) -> tuple[float, float, float]:
    """Return the expected solve rates of people with hints of level 3, of neutral/perfect and of neutral/samples."""
    world = read_world(name)

    def mean(**conduct: object) -> float:
        values = [
            expected_rate(problem, GENERATIONS, **conduct)  # type: ignore[arg-type]
            for problem in world.problems.values()
        ]
        return sum(values) / len(values)

    hinted = mean(stopping="perfect", after_wrong=lambda bug: bug.receptivity[3])
    return hinted, mean(stopping="perfect"), mean(stopping="samples")


def open_page(var: Path, address: str, page: Path) -> None:
    """Write a page as a researcher gets it to a file."""
    use_var(var)
    researcher, _ = User.objects.get_or_create(username="researcher")
    researcher.groups.set(Group.objects.filter(name=Role.RESEARCHER))
    client = Client(SERVER_NAME="localhost")
    client.force_login(researcher)
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    page.write_text(answer.content.decode())
