"""manage.py study: design, freeze, conduct and verify studies without the pages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management import model_options
from benchmark.management.arguments import positive
from benchmark.management.run_progress import execute_run, run_bar
from benchmark.model_calls import Stop
from benchmark.models import Run
from benchmark.providers import ProviderError, parse_model_spec
from benchmark.runner import CannotRunError, QueueUnavailableError, dispatch, prepare_resume
from judge.management.tables import aligned
from tutoring.management.arguments import find_study
from tutoring.models import Arm, Study
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import AmendStudy, CloseStudy, FreezeStudy, StopStudy, TakeLook
from tutoring.studies.analysis import Figures, sessions_so_far
from tutoring.studies.design import Design, DesignError, parse_design
from tutoring.studies.estimation import Contrast
from tutoring.studies.export import export_study
from tutoring.studies.power import Power, PowerError, PowerInputs, simulate_power
from tutoring.studies.preregistration import preregistration
from tutoring.studies.rehearsal import rehearse
from tutoring.studies.resolution import resolve
from tutoring.studies.runs import arms_waiting_for_people, plan_arm, refuse_ended, start_arm, usual_options
from tutoring.studies.verification import verify


class Command(BaseCommand):
    help = (
        "Design, freeze, conduct and verify studies (docs/studies.md). DESIGN is a JSON or YAML file; NAME is the name "
        "of a study, NAME@VERSION an older version."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        listing = actions.add_parser("list", help="list all studies with their states")
        power = actions.add_parser("power", help="simulate the power of a design")
        power.add_argument("design", type=Path, metavar="DESIGN", help="a JSON or YAML file")
        power.add_argument("--control-rate", type=float, required=True, metavar="SHARE", help="such as 0.3")
        power.add_argument(
            "--effect",
            type=float,
            required=True,
            metavar="DIFFERENCE",
            help="difference of the shares, such as 0.2",
        )
        power.add_argument(
            "--spread",
            type=float,
            default=1.0,
            metavar="LOGITS",
            help="standard deviation between problems; default: 1",
        )
        power.add_argument(
            "--compliance",
            type=float,
            default=1.0,
            metavar="SHARE",
            help="sessions of tutors that are finished and comply; default: 1",
        )
        power.add_argument(
            "--minutes", type=float, metavar="MINUTES", help="minutes of a session, for the hours of people"
        )
        power.add_argument(
            "--problems", type=positive, metavar="N", help="instead of the design's eligible problems"
        )
        freeze = actions.add_parser("freeze", help="freeze a design: draw the seed, store every assignment")
        freeze.add_argument("design", type=Path, metavar="DESIGN", help="a JSON or YAML file")
        freeze.add_argument(
            "--accept-gate",
            action="store_true",
            help="freeze in spite of problems without hidden tests or without an accepted reference program",
        )
        freeze.add_argument(
            "--amend", metavar="REASON", help="make a new version of the study, and stop the old one"
        )
        run = actions.add_parser("run", help="start or resume the runs of the automatic arms")
        run.add_argument("name", metavar="NAME", help="name of a study; NAME@VERSION: an older version")
        model_options.add_budget(run, "the run of each arm has")
        model_options.add_limits(run)
        run.add_argument(
            "--distribute", action="store_true", default=None, help="let the workers execute the runs"
        )
        rehearsal = actions.add_parser(
            "rehearse",
            help="hold the sessions of a rehearsal with simulated tutors, through the tutors' pages",
        )
        rehearsal.add_argument("name", metavar="NAME", help="name of a study; NAME@VERSION: an older version")
        rehearsal.add_argument(
            "--level",
            type=int,
            choices=range(5),
            default=3,
            help="level of the tutors' hints; 0: none; default: 3",
        )
        look = actions.add_parser(
            "look", help="look at the results, and stop the study if its stopping rule is met"
        )
        look.add_argument("name", metavar="NAME", help="name of a study; NAME@VERSION: an older version")
        stop = actions.add_parser("stop", help="stop a study: no more sessions are offered")
        stop.add_argument("name", metavar="NAME", help="name of a study; NAME@VERSION: an older version")
        stop.add_argument("--reason", required=True, help="reason, which the record of the study keeps")
        close = actions.add_parser("close", help="close a study whose sessions have ended")
        close.add_argument("name", metavar="NAME", help="name of a study; NAME@VERSION: an older version")
        export = actions.add_parser("export", help="write a study to a folder")
        export.add_argument("name", metavar="NAME", help="name of a study; NAME@VERSION: an older version")
        export.add_argument("--output", type=Path, metavar="FOLDER", help="default: study-NAME-vVERSION")
        verification = actions.add_parser("verify", help="compute every assignment again from the seed")
        verification.add_argument(
            "name", metavar="NAME", help="name of a study; NAME@VERSION: an older version"
        )
        for one in (listing, power, freeze, run, rehearsal, look, stop, close, export, verification):
            one.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *_: Any, **options: Any) -> None:
        action: Callable[[dict[str, Any]], None] = getattr(self, f"_{options['action']}")
        try:
            action(options)
        except (
            CannotRunError,
            DesignError,
            PowerError,
            ProviderError,
            QueueUnavailableError,
            RefusedError,
        ) as error:
            raise CommandError(str(error)) from None

    def _print(self, options: dict[str, Any], document: object, text: str) -> None:
        self.stdout.write(json.dumps(document, ensure_ascii=False) if options["json"] else text)

    def _list(self, options: dict[str, Any]) -> None:
        studies = list(Study.objects.order_by("name", "version"))
        documents = [_state(study) for study in studies]
        rows = [("study", "state", "sessions done", "of", "title")]
        rows += [
            (
                str(study),
                one["state"] + (" (rehearsal)" if study.rehearsal else ""),
                str(one["done"]),
                str(one["assigned"]),
                study.title,
            )
            for study, one in zip(studies, documents, strict=True)
        ]
        self._print(options, documents, "\n".join(aligned(rows)) if studies else "There is no study yet.")

    def _power(self, options: dict[str, Any]) -> None:
        design = _design(options["design"])
        found = simulate_power(
            PowerInputs.of_design(
                design,
                problems=options["problems"] or _pairs(design),
                control_rate=options["control_rate"],
                effect=options["effect"],
                spread=options["spread"],
                compliance=options["compliance"],
                minutes_per_session=options["minutes"],
            )
        )
        self._print(options, found.to_json(), _power_text(found))

    def _freeze(self, options: dict[str, Any]) -> None:
        design, accept = _design(options["design"]), options["accept_gate"]
        if options["amend"] is None:
            study = FreezeStudy(None, design, accept).execute()
        else:
            old = find_study(design.name)
            study = AmendStudy(None, old.pk, design, options["amend"], accept).execute()
        record = preregistration(study)
        document = _state(study) | {
            "design_sha256": study.design_hash,
            "preregistration_sha256": record["sha256"],
        }
        text = (
            f"Froze {study}: {document['assigned']} assignments on {len(record['design']['problems'])} problems.\n"
            f"SHA-256 of the preregistration: {record['sha256']}"
        )
        self._print(options, document, text)

    def _run(self, options: dict[str, Any]) -> None:
        study = find_study(options["name"])
        arms = list(
            study.arms.filter(kind=Arm.Kind.AUTOMATIC).select_related("model", "run__model", "run__dataset")
        )
        if not arms:
            raise CommandError(f"{study} has no automatic arm.")
        refuse_ended(study)
        held = arms_waiting_for_people(study)
        arms = [arm for arm in arms if arm.name not in held]
        if held:
            self.stderr.write(f"Not started until the sessions of people have ended: {', '.join(held)}.")
        if not arms:
            raise CommandError(f"No arm of {study} can be run now.")
        # Every arm is planned before the first one is paid for.
        plans = {arm.pk: plan_arm(study, arm) for arm in arms if arm.run is None}
        runs = []
        for arm in arms:
            spec = parse_model_spec(arm.model.spec)
            usual = usual_options(arm)
            price = model_options.price_of(options, spec, former=usual.price)
            chosen = model_options.run_options(options, price, usual)
            asyncio.run(model_options.try_to_open(spec))
            if arm.run is None:
                run = start_arm(study.pk, arm.pk, plans[arm.pk], chosen)
            else:
                run = arm.run
                prepare_resume(run, chosen)
            self.stderr.write(f"Arm {arm.name}: run {run.pk}")
            if run.distributed:
                dispatch(run)
            with run_bar(run) as bar:
                execute_run(run, bar, Stop())
            run.refresh_from_db()
            runs.append({"arm": arm.name, "run": str(run.pk), "state": run.state})
            if run.state != Run.State.FINISHED:
                raise CommandError(
                    f"Run {run.pk} of arm {arm.name} is not finished. Resume with: manage.py study run {study.name}"
                )
        self._print(
            options, runs, "\n".join(f"{one['arm']}: run {one['run']} {one['state']}" for one in runs)
        )

    def _rehearse(self, options: dict[str, Any]) -> None:
        study = find_study(options["name"])
        held = rehearse(study, options["level"])
        study.refresh_from_db()
        text = f"{held} sessions of {study} were held by simulated tutors. The study is {study.state}."
        self._print(options, _state(study) | {"held": held}, text)

    def _look(self, options: dict[str, Any]) -> None:
        study = find_study(options["name"])
        found = TakeLook(None, study.pk).execute()
        figures = Figures.from_json(found.figures)
        document = {"decision": found.decision, "counted": found.counted, "figures": found.figures}
        text = f"{found.counted} complete pairs: {found.decision}. {figures.stop_reason}".strip()
        if figures.later_pairs:
            text += (
                f"\n{figures.later_pairs} later pairs are complete, but an earlier one waits for an outcome."
            )
        if figures.primary is not None:
            text += f"\n{_contrast_text(figures.primary)}"
        if figures.e_value is not None:
            text += f"\nE-value: {figures.e_value.value:.3g} (stops at {figures.e_value.threshold:g})"
        text += "".join(f"\nCorrected: {sentence}" for sentence in figures.corrections)
        self._print(options, document, text)

    def _stop(self, options: dict[str, Any]) -> None:
        study = StopStudy(None, find_study(options["name"]).pk, options["reason"]).execute()
        self._print(options, _state(study), f"{study} is stopped. Open sessions continue.")

    def _close(self, options: dict[str, Any]) -> None:
        study = CloseStudy(None, find_study(options["name"]).pk).execute()
        self._print(options, _state(study), f"{study} is closed.")

    def _export(self, options: dict[str, Any]) -> None:
        study = find_study(options["name"])
        folder = options["output"] or Path(f"study-{study.name}-v{study.version}")
        if study.state == Study.State.DRAFT:
            raise CommandError(f"{study} is a draft. Freeze it first.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} exists and is not an empty folder. Choose another with --output.")
        paths = [str(path) for path in export_study(study, folder)]
        self._print(options, {"files": paths}, "\n".join(paths))

    def _verify(self, options: dict[str, Any]) -> None:
        study = find_study(options["name"])
        if study.state == Study.State.DRAFT:
            raise CommandError(f"{study} is a draft. Freeze it first.")
        found = verify(study)
        text = (
            f"{found.rows} assignments of {study} computed again; {found.replacements} replacements checked."
        )
        self._print(options, found.to_json(), text if not found.faults else "\n".join(found.faults))
        if found.faults:
            raise CommandError(f"{len(found.faults)} differences: {study} is not as it was frozen.")


def _state(study: Study) -> dict[str, Any]:
    done, assigned = sessions_so_far(study)
    return {
        "name": study.name,
        "version": study.version,
        "state": study.state,
        "rehearsal": study.rehearsal,
        "done": done,
        "assigned": assigned,
    }


def _design(path: Path) -> Design:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    try:
        # JSON is YAML, so one parser reads both.
        return parse_design(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise CommandError(f"{path} is neither JSON nor YAML: {error}") from None


def _pairs(design: Design) -> int:
    """Return the number of pairs of the design on this site. Raises DesignError."""
    frozen = resolve(design).frozen
    return design.stopping.maximum or len(frozen.problems)


def _power_text(found: Power) -> str:
    hours = "unknown (--minutes)" if found.hours is None else f"{found.hours:.1f}"
    rows = [
        ("power", f"{100 * found.power:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"),
        ("mean half-width", f"{100 * found.half_width:.1f} points"),
        ("pairs used", f"{found.pairs_used:.1f} on average"),
        ("sessions of people", str(found.sessions)),
        ("hours of people", hours),
        ("simulated studies", str(found.studies)),
    ]
    return "\n".join([*aligned(rows), *([found.warning] if found.warning else [])])


def _contrast_text(one: Contrast) -> str:
    p = "not tested" if one.p is None else f"p = {one.p:.3g}"
    return (
        f"{one.first} minus {one.second}: {100 * one.difference:+.1f} points "
        f"({100 * one.low:+.1f} to {100 * one.high:+.1f}, {one.method}, {p}) on {one.problems} problems, "
        f"detectable from {100 * one.detectable:.0f} points"
    )
