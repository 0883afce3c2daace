"""Export and import of runs: same bytes again, pages and figures of imported runs, refusals, and secrets."""

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test import Client
from pytest_django import Settings

from benchmark.judging import copy_of
from benchmark.model_calls.reply_cache import find_paid
from benchmark.models import (
    CachedRunReport,
    Dataset,
    DrawCounter,
    Generation,
    Judgement,
    LanguageModel,
    Problem,
    Run,
    RunTutor,
    Submission,
    WorkItem,
)
from benchmark.reports import RunFigures, compare, run_report
from benchmark.runner import CannotRunError, RunOptions, prepare_resume
from benchmark.transfer import exporting, records
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture
from tests.benchmark.runs.processes import run_apart, use_var
from tests.postgres import Postgres

FINISHED = {"state": "finished", "finished_at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)}
COMMIT = "1f" * 20


def transfer(run: str, *arguments: str) -> dict[str, Any]:
    """Return the JSON document of a command."""
    out = StringIO()
    call_command(run, *arguments, "--json", stdout=out)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def clear() -> None:
    """Remove everything that an import writes: an empty site."""
    CachedRunReport.objects.all().delete()
    Generation.objects.filter(reused__isnull=False).delete()
    WorkItem.objects.update(selected=None)
    Judgement.objects.update(replaces=None)
    for table in (
        Generation,
        WorkItem,
        Judgement,
        Submission,
        Run,
        DrawCounter,
        LanguageModel,
        Problem,
        Dataset,
    ):
        table.objects.all().delete()


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def run(make_run: MakeRun) -> Run:  # noqa: F811
    """A run with several chains, verdicts, a failed item, unusual texts and a row of its model."""
    model = LanguageModel.objects.create(
        label="four", spec="openai:gpt-4-1106-preview", parameters={"temperature": 0.7, "seed": 3},
        price={"input": 10.0, "output": 30}, cutoff=date(2023, 4, 30),
    )  # fmt: skip
    found = make_run(
        [("bronze", ["AC", "WA"]), ("gold", ["WA", "NO_CODE"]), ("", ["fault", "TLE"])],
        model="openai:gpt-4-1106-preview",
        contests=[("March", date(2022, 3, 1)), ("December", date(2023, 12, 1)), ("", None)],
        tags=[["dp"], ["dp", "a & b"], []],
        price={"input": 10.0, "output": 30.0},
        first_draw=4,
        **FINISHED,
    )
    found.model = model
    found.manifest |= {
        "environment": {"git": {"commit": COMMIT, "dirty": False}},
        "b": 1,
        "aa": [1.0, 1e-7, 12],
    }
    found.save()
    for problem in found.dataset.problems.all():
        problem.content_hash = hashlib.sha256(problem.external_id.encode()).hexdigest()
        problem.statement = "canary-statement"
        problem.statement_format = "usaco"
        problem.save()
    reply = Generation.objects.order_by("pk").first()
    assert reply
    reply.text = 'Zoë says "ß" \\u0000 🙂\n\tend'
    reply.cache_key = "c" * 64
    reply.retrieval = {"episodic": {"hits": [{"id": "1", "score": 2.5}]}, "B": None, "a": -0.25}
    reply.sample_judgement = reply.hidden_judgement = Judgement.objects.earliest("pk")
    reply.save()
    return found


def round_trip(tmp_path: Path, *runs: Run) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the files of an export, and those of an export after an import on an empty site."""
    names = [str(run.pk) for run in runs]
    transfer("export_run", *names, "--output", str(tmp_path / "first"))
    clear()
    assert transfer("import_run", str(tmp_path / "first"))["imported"] == sorted(names)
    transfer("export_run", *names, "--output", str(tmp_path / "second"))
    return content(tmp_path / "first"), content(tmp_path / "second")


def figures(run: Run) -> RunFigures:
    return run_report(Run.objects.select_related("dataset").get(pk=run.pk))


def test_an_import_on_an_empty_site_exports_the_same_bytes(run: Run, tmp_path: Path) -> None:
    before = figures(run)
    first, second = round_trip(tmp_path, run)
    assert first == second
    assert len(first) == 7
    after = figures(run)
    assert after.groups == before.groups
    assert (after.verdicts, after.tokens, after.cost, after.faults, after.finishes, after.manifest) == (
        before.verdicts, before.tokens, before.cost, before.faults, before.finishes, before.manifest,
    )  # fmt: skip
    imported = Run.objects.get(pk=run.pk)
    assert imported.source is not None
    assert imported.source.keys() == {"site", "version", "content_hash", "imported_at"}
    assert (imported.source["site"], imported.source["version"]) == ("testserver", COMMIT)
    assert imported.started_at == run.started_at
    model = imported.model
    assert model
    assert (model.label, model.version, model.cutoff, model.active) == ("four", 1, date(2023, 4, 30), False)
    assert model.frozen_at


@pytest.mark.slow
def test_former_judgements_are_exported_with_those_that_replaced_them(run: Run, tmp_path: Path) -> None:
    item = run.items.filter(judgement__verdict="AC")[0]
    for verdict in ("WA", "TLE"):
        former = item.judgement
        assert former is not None
        Judgement.objects.filter(pk=former.pk).update(counts=False)
        item.judgement = copy_of(former)
        item.judgement.verdict, item.judgement.replaces, item.judgement.counts = verdict, former, True
        item.judgement.save()
        item.save()
    Run.objects.update(rejudged_at=datetime(2026, 2, 3, tzinfo=UTC))
    first, second = round_trip(tmp_path, run)
    assert first == second
    imported = run.items.get(judgement__replaces__replaces__isnull=False).judgement
    assert imported is not None
    assert (imported.verdict, imported.counts, imported.first_verdict.verdict) == ("TLE", True, "AC")
    assert not imported.first_verdict.counts
    assert "A rejudging replaced verdicts on 2026-02-03." in " ".join(figures(run).warnings)


@pytest.mark.slow
def test_the_order_of_the_arguments_and_of_the_rows_does_not_change_the_bytes(
    run: Run,
    make_run: MakeRun,  # noqa: F811
    tmp_path: Path,
) -> None:
    other = make_run([("bronze", ["AC"])], on=run, **FINISHED)
    for names, folder in (([run, other], "one"), ([other, run, run], "two")):
        transfer("export_run", *(str(one.pk) for one in names), "--output", str(tmp_path / folder))
    assert content(tmp_path / "one") == content(tmp_path / "two")
    first, second = content(tmp_path / "one"), round_trip(tmp_path, run, other)
    assert second == (first, first)


def test_no_statement_hidden_text_or_cache_key_leaves(run: Run, tmp_path: Path) -> None:
    transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"))
    exported = b"".join(content(tmp_path / "out").values())
    for word in (b"canary-statement", b"canary-hidden", b"c" * 64):
        assert word not in exported
    assert b"canary-sample-message" in exported
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_repeated_replies_are_exported_with_the_run_that_paid_for_them(
    run: Run,
    make_run: MakeRun,  # noqa: F811
    tmp_path: Path,
) -> None:
    other = make_run([("bronze", ["AC"])], on=run, **FINISHED)
    paid = Generation.objects.filter(work_item__run=run).order_by("-pk").first()
    Generation.objects.filter(work_item__run=other).update(reused=paid)
    with pytest.raises(CommandError, match=f"Export them together: add {run.pk}"):
        transfer("export_run", str(other.pk), "--output", str(tmp_path / "out"))
    assert not list(tmp_path.iterdir())
    before = figures(other).replies_repeated
    first, second = round_trip(tmp_path, run, other)
    assert first == second
    assert figures(other).replies_repeated == before == 1

    Generation.objects.filter(work_item__run=other).delete()
    other.items.all().delete()
    CachedRunReport.objects.filter(run=other).delete()
    Run.objects.filter(pk=other.pk).delete()
    again = transfer("import_run", str(tmp_path / "first"))
    assert (again["imported"], again["unchanged"]) == ([str(other.pk)], [str(run.pk)])
    transfer("export_run", str(run.pk), str(other.pk), "--output", str(tmp_path / "third"))
    assert content(tmp_path / "third") == first


def test_a_second_import_changes_nothing_and_says_so(run: Run, tmp_path: Path, capsys: Any) -> None:
    transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"))
    assert transfer("import_run", str(tmp_path / "out"))["unchanged"] == [str(run.pk)]
    own = Run.objects.get(pk=run.pk)
    assert own.source is None
    clear()
    transfer("import_run", str(tmp_path / "out"))
    rows = [
        table.objects.count() for table in (Run, Generation, Judgement, Submission, Problem, LanguageModel)
    ]
    call_command("import_run", str(tmp_path / "out"))
    assert capsys.readouterr().out.splitlines()[-1] == f"Run {run.pk} is here already. Nothing was changed."
    assert rows == [
        table.objects.count() for table in (Run, Generation, Judgement, Submission, Problem, LanguageModel)
    ]


def test_problems_of_the_same_content_are_those_of_this_site(run: Run, tmp_path: Path) -> None:
    transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"))
    dataset = run.dataset
    CachedRunReport.objects.all().delete()
    WorkItem.objects.update(selected=None)
    for table in (Generation, WorkItem, Run):
        table.objects.all().delete()
    transfer("import_run", str(tmp_path / "out"))
    imported = Run.objects.get(pk=run.pk)
    assert imported.dataset == dataset
    assert Dataset.objects.count() == 1


@pytest.mark.slow
def test_runs_on_copies_of_a_dataset_are_compared_where_the_problems_agree(
    run: Run,
    make_run: MakeRun,  # noqa: F811
    tmp_path: Path,
    researcher: Client,
) -> None:
    transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"), "--site", "lab.example")
    name = run.dataset.name
    clear()
    own = make_run([("bronze", ["AC", "AC"]), ("gold", ["AC", "AC"])], **FINISHED)
    Dataset.objects.filter(pk=own.dataset_id).update(name=name)
    for problem in Problem.objects.filter(dataset=own.dataset_id):
        problem.content_hash = hashlib.sha256(problem.external_id.encode()).hexdigest()
        if problem.external_id == "1":
            problem.content_hash = "0" * 64  # changed since
        problem.save()
    transfer("import_run", str(tmp_path / "out"))
    imported = Run.objects.get(pk=run.pk)
    assert (imported.dataset.name, imported.dataset.known_as) == (f"{name}-imported", name)
    own.refresh_from_db()
    [pair] = compare([own, imported]).pairs
    assert pair.problems == 1
    assert (pair.first_value, pair.value) == (1.0, 0.5)
    assert any("same identifier and content" in one for one in pair.warnings)
    assert any("imported from lab.example" in one for one in pair.warnings)
    assert "imported from lab.example" in pair.label
    both = f"run={own.pk}&run={imported.pk}"
    assert "1 of 4 problems" in researcher.get(f"/runs/matrix/?{both}&both=1").content.decode()
    assert b"imported from lab.example" in researcher.get(f"/runs/compare/?{both}").content


@pytest.mark.slow
def test_paid_replies_of_other_sites_are_no_cache_hits_and_draws_stay_fresh(run: Run, tmp_path: Path) -> None:
    round_trip(tmp_path, run)
    assert not Generation.objects.exclude(cache_key="").exists()
    assert find_paid(Generation, ["c" * 64]) == [None]
    assert DrawCounter.objects.get(pk=run.model_spec).last == 4


@pytest.mark.slow
def test_an_imported_run_is_not_resumed_or_judged_again(run: Run, tmp_path: Path) -> None:
    round_trip(tmp_path, run)
    imported = Run.objects.get(pk=run.pk)
    with pytest.raises(CannotRunError, match="was imported from testserver; its record does not change here"):
        prepare_resume(imported, RunOptions())
    for command in (["judge_answers", str(run.pk)], ["run_baseline", "--resume", str(run.pk)]):
        with pytest.raises(CommandError, match="was imported from testserver"):
            call_command(*command)


def test_runs_that_cannot_be_exported_are_refused(
    run: Run,
    make_run: MakeRun,  # noqa: F811
    tmp_path: Path,
) -> None:
    output = str(tmp_path / "out")
    going = make_run([("bronze", [""])])
    with pytest.raises(CommandError, match="is open: its rows still change"):
        transfer("export_run", str(going.pk), "--output", output)
    building = make_run([("bronze", ["AC"])], method="verifier", **FINISHED)
    with pytest.raises(CommandError, match="builds verifiers"):
        transfer("export_run", str(building.pk), "--output", output)
    mistyped = str(run.pk)[:-1] + ("0" if str(run.pk)[-1] != "0" else "1")
    for name in (mistyped, "", "nonsense"):
        with pytest.raises(CommandError, match="There is no run") as refused:
            transfer("export_run", name, "--output", output)
        assert ("Did you mean" in str(refused.value)) is (name == mistyped)
    (tmp_path / "there").mkdir()
    with pytest.raises(CommandError, match=r"exists\. Name a new folder"):
        transfer("export_run", str(run.pk), "--output", str(tmp_path / "there"))
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("place", ["manifest", "reply", "parameters", "model"])
def test_keys_and_addresses_do_not_leave(run: Run, tmp_path: Path, settings: Settings, place: str) -> None:
    settings.OPENAI_API_KEY = "key-1234567890"
    settings.COMPATIBLE_BASE_URL = "http://models.lab.internal:8080/v1"
    secret = settings.OPENAI_API_KEY
    match place:
        case "manifest":
            run.manifest["note"] = settings.COMPATIBLE_BASE_URL
        case "parameters":
            run.parameters["note"] = "sk-" + "a" * 20
        case "model":
            assert run.model
            LanguageModel.objects.filter(pk=run.model.pk).update(
                parameters={"extra": {"url": "https://else.where"}}
            )
            run.model.refresh_from_db()
        case "reply":
            Generation.objects.update(text=f"the key is {secret}")
    run.save()
    with pytest.raises(CommandError, match="keys and addresses do not leave this site") as refused:
        transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"))
    assert secret not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_addresses_in_faults_are_masked(run: Run, tmp_path: Path, settings: Settings) -> None:
    settings.COMPATIBLE_BASE_URL = "http://models.lab.internal:8080/v1"
    run.items.filter(state="failed").update(fault=f"no answer from {settings.COMPATIBLE_BASE_URL}")
    transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"))
    exported = b"".join(content(tmp_path / "out").values())
    assert b"models.lab.internal" not in exported
    assert b"no answer from [address]" in exported


Change = Callable[[Path, Path], None]


def _replace(name: str, old: str, new: str, *, seal: bool = True) -> Change:
    def change(folder: Path, run: Path) -> None:
        path = folder / name if name == "manifest.json" else run / name
        text = path.read_text()
        assert old in text, text[:500]
        path.write_text(text.replace(old, new, 1))
        if seal and name != "manifest.json":
            _seal(folder)

    return change


def _seal(folder: Path) -> None:
    """Make the manifest fit the files again, as somebody who forges them would."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in manifest["files"]:
        written = (folder / file["name"]).read_bytes()
        file |= {
            "bytes": len(written), "rows": written.count(b"\n"), "sha256": hashlib.sha256(written).hexdigest(),
        }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _truncate(folder: Path, run: Path) -> None:
    path = run / "generations.jsonl"
    path.write_bytes(path.read_bytes()[:-100])


def _add_file(folder: Path, run: Path) -> None:
    (folder / "notes.txt").write_text("hello")


def _link(folder: Path, run: Path) -> None:
    path = run / "items.jsonl"
    target = path.rename(folder.parent / "elsewhere.jsonl")
    path.symlink_to(target)


def _drop_last_reply(folder: Path, run: Path) -> None:
    path = run / "generations.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    _seal(folder)


REFUSED: dict[str, tuple[Change, str]] = {
    "truncated": (_truncate, r"generations\.jsonl: [\d,]+ bytes instead of [\d,]+; the file is truncated"),
    "altered": (_replace("generations.jsonl", "I say WA", "I say AC", seal=False), "sha256 differs .* is altered"),
    "newer": (_replace("manifest.json", "hintbench-run/1", "hintbench-run/2"), "Import it with a newer version"),
    "foreign": (_replace("manifest.json", "hintbench-run/1", "trajectory"), "format is 'trajectory'"),
    "no JSON": (_replace("manifest.json", "{", "{,"), r"manifest\.json: not JSON"),
    "outside": (_replace("manifest.json", "/items.jsonl", "/../items.jsonl"), r"manifest\.json: files\.\d\.name"),
    "unlisted": (_replace("manifest.json", "/items.jsonl", "/things.jsonl"), r"items\.jsonl is missing from the list"),
    "absurd size": (_replace("manifest.json", '"bytes": ', '"bytes": 9999999999999'), "less than or equal"),
    "later replacement": (
        _replace("judgements.jsonl", '"replaces":null', '"replaces":1'),
        r"judgements\.jsonl, line 1: replaces: line 1 does not precede it",
    ),
    "extra file": (_add_file, r"notes\.txt: the manifest does not name this file"),
    "link": (_link, r"items\.jsonl: the manifest names this file, but there is none"),
    "unknown field": (_replace("items.jsonl", '"chain"', '"chian"'), r"items\.jsonl, line 1: chain: Field required"),
    "not a line of JSON": (_replace("items.jsonl", "{", "["), r"items\.jsonl, line 1: Invalid JSON"),
    "unknown problem": (_replace("items.jsonl", '"problem":"0"', '"problem":"9"'), "problem: '9' is not in"),
    "dangling judgement": (_replace("items.jsonl", '"judgement":1', '"judgement":99'), "there is no line 99 in judg"),
    "dangling submission": (_replace("judgements.jsonl", '"submission":1', '"submission":77'), "no line 77 in subm"),
    "dangling item": (_replace("generations.jsonl", '"item":1,', '"item":60,'), "there is no line 60 in items"),
    "selected step": (_drop_last_reply, r"items\.jsonl, line \d: selected: it has no step 0"),
    "step": (_replace("generations.jsonl", '"step":0', '"step":3'), "step: 3 instead of 0"),
    "too large": (_replace("generations.jsonl", '"input_tokens":100', '"input_tokens":1e12'), "input_tokens"),
    "other problem": (_replace("submissions.jsonl", '"problem":"0"', '"problem":"1"'), "judges a program for '1'"),
    "repeats nothing": (
        _replace("generations.jsonl", '"reused":null', f'"reused":{{"item":5,"run":"{UUID(int=0)}","step":8}}'),
        "which is not in the folder",
    ),
    "method": (_replace("run.json", '"method":"zero-shot"', '"method":"guess"'), "no method 'guess'"),
    "model": (_replace("run.json", '"seed":3', '"seed":4'), r"model\.content_hash: not the hash of the model"),
    "provider": (_replace("run.json", '"model_spec":"openai:', '"model_spec":"oracle:'), "model_spec: 'oracle:"),
    "price": (_replace("run.json", '"price":{"input":10.0', '"price":{"inputs":10.0'), "price: "),
    "draw": (_replace("run.json", '"first_draw":4', '"first_draw":2147483648'), "first_draw"),
    "another run": (_replace("run.json", '"id":"', '"id":"0'), "run.json, line 1: id: "),
}  # fmt: skip


@pytest.fixture
def exported(request: pytest.FixtureRequest, db: None, tmp_path: Path) -> Path:
    """Return a copy of an exported run, on an empty site. The first test of this process exports the run."""
    kept = tmp_path.parent / "exported-run"
    if not kept.exists():
        run: Run = request.getfixturevalue("run")
        transfer("export_run", str(run.pk), "--output", str(kept))
        clear()
    return Path(shutil.copytree(kept, tmp_path / "out"))


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_folder_is_refused_with_the_place_and_the_reason(name: str, exported: Path) -> None:
    folder = exported
    change, message = REFUSED[name]
    [described] = folder.glob("*/run.json")
    change(folder, described.parent)
    with pytest.raises(CommandError, match=message) as refused:
        transfer("import_run", str(folder))
    assert str(refused.value).startswith("Nothing was imported. ")
    assert not Run.objects.exists()
    assert not Dataset.objects.exists()


def test_another_version_of_an_imported_run_is_refused(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    transfer("export_run", str(run.pk), "--output", str(folder))
    clear()
    transfer("import_run", str(folder))
    _replace("generations.jsonl", "I say WA", "I say AC")(folder, folder / str(run.pk))
    with pytest.raises(CommandError, match="was imported before with other content"):
        transfer("import_run", str(folder))
    with pytest.raises(CommandError, match=r"has no file manifest\.json"):
        transfer("import_run", str(tmp_path))


LEFT_OUT: dict[type[models.Model], set[str]] = {
    Run: {"distributed", "study_key"},
    WorkItem: {"id", "run", "owner", "lease_until", "attempt"},
    Generation: {"id", "cache_key"},
    Judgement: {
        "id",
        "owner",
        "lease_until",
        "attempt",
        "test_suite",
        "created_at",
        "host",
        "requested_by",
        "speed_scope",
        "counts",
        "rejudging",
    },
    Submission: {"id", "created_at"},
    LanguageModel: {"id", "active", "for_sessions", "frozen_at", "automatic"},
    RunTutor: {"run", "budget", "study_key", "stop_reason"},
}
"""Columns that belong to a site: leases, permissions, its machines, and keys of its rows and of its cache."""

RECORDED: dict[type[models.Model], tuple[type[records.Record], dict[str, str]]] = {
    Run: (records.RunRecord, {}),
    WorkItem: (records.ItemRecord, {}),
    Generation: (records.GenerationRecord, {"work_item": "item"}),
    Judgement: (records.JudgementRecord, {}),
    Submission: (records.SubmissionRecord, {}),
    LanguageModel: (records.ModelRecord, {}),
    RunTutor: (records.TutorRecord, {}),
}


@pytest.mark.parametrize("table", RECORDED, ids=lambda table: table.__name__)
def test_every_column_is_exported_or_left_out_on_purpose(table: type[models.Model]) -> None:
    kind, renamed = RECORDED[table]
    columns = {renamed.get(field.name, field.name) for field in table._meta.concrete_fields}
    of_other_tables = {"tutor"} if table is Run else set()
    assert columns - LEFT_OUT[table] == set(kind.model_fields) - of_other_tables
    assert set(records.ProblemRecord.model_fields) - {"id"} <= {
        one.name for one in Problem._meta.concrete_fields
    }


def test_the_pages_of_an_imported_run_show_where_it_comes_from(
    run: Run, tmp_path: Path, researcher: Client
) -> None:
    transfer("export_run", str(run.pk), "--output", str(tmp_path / "out"), "--site", "<lab> & co")
    own = researcher.get(f"/runs/{run.pk}/").content.decode()
    assert f"manage.py export_run {run.pk} --output run-{str(run.pk)[:8]}" in own
    assert ">imported<" not in own
    clear()
    transfer("import_run", str(tmp_path / "out"))
    item = WorkItem.objects.exclude(selected=None).first()
    assert item
    for address in (f"/runs/{run.pk}/", "/runs/", f"/runs/{run.pk}/items/", f"/runs/chains/{item.pk}/"):
        response = researcher.get(address)
        assert response.status_code == 200
        assert ">imported<" in response.content.decode(), address
    page = researcher.get(f"/runs/{run.pk}/").content.decode()
    assert "&lt;lab&gt; &amp; co, commit" in page
    problem = researcher.get(item.problem.get_absolute_url()).content.decode()
    assert "Only imported runs describe this problem" in problem
    assert item.problem.get_absolute_url() not in researcher.get("/problems/").content.decode()


@pytest.mark.slow
def test_the_memory_of_export_and_import_does_not_grow_with_the_run(
    make_run: MakeRun,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run([("bronze", ["AC"] * 30)] * 2, **FINISHED)
    most = 0
    read = exporting._RunExport._write_items

    def counted(self: Any, keys: list[int], first: int) -> None:
        nonlocal most
        most = max(most, len(keys))
        read(self, keys, first)

    monkeypatch.setattr(exporting, "ITEMS_AT_ONCE", 7)
    monkeypatch.setattr(exporting._RunExport, "_write_items", counted)
    first, second = round_trip(tmp_path, run)
    assert most == 7
    assert first == second
    assert connection.vendor == "sqlite"


def import_and_export(var: Path, database: str, folder: str, run: str, output: str) -> None:
    """Import a folder into a database and export the run again, in a process of its own."""
    use_var(var, database)
    call_command("import_run", folder)
    call_command("import_run", folder)
    call_command("export_run", run, "--output", output)


def test_sqlite_and_postgresql_export_the_same_bytes(run: Run, postgres: Postgres, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    transfer("export_run", str(run.pk), "--output", str(first))
    var = tmp_path / "var"
    var.mkdir()
    run_apart(import_and_export, var, postgres.new_database(), str(first), str(run.pk), str(second))
    assert content(first) == content(second)
