"""`manage.py demo_study`: a simulated study on the practice problems, whose pages can be read. It needs no network."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from accounts.actions import give_roles
from accounts.roles import Role
from benchmark.models import LanguageModel
from tutoring.models import Protocol, Study
from tutoring.protocols import PRESETS, freeze
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import FreezeStudy, SaveDraft
from tutoring.studies.analysis import visible_figures
from tutoring.studies.design import DesignError, parse_design
from tutoring.studies.rehearsal import rehearse
from tutoring.studies.upkeep import advance_study

NAME, DRAFT = "demo-study", "demo-draft"
TUTORS = tuple(f"simulated-tutor-{number}" for number in range(1, 5))
LEVEL = 3
"""The level of the simulated tutors' hints."""

_SIMULATED = "Every figure of it is simulated: students and tutors are programs with stated probabilities."


class Command(BaseCommand):
    help = (
        "Design, freeze, hold and close a simulated study on the practice problems, so that its pages can be read. "
        "A second run says what exists. Needs no network and no other process."
    )

    def handle(self, *_: Any, **options: Any) -> None:
        call_command("prepare", stdout=self.stdout, stderr=self.stderr)  # the site may be a new clone
        study = Study.objects.filter(name=NAME).order_by("-version").first()
        if study is not None and study.state in (Study.State.STOPPED, Study.State.CLOSED):
            self._say(f"{study} exists and is {study.state}: page /studies/{study.pk}/. {_SIMULATED}")
            return
        try:
            self._hold(study)
        except (DesignError, RefusedError) as error:
            raise CommandError(str(error)) from None

    def _say(self, text: str) -> None:
        self.stdout.write(text)

    def _hold(self, study: Study | None) -> None:
        if study is None or study.state == Study.State.DRAFT:
            self._judge_references()
            self._make_tutors()
            study = self._freeze()
        self._say(f"{study} is {study.state}. {_SIMULATED}")
        done = 0

        def count(_: object) -> None:
            nonlocal done
            done += 1
            if done % 4 == 0:
                self._say(f"{done} sessions held through the tutors' pages.")

        call_command("study", "run", NAME, stdout=self.stdout, stderr=self.stderr)
        advance_study(study.pk)
        rehearse(study, LEVEL, count)
        study.refresh_from_db()
        if study.state != Study.State.CLOSED:
            raise CommandError(
                f"{study} is {study.state}, although its sessions were held. See /studies/{study.pk}/."
            )
        self._say(f"{study} is closed.")
        figures = visible_figures(study)
        if figures is not None and figures.primary is not None:
            one = figures.primary
            self._say(
                f"Simulated: {one.first} less {one.second} {100 * one.difference:+.0f} points "
                f"({100 * one.low:+.0f} to {100 * one.high:+.0f}) on {one.problems} problems."
            )
        self._say(
            f"Log in as an admin or a researcher and open /studies/{study.pk}/ (flow and results), "
            f"/studies/{study.pk}/power/ and the draft {DRAFT} under /studies/."
        )

    def _judge_references(self) -> None:
        self._say("Judging the reference programs of the practice problems for the gate.")
        call_command("verify_references", "practice", stdout=self.stdout, stderr=self.stderr)

    def _make_tutors(self) -> None:
        for name in TUTORS:
            person, new = User.objects.get_or_create(username=name)
            if new:
                person.set_unusable_password()  # nobody logs in with it
                person.save()
                give_roles(person, [Role.TUTOR])

    def _freeze(self) -> Study:
        protocol = self._protocol()
        models = {world: _model(world) for world in ("guidance-60", "no-receptivity")}
        values = _design(NAME, protocol, models)
        SaveDraft(
            None, {**values, "name": DRAFT, "title": "Simulated draft: change me", "rehearsal": True}
        ).execute()
        self._say("Freezing the design.")
        return FreezeStudy(None, parse_design(values), accept_gate=True).execute()

    def _protocol(self) -> Protocol:
        """Return the preset without the even pace of replies: nobody reads these."""
        preset = PRESETS["usaco-2024"]
        title = f"{preset.title}, without a pace of replies"
        return freeze(
            "demo-study",
            preset.model_copy(
                update={"title": title, "characters_per_second": None, "seconds_to_first_word": None}
            ),
        )


def _model(world: str) -> LanguageModel:
    row, _ = LanguageModel.objects.get_or_create(
        label=f"simulated-{world}", version=1, defaults={"spec": f"simulated:{world}"}
    )
    return row


def _design(name: str, protocol: Protocol, models: dict[str, LanguageModel]) -> dict[str, Any]:
    versioned = {world: f"{row.label}@{row.version}" for world, row in models.items()}
    rules = f"{protocol.name}@{protocol.version}"
    human = {"kind": "human", "protocol": rules}
    automatic = {"kind": "automatic", "model": versioned["guidance-60"], "settings": {"protocol": rules}}
    return {
        "name": name,
        "title": "Simulated: do hints help beyond another try?",
        "questions": [
            "Do hints solve more problems than the words “Please try again”?",
            "Do hints help a student who does not learn from them?",
        ],
        "arms": [
            {**human, "name": "tutored", "model": versioned["guidance-60"]},
            {**human, "name": "tutored-unreceptive", "model": versioned["no-receptivity"]},
            {**automatic, "name": "neutral", "method": "session-neutral"},
            {**automatic, "name": "verdict", "method": "session-verdict"},
            {**automatic, "name": "analysis", "method": "session-analysis"},
        ],
        "problems": {"dataset": "practice"},
        "tutors": list(TUTORS),
        "strata": "none",
        "primary_outcome": "solved",
        "primary_contrast": ["tutored", "neutral"],
        "secondary_contrasts": [
            ["tutored", "tutored-unreceptive"],
            ["verdict", "neutral"],
            ["analysis", "neutral"],
        ],
        "rehearsal": True,
    }
