"""Import of USACO collections: counts, samples, hidden tests, invalid files."""

import json
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.datasets.usaco import contest_of
from benchmark.models import Dataset, Problem, TestCase, blobs
from benchmark.templatetags.problem_tags import samples_beside_statement
from tests.benchmark.datasets.rendered_text import assert_nothing_lost

pytestmark = pytest.mark.django_db


def run(path: Path, *arguments: str, dataset: str = "usaco") -> dict[str, Any]:
    output = StringIO()
    call_command(
        "import_problems", "usaco", str(path), "--dataset", dataset, "--json", *arguments, stdout=output
    )
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


def problem(**changes: Any) -> dict[str, Any]:
    return {
        "problem_id": "1_bronze_sum",
        "name": "Sum",
        "problem_level": "bronze",
        "description": "Add.\n\nSAMPLE INPUT:\n1 2\nSAMPLE OUTPUT:\n3\n\nBecause.\n",
        "solution": "Here:\n\nimport sys\nprint(sum(map(int, sys.stdin.read().split())))\n",
        "num_tests": 2,
        "runtime_limit": 4,
        "memory_limit": 512,
        "problem_link": "http://www.usaco.org/index.php?page=viewproblem2&cpid=1",
        "contest_link": "http://www.usaco.org/index.php?page=open23results",
    } | changes


def write(folder: Path, problems: object) -> Path:
    path = folder / "usaco_dict.json"
    path.write_text(json.dumps(problems))
    return path


def stored_tests(identifier: str) -> list[tuple[str, str, bytes, bytes]]:
    cases = TestCase.objects.filter(problem__external_id=identifier)
    return [
        (case.name, case.origin, blobs.read(case.input_hash), blobs.read(case.answer_hash)) for case in cases
    ]


def test_the_real_collection_is_imported_whole_and_a_second_time_changes_nothing(shared_data: Path) -> None:
    path = shared_data / "usaco" / "usaco_dict.json"
    assert run(path) == {
        "dataset": "usaco", "imported": 484, "unchanged": 0, "updated": 0, "left_out": [], "notes": [],
        "questions": 0,
    }  # fmt: skip
    stamps = dict(Problem.objects.values_list("external_id", "imported_at"))
    tests = set(TestCase.objects.values_list("pk", flat=True))
    second = run(path)
    assert (second["imported"], second["unchanged"], second["updated"]) == (0, 484, 0)
    assert dict(Problem.objects.values_list("external_id", "imported_at")) == stamps
    assert set(TestCase.objects.values_list("pk", flat=True)) == tests
    assert stored_tests("735_bronze_the_lost_cow") == [("sample-1", "sample", b"3 6\n", b"9\n")]
    assert not Problem.objects.filter(samples_only=False).exists()
    assert not Problem.objects.filter(contest_date=None).exists()
    for stored in Problem.objects.all():
        assert samples_beside_statement(stored) == [], "the statement shows every sample itself"
        assert_nothing_lost(stored.statement, stored.statement_html)
        assert_nothing_lost(stored.analysis, stored.analysis_html)


def test_numbers_may_be_strings(shared_data: Path) -> None:
    assert run(shared_data / "usaco" / "postcutoff_problems_dict.json", dataset="later")["imported"] == 36
    assert Problem.objects.get(external_id="1404_platinum_lazy_cow").time_limit == 2


def test_a_problem_is_stored_with_its_limits_links_and_html(tmp_path: Path) -> None:
    run(write(tmp_path, {"1_bronze_sum": problem(memory_limit="512", solution_python3="print(3)\n")}))
    stored = Problem.objects.get()
    assert (stored.title, stored.tier, stored.time_limit, stored.memory_limit) == (
        "Sum",
        "bronze",
        4,
        512 * 2**20,
    )
    assert (stored.contest, stored.contest_date) == ("US Open 2023", date(2023, 3, 1))
    assert stored.source_url.endswith("cpid=1")
    assert stored.checker["kind"] == "tokens"
    assert stored.samples_only
    assert '<pre class="sample">1 2</pre>' in stored.statement_html
    assert "<figcaption>Python</figcaption>" in stored.analysis_html
    assert stored.tests.get().explanation == "Because."
    assert stored.references.get().source == "print(3)\n"


