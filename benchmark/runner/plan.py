"""Deciding what a run consists of, before anything is paid for."""

from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches

from django.db import transaction

from benchmark.methods import METHODS, Method, Sampling
from benchmark.models import Dataset, Problem, Run, TestCase, WorkItem
from benchmark.providers import ModelSpec
from benchmark.runner import leases
from benchmark.runner.manifest import dataset_hash, environment, make_manifest, template_hashes
from judge import ToolMissing, compiler_version, sandbox_status


class CannotRun(Exception):
    """The run cannot start or go on; the message says why and what to do."""


def start_run(
    dataset: Dataset,
    spec: ModelSpec,
    method: Method,
    settings: Sampling,
    *,
    attempts: int = 1,
    problem_ids: Sequence[str] = (),
    tier: str = "",
    limit: int | None = None,
) -> Run:
    """A new run with one pending item for each chosen problem and chain. Raises CannotRun.

    Problems without any test are left out and named in the manifest.
    """
    chosen = _choose(dataset, problem_ids, tier, limit)
    tested = set(
        TestCase.objects.filter(problem__dataset=dataset).values_list("problem_id", flat=True).distinct()
    )
    untested = [problem.external_id for problem in chosen if problem.pk not in tested]
    problems = [problem for problem in chosen if problem.pk in tested]
    if not problems:
        why = "none of the chosen problems has a test to judge with" if untested else "no problem was chosen"
        raise CannotRun(f"Nothing to run in {dataset.name}: {why}.")
    _check_judge(settings.language)
    manifest = make_manifest(dataset, spec, method, settings)
    manifest["left_out"] = [{"id": external_id, "reason": "it has no tests"} for external_id in untested]
    with transaction.atomic():
        run = Run.objects.create(
            dataset=dataset,
            method=method.name,
            model_spec=str(spec),
            parameters=asdict(settings),
            attempts=attempts,
            manifest=manifest,
        )
        WorkItem.objects.bulk_create(
            [
                WorkItem(run=run, problem=problem, chain=chain)
                for chain in range(attempts)
                for problem in problems
            ],
            batch_size=1000,
        )
    return run


def _choose(dataset: Dataset, problem_ids: Sequence[str], tier: str, limit: int | None) -> list[Problem]:
    problems = list(dataset.problems.only("external_id", "tier", "dataset").order_by())
    problems.sort(key=lambda problem: problem.external_id)
    if problem_ids:
        known = {problem.external_id for problem in problems}
        for unknown in [wanted for wanted in problem_ids if wanted not in known]:
            near = get_close_matches(unknown, known, n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise CannotRun(f"{dataset.name} has no problem {unknown!r}.{hint}")
        problems = [problem for problem in problems if problem.external_id in set(problem_ids)]
    if tier:
        problems = [problem for problem in problems if problem.tier == tier]
    return problems[:limit]


def _check_judge(language: str) -> None:
    """Refuse to pay for replies whose programs could not be judged here."""
    status = sandbox_status()
    if not status.available:
        raise CannotRun(f"Programs cannot be judged here: {status.problem}. {status.remedy}")
    try:
        compiler_version(language)
    except ToolMissing as error:
        raise CannotRun(str(error)) from None


def prepare_resume(run: Run) -> None:
    """Make everything that is not done pending again, failed items included. Raises CannotRun.

    A run only goes on with the problems and prompts it began with. Another version of the program or of the
    compiler is allowed and noted in the manifest.
    """
    if run.method not in METHODS:
        raise CannotRun(f"Run {run.pk} uses the method {run.method!r}, which this version does not have.")
    began = run.manifest
    if dataset_hash(run.dataset) != began["dataset"]["content_hash"]:
        raise CannotRun(
            f"The problems of {run.dataset.name} changed since run {run.pk} began, so its results would not "
            "belong together. Import the former version again, or start a new run."
        )
    changed = [
        name
        for name, digest in template_hashes(METHODS[run.method]).items()
        if began["templates"][name] != digest
    ]
    if changed:
        raise CannotRun(
            f"Prompt templates changed since run {run.pk} began: {', '.join(changed)}. "
            "Go back to the version it began with, or start a new run."
        )
    _check_judge(run.parameters["language"])
    now = environment(run.parameters["language"])
    with transaction.atomic():
        leases.free_lost(run)
        leases.retry_failed(run)
        if now != began.get("continued_in", [began["environment"]])[-1]:
            began["continued_in"] = [*began.get("continued_in", []), now]
        run.state = Run.State.OPEN
        run.finished_at = None
        run.save(update_fields=["manifest", "state", "finished_at"])
