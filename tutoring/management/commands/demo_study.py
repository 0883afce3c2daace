"""`manage.py demo_study`: simulated studies on the practice problems, whose pages can be read. It needs no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.actions import give_roles
from accounts.roles import Role
from benchmark.models import LanguageModel
from tutoring.effort.projection import missing_efforts, project_effort
from tutoring.models import Protocol, Study
from tutoring.protocols import PRESETS, freeze
from tutoring.rules import current_rule_set
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import FreezeStudy, SaveDesign
from tutoring.studies.analysis import visible_figures
from tutoring.studies.design import DesignError, parse_design
from tutoring.studies.rehearsal import rehearse
from tutoring.studies.simulated_reviews import review_rehearsal
from tutoring.studies.upkeep import advance_study

DRAFT = "demo-draft"

_SIMULATED = "Every figure of it is simulated: students and tutors are programs with stated probabilities."


@dataclass(frozen=True)
class Demonstration:
    """A simulated study: its name, tutors and design, the level of its hints, and whether its sessions are reviewed.

    Demonstrations have no tutor in common, because a tutor holds one session on a problem.
    """

    name: str
    tutor_names: list[str]
    design: Callable[[], dict[str, Any]]
    level: int
    reviewed: bool = False


class Command(BaseCommand):
    help = (
        "Design, freeze, conduct and close a simulated study on the practice problems, so that its pages can be read. "
        "A second run prints what exists. Needs no network and no other process."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--ladder",
            action="store_true",
            help="a study of level caps with simulated reviews instead, for the pages Ladder of help and Effort",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        demonstration = LADDER if options["ladder"] else TUTORING
        call_command("prepare", stdout=self.stdout, stderr=self.stderr)  # the site may be a new clone
        study = Study.objects.filter(name=demonstration.name).order_by("-version").first()
        if study is not None and study.state in (Study.State.STOPPED, Study.State.CLOSED):
            self._say(f"{study} exists and is {study.state}: page /studies/{study.pk}/. {_SIMULATED}")
            return
        try:
            self._hold(demonstration, study)
        except (DesignError, RefusedError) as error:
            raise CommandError(str(error)) from None

    def _say(self, text: str) -> None:
        self.stdout.write(text)

    def _hold(self, demonstration: Demonstration, study: Study | None) -> None:
        if study is None or study.state == Study.State.DRAFT:
            self._judge_references()
            _people(demonstration.tutor_names, Role.TUTOR)
            study = self._freeze(demonstration)
        self._say(f"{study} is {study.state}. {_SIMULATED}")
        done = 0

        def count(_: object) -> None:
            nonlocal done
            done += 1
            if done % 4 == 0:
                self._say(f"{done} sessions held through the tutors' pages.")

        call_command("study", "run", demonstration.name, stdout=self.stdout, stderr=self.stderr)
        advance_study(study.pk)
        rehearse(study, demonstration.level, count)
        study.refresh_from_db()
        if study.state != Study.State.CLOSED:
            raise CommandError(
                f"{study} is {study.state}, although its sessions were held. See /studies/{study.pk}/."
            )
        self._say(f"{study} is closed.")
        if demonstration.reviewed:
            self._review(study)
        self._say_result(study)

    def _review(self, study: Study) -> None:
        first, second = _people(_names("reviewer", 2), Role.REVIEWER)
        self._say(
            f"{review_rehearsal(study, (first, second))} sessions reviewed twice by simulated reviewers."
        )
        for session in missing_efforts().filter(assignment__study=study):
            project_effort(session)
        condition = f"study={study.name}"
        self._say(
            f"Open /runs/ladder/?people={condition} and, as an admin, /effort/?study={study.pk}&wage=30. The same "
            f"figures: manage.py ladder --human {condition}, manage.py effort --study {study.name} --wage 30."
        )

    def _say_result(self, study: Study) -> None:
        figures = visible_figures(study)
        if figures is not None and figures.primary is not None:
            one = figures.primary
            self._say(
                f"Simulated: {one.first} minus {one.second} {100 * one.difference:+.0f} points "
                f"({100 * one.low:+.0f} to {100 * one.high:+.0f}) on {one.problems} problems."
            )
        self._say(
            f"Log in as an admin or a researcher and open /studies/{study.pk}/ (flow and results), "
            f"/studies/{study.pk}/power/ and the draft {DRAFT} under /studies/."
        )

    def _judge_references(self) -> None:
        self._say("Judging the reference programs of the practice problems for the gate.")
        call_command("verify_references", "practice", stdout=self.stdout, stderr=self.stderr)

    def _freeze(self, demonstration: Demonstration) -> Study:
        values = {
            **demonstration.design(),
            "name": demonstration.name,
            "tutors": demonstration.tutor_names,
            "problems": {"dataset": "practice"},
            "strata": "none",
            "primary_outcome": "solved",
            "rehearsal": True,
        }
        if not Study.objects.filter(name=DRAFT).exists():
            SaveDesign(None, {**values, "name": DRAFT, "title": "Simulated draft: change me"}).execute()
        self._say("Freezing the design.")
        return FreezeStudy(None, parse_design(values), accept_gate=True).execute()


def _names(role: str, number: int) -> list[str]:
    return [f"simulated-{role}-{one}" for one in range(1, number + 1)]


def _people(names: list[str], role: Role) -> list[User]:
    """Return the accounts of these names, with the role; nobody can log in to them."""
    people = []
    for name in names:
        person, new = User.objects.get_or_create(username=name)
        if new:
            person.set_unusable_password()
            person.save()
            give_roles(person, [role])
        people.append(person)
    return people


def _protocol(name: str, title: str = "", **changes: Any) -> str:
    """Return name and version of the preset without the even pace of replies, because no person reads them."""
    preset = PRESETS["usaco-2024"]
    title = f"{preset.title}, {title or 'without a pace of replies'}"
    pace = {"characters_per_second": None, "seconds_to_first_word": None}
    protocol: Protocol = freeze(name, preset.model_copy(update={"title": title, **pace, **changes}))
    return f"{protocol.name}@{protocol.version}"


def _model(world: str) -> str:
    """Return label and version of the model of a world."""
    row, _ = LanguageModel.objects.get_or_create(
        label=f"simulated-{world}", version=1, defaults={"spec": f"simulated:{world}"}
    )
    return f"{row.label}@{row.version}"


def _tutoring_design() -> dict[str, Any]:
    rules, model = _protocol("demo-study"), _model("guidance-60")
    human = {"kind": "human", "protocol": rules}
    automatic = {"kind": "automatic", "model": model, "settings": {"protocol": rules}}
    return {
        "title": "Simulated: do hints help beyond another try?",
        "questions": [
            "Do hints solve more problems than the words “Please try again”?",
            "Do hints help a student who does not learn from them?",
        ],
        "arms": [
            {**human, "name": "tutored", "model": model},
            {**human, "name": "tutored-unreceptive", "model": _model("no-receptivity")},
            {**automatic, "name": "neutral", "method": "session-neutral"},
            {**automatic, "name": "verdict", "method": "session-verdict"},
            {**automatic, "name": "analysis", "method": "session-analysis"},
        ],
        "primary_contrast": ["tutored", "neutral"],
        "secondary_contrasts": [
            ["tutored", "tutored-unreceptive"],
            ["verdict", "neutral"],
            ["analysis", "neutral"],
        ],
    }


def _ladder_design() -> dict[str, Any]:
    """Return a design with an arm of people for each level cap and the neutral arm."""
    model = _model("guidance-60")
    caps = [one.level for one in current_rule_set().levels]
    arms: list[dict[str, Any]] = [
        {
            "kind": "human",
            "name": f"cap-{cap}",
            "model": model,
            "protocol": _protocol(
                f"demo-cap-{cap}", f"help up to level {cap}", ask_level="required", level_cap=cap
            ),
        }
        for cap in caps
    ]
    settings = {"protocol": arms[-1]["protocol"]}
    arms.append(
        {
            "kind": "automatic",
            "name": "neutral",
            "method": "session-neutral",
            "model": model,
            "settings": settings,
        }
    )
    return {
        "title": "Simulated: how much help is needed?",
        "questions": ["Which is the smallest level cap that solves more than “Please try again”?"],
        "arms": arms,
        "primary_contrast": [f"cap-{caps[-2]}", "neutral"],
        "secondary_contrasts": [[f"cap-{cap}", "neutral"] for cap in caps if cap != caps[-2]],
    }


TUTORING = Demonstration("demo-study", _names("tutor", 4), _tutoring_design, level=3)
LADDER = Demonstration("demo-ladder", _names("ladder-tutor", 5), _ladder_design, level=4, reviewed=True)