@pytest.mark.parametrize("arguments", [(), ("--tests",)])
def test_hidden_tests_are_found_in_both_ways_of_naming_files(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    root = tmp_path / ("elsewhere" if arguments else "usaco_v3/tests")
    folder = root / "1_bronze_sum"
    folder.mkdir(parents=True)
    for name, content in {"1.in": "1  2\r\n", "O.1": "3\n", "I.2": "5 5\n", "2.out": "10\n"}.items():
        (folder / name).write_bytes(content.encode())
    run(write(tmp_path, {"1_bronze_sum": problem()}), *(f"{argument}={root}" for argument in arguments))
    assert stored_tests("1_bronze_sum") == [
        ("1", "sample", b"1  2\n", b"3\n"),
        ("2", "hidden", b"5 5\n", b"10\n"),
    ]
    assert not Problem.objects.get().samples_only


def test_samples_that_are_not_the_first_tests_come_before_them(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "1_bronze_sum"
    folder.mkdir(parents=True)
    for name, content in {"1.in": "7 7\n", "1.out": "14\n", "2.in": "1 2\n", "2.out": "3\n"}.items():
        (folder / name).write_text(content)
    run(write(tmp_path, {"1_bronze_sum": problem()}))
    assert [(name, origin) for name, origin, *_ in stored_tests("1_bronze_sum")] == [
        ("sample-1", "sample"),
        ("1", "hidden"),
        ("2", "hidden"),
    ]


def test_listed_samples_are_used_where_the_file_has_them(tmp_path: Path) -> None:
    listed = [{"input": "8 8", "output": "16", "explanation": "eight twice"}]
    run(write(tmp_path, {"1_bronze_sum": problem(samples=listed)}))
    assert stored_tests("1_bronze_sum") == [("sample-1", "sample", b"8 8\n", b"16\n")]
    assert TestCase.objects.get().explanation == "eight twice"


def test_changed_content_is_updated_in_place(tmp_path: Path) -> None:
    run(write(tmp_path, {"1_bronze_sum": problem()}))
    before = Problem.objects.get()
    changed = problem(name="Sums", description="Add.\n\nSAMPLE INPUT:\n2 2\nSAMPLE OUTPUT:\n4\n")
    result = run(write(tmp_path, {"1_bronze_sum": changed}))
    after = Problem.objects.get()
    assert (result["imported"], result["updated"], result["unchanged"]) == (0, 1, 0)
    assert (after.pk, after.title) == (before.pk, "Sums")
    assert after.content_hash != before.content_hash
    assert stored_tests("1_bronze_sum") == [("sample-1", "sample", b"2 2\n", b"4\n")]


def test_a_better_renderer_renders_again_and_the_problem_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, {"1_bronze_sum": problem()})
    run(path)
    before, test = Problem.objects.get(), TestCase.objects.get()
    monkeypatch.setattr("benchmark.datasets.store.RENDERER_VERSION", "next")
    monkeypatch.setattr("benchmark.datasets.store.render", lambda *_: "<p>better</p>")
    assert run(path)["updated"] == 1
    after = Problem.objects.get()
    assert after.statement_html == "<p>better</p>"
    assert (after.pk, after.content_hash, TestCase.objects.get()) == (before.pk, before.content_hash, test)
    assert run(path)["unchanged"] == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"runtime_limit": "fast"}, "runtime_limit"),
        ({"memory_limit": -1}, "memory_limit"),
        ({"problem_level": "wood"}, "wood"),
        ({"description": 5}, "description is a int"),
        ({"description": "no samples"}, "no sample"),
        ({"description": "  "}, "no sample"),
    ],
)
def test_one_bad_problem_is_left_out_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    result = run(write(tmp_path, {"1_bronze_sum": problem(), "2_bad": problem(**changes)}))
    assert result["imported"] == 1
    [left_out] = result["left_out"]
    assert left_out["id"] == "2_bad"
    assert reason in left_out["reason"]


def test_missing_answers_leave_the_problem_out(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "2_bronze_sum"
    folder.mkdir(parents=True)
    (folder / "1.in").write_text("1 2\n")
    result = run(write(tmp_path, {"1_bronze_sum": problem(), "2_bronze_sum": problem()}))
    assert result["imported"] == 1
    assert "test 1 of 2 has no answer" in result["left_out"][0]["reason"]
    assert "judged on samples only" in result["notes"][0]["note"]


def test_an_identifier_cannot_lead_out_of_the_folder_of_tests(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    result = run(write(tmp_path, {"1_bronze_sum": problem(), "../tests": problem(), "..": problem()}))
    assert [entry["id"] for entry in result["left_out"]] == ["../tests", ".."]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1_bronze_sum": {"name": "Su', "not valid JSON"),
        ("[1, 2]", "contains no USACO problem"),
        ('"text"', "not a value of type str"),
        ("{}", "contains no USACO problem"),
        ('{"tags": ["dp"], "problems": []}', "contains no USACO problem"),
        ("[" * 100_000, "not valid JSON"),
        ("\xff\xfe\x00", "not valid JSON"),
    ],
)
def test_a_broken_file_is_refused_with_one_message_and_nothing_imported(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "usaco_dict.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(CommandError, match=message) as refused:
        run(path)
    assert "\n" not in str(refused.value)
    assert not Dataset.objects.exists()


def test_a_real_collection_cut_off_in_the_middle_changes_nothing(tmp_path: Path, shared_data: Path) -> None:
    path = tmp_path / "usaco_dict.json"
    path.write_bytes((shared_data / "usaco" / "usaco_dict.json").read_bytes()[:1_000_000])
    with pytest.raises(CommandError, match="incomplete"):
        run(path)
    assert not Problem.objects.exists()


def test_paths_names_and_datasets_that_cannot_be_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"1_bronze_sum": problem()})
    with pytest.raises(CommandError, match="not a file"):
        run(tmp_path / "nowhere.json")
    with pytest.raises(CommandError, match="folder of tests"):
        run(path, f"--tests={tmp_path / 'nowhere'}")
    with pytest.raises(CommandError, match="letters, digits"):
        run(path, dataset="a/b")
    Dataset.objects.create(name="usaco", format="icpc")
    with pytest.raises(CommandError, match="contains problems of the format icpc"):
        run(path)
    assert not Problem.objects.exists()


def test_a_file_with_bad_problems_only_ends_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="every problem was skipped"):
        run(write(tmp_path, {"1_bronze_sum": problem(runtime_limit=0)}))


def test_text_that_databases_refuse_is_stored_with_replacements(tmp_path: Path) -> None:
    run(write(tmp_path, {"1_bronze_sum": problem(name="a\0b\ud800")}))
    assert Problem.objects.get().title == "a\ufffdb?"


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("page=open23results", ("US Open 2023", date(2023, 3, 1))),
        ("page=open12results", ("US Open 2012", date(2012, 4, 1))),
        ("page=dec22results", ("December 2022", date(2022, 12, 1))),
        ("page=nov11results", ("November 2011", date(2011, 11, 1))),
        ("page=nov11problems", ("", None)),
        ("", ("", None)),
    ],
)
def test_contests_are_read_from_the_address_of_the_results(
    link: str, expected: tuple[str, date | None]
) -> None:
    assert contest_of(link) == expected
