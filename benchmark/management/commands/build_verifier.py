"""manage.py build_verifier: build verifiers from programs that a model writes, or from imported ones."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from benchmark.management.arguments import chosen_problems, find_dataset
from benchmark.management.commands import run_baseline
from benchmark.management.progress import progress_bar
from benchmark.methods import PROFILES, SettingsError, parse_settings
from benchmark.methods.algo import VerifierSettings
from benchmark.models import Problem, Run, Verifier
from benchmark.oracles.inputs import InputRecipe
from benchmark.oracles.store import build_imported, problems_without_oracle
from benchmark.reports import RunFigures
from benchmark.runner.judges import cores
from judge import SandboxUnavailableError
from judge.management.tables import aligned


class Command(run_baseline.Command):
    help = (
        "Build a verifier for each problem: a brute-force oracle that passes the samples, a validator, generators, and "
        "the resulting suite of tests. With --model a model writes the programs; this is a run of the method "
        "`verifier`, which resumes with --resume and pays for no program twice. With --imported the programs that were "
        "imported with the problems are used, and no call is made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--imported", action="store_true", help="build the verifiers whose programs were imported"
        )

    def handle(self, **options: Any) -> None:
        if options["method"]:
            raise CommandError("The method is `verifier`: leave --method out.")
        if options["imported"]:
            self._build_imported(options)
            return
        if not options["resume"]:
            options["method"] = "verifier"
        super().handle(**options)

    def _print_result(self, run: Run, figures: RunFigures, as_json: bool) -> None:
        built = list(
            run.verifiers.select_related("problem__dataset", "suite").order_by("problem__external_id")
        )
        facts = {"run": figures.run, "state": figures.state, "failed": figures.failed}
        self._print(built, as_json, **facts, left_out=run.manifest["left_out"])

    def _build_imported(self, options: dict[str, Any]) -> None:
        if options["model"] or options["resume"] or not options["dataset"]:
            raise CommandError("--imported takes --dataset, and neither --model nor --resume.")
        dataset = find_dataset(options["dataset"])
        problems = chosen_problems(dataset, options["problems"]) or dataset.problems.all()
        refused = problems_without_oracle(dataset)
        imported = [one for problem in problems if (one := _imported(problem))]
        if not imported:
            raise CommandError(f"No problem of {options['dataset']} was imported with an oracle.")
        skipped = {
            one.problem.external_id: refused[one.problem.external_id]
            for one in imported
            if one.problem.external_id in refused
        }
        latest = [one for one in imported if one.problem.external_id not in refused][: options["limit"]]
        if not latest:
            raise CommandError("\n".join(f"{name}: {reason}" for name, reason in skipped.items()))
        building = build_imported(latest, _recipe(options), cores())
        try:
            outcomes = list(progress_bar(building, total=len(latest), unit="verifier"))
        except SandboxUnavailableError as error:
            raise CommandError(str(error)) from None
        built = [one for one in outcomes if isinstance(one, Verifier)]
        faults = [str(one) for one in outcomes if not isinstance(one, Verifier)]
        self._print(
            built, options["json"], run=None, state="finished", failed=len(faults), left_out=_listed(skipped)
        )
        if faults:
            raise CommandError(
                "Some verifiers could not be built; the others are stored.\n" + "\n".join(faults)
            )

    def _print(self, built: list[Verifier], as_json: bool, **facts: Any) -> None:
        if as_json:
            document = {**facts, "verifiers": [_document(one) for one in built]}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        rows: list[tuple[str, ...]] = [("problem", "state", "tests", "dropped", "disputed", "invalid")]
        for one in built:
            counts = _document(one)
            numbers = (
                counts["tests"],
                sum(counts["dropped"].values()),
                counts["disputed"],
                counts["invalid"],
            )
            rows.append((one.problem.external_id, one.state, *map(str, numbers)))
        for line in aligned(rows):
            self.stdout.write(line)
        for one in built:
            for reason in one.record.get("rejected", []):
                self.stdout.write(f"Rejected: {one.problem.external_id}: {reason}")
        for entry in facts["left_out"]:
            self.stdout.write(f"Left out: {entry['id']}: {entry['reason']}")
        ready = sum(one.state == Verifier.State.READY for one in built)
        self.stdout.write(f"{ready} of {len(built)} problems have a verifier. {facts['failed']} failed.")


def _recipe(options: dict[str, Any]) -> InputRecipe:
    """Return the recipe of the settings and the profile."""
    profile = PROFILES[options["profile"]].settings_for("") if options["profile"] else []
    try:
        chosen = parse_settings(VerifierSettings, options["set"] or [], profile)
    except SettingsError as error:
        raise CommandError(str(error)) from None
    return chosen.recipe


def _listed(skipped: dict[str, str]) -> list[dict[str, str]]:
    return [{"id": name, "reason": reason} for name, reason in skipped.items()]


def _imported(problem: Problem) -> Verifier | None:
    return (
        problem.verifiers.filter(state=Verifier.State.PROGRAMS, problem_hash=problem.content_hash)
        .select_related("problem__dataset")
        .first()
    )


def _document(verifier: Verifier) -> dict[str, Any]:
    record = verifier.record
    return {
        "problem": verifier.problem.external_id,
        "state": verifier.state,
        "suite": verifier.suite.version if verifier.suite else None,
        "tests": verifier.suite.tests.count() if verifier.suite else 0,
        "inputs": record["inputs"],
        "dropped": record["dropped"],
        "disputed": len(record["disputed"]),
        "invalid": record["invalid"],
        "repeated": record["repeated"],
        "rejected": record.get("rejected", []),
        "answered_in": record["answered_in"],
    }
