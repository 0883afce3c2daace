"""`manage.py demo_tutors`: simulated automatic tutors on the practice problems, whose figures can be read."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from benchmark.models import Run
from tutoring.arms.settings import find_protocol

STUDENT = "simulated:guidance-60"
PROTOCOL = "usaco-2024"
TUTORS = {"honest": "none", "paraphraser": "none", "leaker": "analysis"}
"""The conducts of the simulated tutors, and what each knows."""


class Command(BaseCommand):
    help = (
        "Hold sessions of simulated students with simulated tutors and with the neutral arm on the practice problems, "
        "measure what the tutors give away, and print the figures. A second run prints the stored figures. Needs no "
        "network and no other process."
    )

    def handle(self, **_: Any) -> None:
        call_command("prepare", stdout=self.stdout, stderr=self.stderr)  # the site may be a new clone
        # Runs are comparable only under one version; other demonstrations may have held runs under another one.
        protocol = f"protocol={PROTOCOL}@{find_protocol(PROTOCOL).version}"
        self._run("session-neutral", protocol)
        tutored = [
            self._run("session-tutor", protocol, f"tutor=simulated-tutor:{conduct}", f"knows={knows}")
            for conduct, knows in TUTORS.items()
        ]
        for run in tutored:
            self._run("leak", f"of=run={run.pk}")
        names = [str(run.pk) for run in tutored]
        call_command("automatic_tutors", *names, stdout=self.stdout, stderr=self.stderr)
        self.stdout.write(
            "Every figure is simulated: students and tutors are programs with a stated conduct. The page: "
            f"/runs/tutors/?{'&'.join(f'run={name}' for name in names)}"
        )

    def _run(self, method: str, *settings: str) -> Run:
        """Return the finished run with these settings that is not yoked; hold it if there is none."""
        given = dict(setting.split("=", 1) for setting in settings)
        found = Run.objects.filter(
            method=method, model_spec=STUDENT, dataset__name="practice", state=Run.State.FINISHED,
            manifest__prepared__from_first__isnull=True,
            **{f"parameters__{name}": value for name, value in given.items()},
        )  # fmt: skip
        if not found.exists():
            call_command(
                "run_baseline", dataset="practice", model=STUDENT, method=method,
                set=list(settings), stdout=self.stdout, stderr=self.stderr,
            )  # fmt: skip
        return found.latest("started_at")
