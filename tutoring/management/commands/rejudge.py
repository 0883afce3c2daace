"""manage.py rejudge: judge stored programs again, compare the verdicts, and apply or discard the new ones."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.judging import (
    RejudgingError,
    RejudgingEstimate,
    apply_rejudging,
    changes_of,
    discard_rejudging,
    enqueue_rejudging,
    estimate,
    perform_all,
    progress_of,
    refusal_to_apply,
    request_rejudging,
    retry_failed,
)
from benchmark.management.arguments import find_dataset, find_problem, find_run, positive
from benchmark.management.progress import progress_bar
from benchmark.models import Rejudging
from benchmark.runner import QueueUnavailableError
from benchmark.runner import connected_workers as workers_of_queue
from judge.management.tables import aligned
from tutoring.management.arguments import find_session, find_study
from tutoring.rejudging.comparison import (
    PlaceComparison,
    RejudgingComparison,
    changed_programs,
    compare_verdicts,
)
from tutoring.rejudging.selection import SelectedPrograms, Selection, select_programs
from tutoring.rejudging.wording import change_lines, duration, program_document, transition_text

_LOOK_INTERVAL = 1.0
"""Seconds between two looks at the progress of the workers."""

_SHOWN = 30
"""The most changed programs, or sessions, that the text lists; `--json` lists all."""


class Command(BaseCommand):
    help = (
        "Judge stored programs of runs and sessions again, after a test, a checker or a limit was corrected. Without "
        "--reason, show how many programs are selected and about how long they take. With --reason, judge them, keep "
        "the former verdicts, and compare both. Nothing else changes before --apply. Without any option, list all "
        "rejudgings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        selection = parser.add_argument_group("selection")
        selection.add_argument(
            "--problem",
            action="append",
            default=[],
            metavar="DATASET/ID",
            help="only programs for this problem; may be repeated",
        )
        selection.add_argument(
            "--dataset",
            action="append",
            default=[],
            metavar="NAME",
            help="only programs for problems of this dataset; may be repeated",
        )
        selection.add_argument(
            "--run",
            action="append",
            default=[],
            metavar="RUN",
            help="only programs of this run; may be repeated",
        )
        selection.add_argument(
            "--study",
            action="append",
            default=[],
            metavar="NAME@VERSION",
            help="only programs of the sessions and runs of this study; may be repeated",
        )
        selection.add_argument(
            "--session",
            action="append",
            default=[],
            metavar="ID",
            help="only programs of this session; may be repeated",
        )
        parser.add_argument(
            "--reason", help="begin a rejudging of the selection; why the verdicts may change"
        )
        parser.add_argument(
            "--inline", action="store_true", help="judge in this process instead of the workers"
        )
        parser.add_argument(
            "--jobs",
            type=positive,
            default=len(os.sched_getaffinity(0)),
            metavar="N",
            help="with --inline: programs judged at once; more than the number of cores distorts their times "
            "(default: the cores)",
        )
        action = parser.add_mutually_exclusive_group()
        action.add_argument(
            "--resume",
            type=positive,
            metavar="ID",
            help="continue an interrupted rejudging until it is complete; faults of the judge are tried again",
        )
        action.add_argument("--show", type=positive, metavar="ID", help="compare former and new verdicts")
        action.add_argument("--apply", type=positive, metavar="ID", help="make the new verdicts count")
        action.add_argument("--discard", type=positive, metavar="ID", help="keep the former verdicts")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        try:
            self._handle(options)
        except RejudgingError as error:
            raise CommandError(str(error)) from None

    def _handle(self, options: dict[str, Any]) -> None:
        selection = _selection(options)
        decided = next((name for name in ("resume", "show", "apply", "discard") if options[name]), None)
        if decided and (selection != Selection() or options["reason"] is not None):
            raise CommandError(f"--{decided} takes no selection and no --reason.")
        if decided:
            getattr(self, f"_{decided}")(_find(options[decided]), options)
        elif selection == Selection() and options["reason"] is None:
            self._list(options)
        else:
            self._select(selection, options)

    def _print(self, options: dict[str, Any], document: object, text: str) -> None:
        self.stdout.write(json.dumps(document, ensure_ascii=False) if options["json"] else text)

    def _list(self, options: dict[str, Any]) -> None:
        rows = list(Rejudging.objects.select_related("requested_by"))
        documents = [_document(row) for row in rows]
        table = [("id", "requested", "state", "judged", "reason")]
        table += [
            (
                str(row.pk),
                f"{row.requested_at:%Y-%m-%d %H:%M}",
                row.state,
                f"{one['judged']} of {one['programs_to_judge']}",
                row.reason,
            )
            for row, one in zip(rows, documents, strict=True)
        ]
        self._print(options, documents, "\n".join(aligned(table)) if rows else "There is no rejudging yet.")

    def _select(self, selection: Selection, options: dict[str, Any]) -> None:
        selected = select_programs(selection)
        work = estimate(selected.places)
        changes = changes_of(selected.places)
        reason: str | None = options["reason"]
        workers = options["jobs"] if options["inline"] else _workers(required=reason is not None)
        if reason is None:
            self._print(
                options,
                _plan_document(selected, work, changes, workers),
                "\n".join(
                    [
                        *_plan_lines(selected, work, changes, workers),
                        "Begin with --reason TEXT. Nothing is judged yet.",
                    ]
                ),
            )
            return
        for line in _plan_lines(selected, work, changes, workers):
            self.stderr.write(line)
        rejudging = request_rejudging(selected.places, reason=reason, selection=selection.to_json(), by=None)
        self.stderr.write(
            f"Rejudging {rejudging.pk}. An interrupted one is continued with --resume {rejudging.pk}."
        )
        self._judge(rejudging, options)

    def _resume(self, rejudging: Rejudging, options: dict[str, Any]) -> None:
        if rejudging.state != Rejudging.State.OPEN:
            raise CommandError(f"Rejudging {rejudging.pk} is {rejudging.state}.")
        retry_failed(rejudging)
        if not options["inline"]:
            _workers(required=True)
        self._judge(rejudging, options)

    def _judge(self, rejudging: Rejudging, options: dict[str, Any]) -> None:
        """Judge the programs here or wait for the workers, with a progress bar; then show the comparison."""
        progress = progress_of(rejudging)
        begun = progress.done + progress.failed
        with progress_bar(total=progress.total, initial=begun, unit="program") as bar:

            def update() -> bool:
                now = progress_of(rejudging)
                bar.update(now.done + now.failed - bar.n)
                return now.finished

            if options["inline"]:
                perform_all(rejudging, options["jobs"], update)
            else:
                enqueue_rejudging(rejudging)
                while not update():
                    time.sleep(_LOOK_INTERVAL)
        self._show(rejudging, options)

    def _show(self, rejudging: Rejudging, options: dict[str, Any]) -> None:
        found = compare_verdicts(rejudging, None)
        changed = changed_programs(rejudging, None)
        document = {
            **_document(rejudging),
            "comparison": found.to_json(),
            "changed_programs": [program_document(row) for row in changed] if options["json"] else [],
        }
        lines = [*_comparison_lines(found)]
        shown = [program_document(row) for row in changed[:_SHOWN]]
        lines += ["", *_program_lines(shown, found.changed)] if shown else []
        if rejudging.state == Rejudging.State.OPEN:
            refusal = refusal_to_apply(rejudging)
            following = (
                f"It cannot be applied now: {refusal}"
                if refusal
                else (
                    f"The former verdicts count. --apply {rejudging.pk} makes the new ones count, "
                    f"--discard {rejudging.pk} keeps the former ones."
                )
            )
            lines += ["", following]
        else:
            lines += ["", f"Rejudging {rejudging.pk} is {rejudging.state}."]
        self._print(options, document, "\n".join([*_head_lines(rejudging), *lines]))

    def _apply(self, rejudging: Rejudging, options: dict[str, Any]) -> None:
        applied = apply_rejudging(rejudging.pk, None)
        self._print(
            options, _document(applied), f"Rejudging {applied.pk} is applied. The new verdicts count."
        )

    def _discard(self, rejudging: Rejudging, options: dict[str, Any]) -> None:
        discarded = discard_rejudging(rejudging.pk, None)
        self._print(
            options,
            _document(discarded),
            f"Rejudging {discarded.pk} is discarded. The former verdicts count.",
        )


def _workers(*, required: bool) -> int:
    """Return the number of workers; one is assumed without any. Raises CommandError if one is required."""
    try:
        return workers_of_queue()
    except QueueUnavailableError:
        if required:
            raise CommandError(
                "No worker can be reached. Start Hintbench (./run) or a worker (manage.py worker), or judge in this "
                "process with --inline."
            ) from None
        return 1


def _selection(options: dict[str, Any]) -> Selection:
    problems = []
    for name in options["problem"]:
        dataset, _, external_id = name.partition("/")
        if not external_id:
            raise CommandError(
                f"--problem takes DATASET/ID. For all problems of a dataset: --dataset {dataset}."
            )
        problems.append(find_problem(find_dataset(dataset), external_id))
    return Selection(
        problems=tuple(problems),
        datasets=tuple(find_dataset(name) for name in options["dataset"]),
        runs=tuple(find_run(name) for name in options["run"]),
        studies=tuple(find_study(name) for name in options["study"]),
        sessions=tuple(find_session(name) for name in options["session"]),
    )


def _find(number: int) -> Rejudging:
    rejudging = Rejudging.objects.filter(pk=number).first()
    if rejudging is None:
        known = (
            ", ".join(map(str, Rejudging.objects.order_by("pk").values_list("pk", flat=True))) or "none yet"
        )
        raise CommandError(f"There is no rejudging {number}. Rejudgings: {known}.")
    return rejudging


def _document(rejudging: Rejudging) -> dict[str, Any]:
    progress = progress_of(rejudging)
    return {
        "id": rejudging.pk,
        "state": rejudging.state,
        "reason": rejudging.reason,
        "selection": rejudging.selection,
        "requested_by": rejudging.requested_by.get_username() if rejudging.requested_by else None,
        "requested_at": rejudging.requested_at.isoformat(),
        "decided_by": rejudging.decided_by.get_username() if rejudging.decided_by else None,
        "decided_at": rejudging.decided_at.isoformat() if rejudging.decided_at else None,
        "programs_to_judge": progress.total,
        "judged": progress.done,
        "faults": progress.failed,
        "changes": rejudging.changes,
    }


def _plan_document(
    selected: SelectedPrograms, work: RejudgingEstimate, changes: list[dict[str, Any]], workers: int
) -> dict[str, Any]:
    return {
        "judgements": work.judgements,
        "programs_to_judge": work.programs,
        "seconds": None if work.seconds is None else work.seconds / workers,
        "workers": workers,
        "runs": selected.runs,
        "sessions": selected.sessions,
        "studies": selected.studies,
        "left_out": [{"reason": reason, "count": count} for reason, count in selected.left_out],
        "changes": changes,
    }


def _plan_lines(
    selected: SelectedPrograms, work: RejudgingEstimate, changes: list[dict[str, Any]], workers: int
) -> list[str]:
    lines = [
        f"{work.judgements} stored verdicts in {selected.runs} runs, {selected.sessions} sessions and "
        f"{selected.studies} studies; {work.programs} programs to judge, {duration(work.seconds, workers)}."
    ]
    lines += [f"Left out: {count} {reason}." for reason, count in selected.left_out]
    return lines + change_lines(changes)


def _head_lines(rejudging: Rejudging) -> list[str]:
    return [f"Rejudging {rejudging.pk}: {rejudging.reason}", *change_lines(rejudging.changes), ""]


def _comparison_lines(found: RejudgingComparison) -> list[str]:
    lines = [f"{found.changed} of {found.programs} verdicts change: {transition_text(found.transitions)}."]
    if found.waiting:
        lines.append(f"{found.waiting} programs are not judged yet.")
    if found.faults:
        lines.append(f"{found.faults} programs could not be judged; their former verdict remains.")
    for title, places in (("run", found.runs), ("study", found.studies), ("session", found.sessions)):
        if places:
            lines += ["", *_place_lines(title, places)]
    for study in found.hidden:
        lines.append(f"{study.programs} programs of {study.name} are not shown: its results are locked.")
    return lines


def _place_lines(title: str, places: tuple[PlaceComparison, ...]) -> list[str]:
    shown = [one for one in places if one.changed or one.others] if title == "session" else list(places)
    rows = [(title, "outcomes", "changed", "verdicts", "other changes")]
    rows += [
        (
            one.name,
            str(one.outcomes),
            str(one.changed),
            transition_text(one.changes) if one.changes else "-",
            str(one.others),
        )
        for one in shown[:_SHOWN]
    ]
    unchanged = len(places) - len(shown)
    more = [f"{len(shown) - _SHOWN} more {title}s change."] if len(shown) > _SHOWN else []
    more += [f"{unchanged} {title}s do not change."] if unchanged else []
    return ([*aligned(rows)] if shown else []) + more


def _program_lines(programs: list[dict[str, Any]], changed: int) -> list[str]:
    rows = [("program", "problem", "former", "new", "tests passed", "")]
    rows += [
        (
            one["place"],
            one["problem"],
            one["former"]["verdict"],
            one["verdict"]["verdict"],
            f"{one['former']['passed']} → {one['verdict']['passed']} of {one['verdict']['total']}",
            "near the limit" if one["near_limit"] else "",
        )
        for one in programs
    ]
    more = [f"{changed - len(programs)} more; --json lists all."] if changed > len(programs) else []
    return [*aligned(rows), *more]
