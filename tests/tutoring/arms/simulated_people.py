"""Sessions of people with simulated students, held through the actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from django.contrib.auth.models import Group, User
from django.test import Client

from accounts.roles import Role
from benchmark.models import Problem
from benchmark.prompts import VisibleProblem
from benchmark.providers import parse_model_spec
from benchmark.providers.simulated import reply_to
from benchmark.providers.worlds import World, bug_of, expected_rate, read_world
from tests.benchmark.runs.processes import use_var
from tests.tutoring.dialogues import SessionUnderTest, start
from tutoring.arms.policy import AskCode, RemainingBudget, Talk, TutorView, result_of
from tutoring.arms.simulated_tutor import hold, simulated_tutor
from tutoring.models import Protocol
from tutoring.models.payloads import ReplyFinished
from tutoring.sessions.dialogue import messages_of

GENERATIONS = 5
"""The generations of code of the protocol `usaco-2024`."""


def hold_sessions(var: Path, name: str, tutors: int, level: int) -> None:
    """Let each of the tutors hold a session with the simulated student of a world on every practice problem.

    The tutors give hints of the level at the program's bug (0: only neutral sentences) and execute a right program.
    """
    use_var(var)
    world = read_world(name)
    assert parse_model_spec(f"simulated:{name}").provider == "simulated"
    protocol = Protocol.objects.get(name="usaco-2024")
    for number in range(tutors):
        tutor = User.objects.create_user(f"tutor{number}")
        tutor.groups.set(Group.objects.filter(name=Role.TUTOR))
        for problem in Problem.objects.filter(dataset__name="practice").order_by("external_id"):
            session = SessionUnderTest(start(tutor, problem, protocol, f"simulated:{name}"), tutor)
            steps = _Steps(session, world, VisibleProblem.of(problem), seed=1_000 * number)
            result_of(hold(simulated_tutor(world, level=level, verifies=True), steps))


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
