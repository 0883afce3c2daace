"""Preregistration, verification and export of studies."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from tests.stack import REPOSITORY
from tests.tutoring.studies.conftest import FreezeFactory, begin, finish, hold_all, let_expire
from tutoring.models import Assignment, Study
from tutoring.studies.actions import OfferNext, designs
from tutoring.studies.design import canonical_json
from tutoring.studies.export import MANIFEST, export_study
from tutoring.studies.preregistration import preregistration, preregistration_markdown
from tutoring.studies.upkeep import advance_studies
from tutoring.studies.verification import verify


def test_the_preregistration_has_its_hash_and_no_seed(freeze: FreezeFactory):
    study = freeze(secondary_contrasts=[])
    record = preregistration(study)
    digest = record.pop("sha256")
    assert digest == hashlib.sha256(canonical_json(record).encode()).hexdigest()
    text = preregistration_markdown(study)
    assert digest in text
    assert study.seed not in text + json.dumps(record)
    assert "tutor-0" not in text, "tutors have pseudonyms"
    assert "## Assumptions" in text
    assert "practice/doubling" in text
    assert preregistration(study)["sha256"] == digest


def test_the_preregistration_of_an_e_value_names_its_rule(freeze: FreezeFactory):
    text = preregistration_markdown(freeze(stopping={"rule": "sign e-value"}))
    assert "reaches 20" in text
    assert "overstate the difference" in text


def test_every_row_is_computed_again(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    assert verify(study).faults == ()
    offered = OfferNext(tutors[0]).execute()
    assert offered is not None
    let_expire(offered)
    advance_studies()
    found = verify(study)
    assert (found.rows, found.replacements, found.faults) == (12, 1, ())


def test_a_changed_row_and_a_changed_design_are_found(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    one, other = study.assignments.filter(problem__external_id="doubling")
    Assignment.objects.filter(pk=other.pk).update(replicate=2)
    cell = f"of arm {other.arm.name} on {other.problem}"
    assert verify(study).faults == (
        f"No assignment is stored for number 1 {cell}.",
        f"A row of number 2 {cell} is stored, but the seed gives none.",
    )
    Assignment.objects.filter(pk=other.pk).update(replicate=1)
    Assignment.objects.filter(pk=one.pk).update(tutor=None)
    Assignment.objects.filter(pk=other.pk).update(tutor=one.tutor)
    Assignment.objects.filter(pk=one.pk).update(tutor=other.tutor)
    assert len(verify(study).faults) == 2
    study.design["design"]["expiry_days"] = 30
    study.save()
    assert "has not the hash" in verify(study).faults[0]


@pytest.mark.slow
def test_the_export_follows_the_locks(freeze: FreezeFactory, tutors: list[User], tmp_path: Path):
    study = freeze()
    finish(begin(tutors[0]), solved=True)
    paths = export_study(study, tmp_path / "running")
    names = {path.name for path in paths}
    assert "sessions.jsonl" not in names
    everything = "".join(path.read_text() for path in paths)
    assert study.seed not in everything
    assert "locked" in (tmp_path / "running/figures.json").read_text()
    assert "solved and compliant" not in (tmp_path / "running/assignments.csv").read_text()

    hold_all(tutors, solved=lambda one: one.arm.name == "arm-0")
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.CLOSED
    folder = tmp_path / "closed"
    export_study(study, folder)
    for line in (folder / MANIFEST).read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert json.loads((folder / "design.json").read_text())["seed"] == study.seed
    rows = list(csv.DictReader((folder / "assignments.csv").open()))
    assert len(rows) == 12
    assert {row["box"] for row in rows} == {"analysed"}
    assert len((folder / "sessions.jsonl").read_text().splitlines()) == 12
    text = (folder / "methods.md").read_text()
    for heading in ("Design", "Arms", "Analysis", "Result", "Deviations", "Limitations", "References"):
        assert f"### {heading}" in text
    everything = "".join(path.read_text() for path in folder.iterdir())
    assert "tutor-0" not in everything


def test_equal_studies_give_equal_bytes(
    freeze: FreezeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Freeze one design at one moment twice with the same seed, and once with another one."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)

    def export(folder: Path, seed: str) -> bytes:
        monkeypatch.setattr(designs, "secrets", SimpleNamespace(token_hex=lambda _: seed))
        with transaction.atomic():
            export_study(freeze(), folder)
            transaction.set_rollback(True)
        return (folder / MANIFEST).read_bytes()

    first = export(tmp_path / "first", "a" * 64)
    assert export(tmp_path / "equal", "a" * 64) == first
    assert export(tmp_path / "other", "b" * 64) != first


def test_the_published_recipe_checks_an_exported_preregistration(
    freeze: FreezeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Run the program of docs/studies.md in the folder of an export, and on a changed copy."""
    [recipe] = re.findall(
        r"```python\n(import hashlib.*?)```", (REPOSITORY / "docs" / "studies.md").read_text(), re.DOTALL
    )
    export_study(freeze(title="Хинты — 提示"), tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(recipe, {})
    assert capsys.readouterr().out == "True\n"
    record = json.loads(Path("preregistration.json").read_text())
    Path("preregistration.json").write_text(json.dumps(record | {"study": "another"}))
    exec(recipe, {})
    assert capsys.readouterr().out == "False\n"
