"""The export of a study as one folder: design, rows, sessions, figures, texts, and the hash of every file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from accounts.pseudonyms import pseudonym
from tutoring.models import Session, Study
from tutoring.studies.analysis import StudyData, visible_figures
from tutoring.studies.design import parse_frozen
from tutoring.studies.flow import study_flow, terminal_box
from tutoring.studies.methods_text import methods_text
from tutoring.studies.preregistration import preregistration, preregistration_markdown
from tutoring.trajectories.json_lines import RECORDED, to_lines

MANIFEST = "MANIFEST.sha256"

_README = """\
# Study {name}, version {version}

| file | content |
| --- | --- |
| preregistration.md | the design, its analysis and its assumptions, as frozen |
| preregistration.json | the same; `sha256` is the hash of its other fields as canonical JSON |
| design.json | the frozen design{seed} |
| assignments.csv | every assignment, with its state and outcomes |
| deviations.csv, looks.json | every deviation and every look |
| flow.json | every assignment in one box |
| figures.json | the figures, or the reason why they are locked |
| sessions.jsonl | the recorded sessions of tutors; `manage.py import_trajectories` reads them |
| methods.md | a methods text, generated from these rows |
| {manifest} | the SHA-256 of every file, for `sha256sum -c` |

People have pseudonyms. Sessions hold what tutors and models wrote.
"""


def export_study(study: Study, folder: Path) -> list[Path]:
    """Write the study to an empty or new folder, and return the paths. Outcomes and the seed follow the locks.

    While the results are locked, the outcomes, the sessions and the figures are left out; the seed is left out until
    the study is closed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = StudyData.of(study)
    flow, figures = study_flow(study, data), visible_figures(study)
    ended = study.state in (Study.State.STOPPED, Study.State.CLOSED)
    closed = study.state == Study.State.CLOSED
    design: dict[str, Any] = {"sha256": study.design_hash, "design": parse_frozen(study.design).to_json()}
    if closed:
        design["seed"] = study.seed
    seed = " and the seed" if closed else "; the seed follows when the study is closed"
    locked = {"locked": "The results are locked until a look or the end of the study."}
    files: dict[str, str] = {
        "README.md": _README.format(name=study.name, version=study.version, seed=seed, manifest=MANIFEST),
        "preregistration.md": preregistration_markdown(study),
        "preregistration.json": _json(preregistration(study)),
        "design.json": _json(design),
        "assignments.csv": _csv(_assignments(data, with_outcomes=ended)),
        "deviations.csv": _csv(_deviations(study)),
        "looks.json": _json(_looks(study)),
        "flow.json": _json(flow.to_json()),
        "figures.json": _json(locked if figures is None else figures.to_json()),
        "methods.md": methods_text(study, flow, figures),
    }
    paths = []
    for name, text in files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8", newline="\n")
        paths.append(path)
    if ended:
        paths.append(_write_sessions(study, folder / "sessions.jsonl"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(paths)]
    (folder / MANIFEST).write_text("".join(lines), encoding="utf-8")
    return [*paths, folder / MANIFEST]


def _write_sessions(study: Study, path: Path) -> Path:
    sessions = (
        Session.objects.filter(assignment__study=study)
        .select_related("problem__dataset", "protocol", "tutor", "judgement")
        .prefetch_related(*RECORDED)
        .order_by("recorded_at", "pk")
    )
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(to_lines(sessions.iterator(200)))
    return path


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _name(person: User | None) -> str:
    return pseudonym(person) if person is not None else ""


def _assignments(data: StudyData, *, with_outcomes: bool) -> Iterator[Sequence[object]]:
    people = User.objects.in_bulk({row.tutor_id for row in data.rows if row.tutor_id is not None})
    names = {key: pseudonym(person) for key, person in people.items()}
    head = [
        "id",
        "arm",
        "problem",
        "replicate",
        "tutor",
        "order",
        "state",
        "box",
        "replaces",
        "session",
        "chain",
    ]
    times = ["offered_at", "opened_at", "ended_at"]
    outcomes = ["solved", "solved without major breach", "solved and compliant", "completed"]
    yield [*head, *times, *(outcomes if with_outcomes else [])]
    for row in data.rows:
        tutor = names.get(row.tutor_id, "") if row.tutor_id is not None else ""
        found = data.outcomes.get(row.pk)
        values: list[object] = []
        if with_outcomes:
            known = found.values if found else {}
            values = [known.get(name, "") for name in outcomes[:3]]
            values.append(int(found.completed) if found else "")
        moments = [getattr(row, name) for name in times]
        yield [
            row.pk,
            row.arm.name,
            str(row.problem),
            row.replicate,
            tutor,
            row.order,
            row.state,
            terminal_box(row, data),
            row.replaces_id or "",
            row.session_id or "",
            row.work_item_id or "",
            *(moment.isoformat() if moment else "" for moment in moments),
            *values,
        ]


def _deviations(study: Study) -> Iterator[Sequence[object]]:
    yield ["id", "at", "kind", "by", "reason", "data", "settles", "assignments"]
    for row in study.deviations.select_related("by").prefetch_related("assignments"):
        concerned = " ".join(str(one.pk) for one in row.assignments.all())
        data = json.dumps(row.data, ensure_ascii=False, sort_keys=True) if row.data else ""
        yield [
            row.pk,
            row.at.isoformat(),
            row.kind,
            _name(row.by),
            row.reason,
            data,
            row.settles_id or "",
            concerned,
        ]


def _looks(study: Study) -> list[dict[str, Any]]:
    return [
        {
            "at": row.at.isoformat(),
            "by": _name(row.by),
            "counted": row.counted,
            "decision": row.decision,
            "figures": row.figures,
        }
        for row in study.looks.select_related("by")
    ]
