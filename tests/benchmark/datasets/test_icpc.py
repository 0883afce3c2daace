"""Import of ICPC packages: folders, zips, statements, figures, invalid and malicious packages."""

import io
import json
import zipfile
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from PIL import Image

from benchmark import judging
from benchmark.datasets import archives
from benchmark.models import Dataset, Figure, Judgement, Problem, blobs
from benchmark.prompts import PromptFormat, VisibleProblem, solve_prompt
from tutoring.sessions.dialogue import opening_prompt

pytestmark = pytest.mark.django_db


def run(path: Path) -> dict[str, Any]:
    output = StringIO()
    call_command("import_problems", "icpc", str(path), "--dataset", "icpc", "--json", stdout=output)
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


def picture(kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), "red").save(buffer, kind)
    return buffer.getvalue()


FILES: dict[str, str | bytes] = {
    "problem.yaml": "name: Tea\nsource: Contest 2020\nsource_url: https://x.example\nauthor: Ann Lee\n"
    "license: cc by-sa\nkeywords: silver greedy\nvalidator_flags: float_tolerance 1e-4\n",
    ".timelimit": "3\n",
    "problem_statement/problem.en.tex": r"\problemname{Tea} $n$ cups. \illustration{0.3}{pot}{A pot}",
    "problem_statement/problem.de.tex": r"\problemname{Tee} Tassen.",
    "problem_statement/solution.tex": r"Pour $n$ times.",
    "problem_statement/pot.jpg": picture("JPEG"),
    "problem_statement/unused.png": picture(),
    "data/sample/1.in": "1\n",
    "data/sample/1.ans": "1\n",
    "data/sample/1.desc": "One cup.",
    "data/secret/a.in": "2\n",
    "data/secret/a.ans": "2\n",
    "submissions/accepted/ann.py": "print(input())\n",
    "submissions/wrong_answer/bob.py": "print(0)\n",
}


def package(folder: Path, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
    for name, content in {**FILES, **(changes or {})}.items():
        if content is None:
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_a_package_is_stored_with_everything_that_is_known(tmp_path: Path) -> None:
    result = run(package(tmp_path / "tea"))
    assert (result["imported"], result["notes"]) == (1, [])
    stored = Problem.objects.get()
    assert (stored.external_id, stored.title, stored.tier, stored.tags) == (
        "tea",
        "Tea",
        "silver",
        ["greedy"],
    )
    assert (stored.contest, stored.source_url) == ("Contest 2020", "https://x.example")
    assert (stored.credits, stored.license, stored.time_limit) == ("Ann Lee", "cc by-sa", 3)
    assert stored.checker["float_relative"] == 1e-4
    assert not stored.samples_only
    assert [(case.name, case.origin, case.explanation) for case in stored.tests.all()] == [
        ("sample/1", "sample", "One cup."),
        ("secret/a", "hidden", ""),
    ]
    assert stored.samples_text == (
        "Sample Input 1:\n1\n\nSample Output 1:\n1\n\nExplanation of sample 1:\nOne cup."
    )
    assert [(one.language, one.name) for one in stored.references.all()] == [("python", "ann.py")]
    assert "Tassen" not in stored.statement_html
    assert "<mi>n</mi>" in stored.analysis_html
    figure = Figure.objects.get()
    assert (figure.name, figure.media_type) == ("pot.jpg", "image/jpeg")
    assert blobs.read(figure.content_hash) == FILES["problem_statement/pot.jpg"]
    assert 'src="/problems/icpc/tea/figures/pot.jpg"' in stored.statement_html


def test_a_model_is_shown_the_samples_and_no_other_test(tmp_path: Path) -> None:
    run(package(tmp_path / "tea", {"data/secret/a.in": "secret-input\n", "data/sample/1.in": "x" * 20_000}))
    problem = Problem.objects.get()
    question = (
        solve_prompt(VisibleProblem.of(problem), PromptFormat("python", state_limits=True))
        .messages[0]
        .content
    )
    for shown in (question, opening_prompt(VisibleProblem.of(problem), "python")):
        assert (
            f"Sample Input 1:\n{'x' * 10_000}\n[cut after 10000 characters]\n\nSample Output 1:\n1\n\n"
            "Explanation of sample 1:\nOne cup." in shown
        )
        assert "secret-input" not in shown


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    folder = package(tmp_path / "tea")
    run(folder)
    stamp = Problem.objects.get().imported_at
    assert run(folder)["unchanged"] == 1
    assert Problem.objects.get().imported_at == stamp


def test_a_package_of_the_2023_format_with_markdown(tmp_path: Path) -> None:
    folder = package(
        tmp_path / "tea",
        {
            "problem.yaml": "problem_format_version: 2023-07\nname: {de: Tee, en: Tea time}\nuuid: 1\n"
            "credits: {authors: [Ann Lee <ann@x.example>, {name: Bo}]}\nkeywords: [gold, dynamic programming]\n"
            "source: [{name: Finals, url: 'https://y.example'}]\nlimits: {time_limit: 1.5, memory: 64}\n",
            "statement/problem.en.md": "**Tea** for $n$.\n\n![pot](pot.png)\n\n{{nextsample}}\n",
            "statement/pot.png": picture(),
            "solution/solution.en.md": "Pour.",
        },
    )
    run(folder)
    stored = Problem.objects.get()
    assert (stored.title, stored.tier, stored.tags) == ("Tea time", "gold", ["dynamic programming"])
    assert (stored.credits, stored.contest, stored.source_url) == (
        "Ann Lee, Bo",
        "Finals",
        "https://y.example",
    )
    assert (stored.time_limit, stored.memory_limit) == (1.5, 64 * 2**20)
    assert stored.statement_format == "markdown"
    assert 'src="/problems/icpc/tea/figures/pot.png"' in stored.statement_html
    assert "nextsample" not in stored.statement_html
    assert stored.analysis_html.strip() == "<p>Pour.</p>"


def test_a_missing_time_limit_is_assumed_with_a_note(tmp_path: Path) -> None:
    result = run(package(tmp_path / "tea", {".timelimit": None}))
    assert result["notes"] == [{"id": "tea", "note": "time limit not given: 2 s assumed"}]
    assert Problem.objects.get().time_limit == 2


def test_a_pdf_figure_becomes_png_and_svg_and_broken_pictures_are_left_out(tmp_path: Path) -> None:
    pdf = io.BytesIO()
    Image.new("RGB", (40, 20), "blue").save(pdf, "PDF")
    statement = r"\includegraphics{plan} \includegraphics{logo.svg} \includegraphics{bad}"
    files: dict[str, str | bytes | None] = {
        "problem_statement/problem.en.tex": statement,
        "problem_statement/plan.pdf": pdf.getvalue(),
        "problem_statement/logo.svg": "<svg onload='alert(1)'/>",
        "problem_statement/bad.png": b"\x89PNG\r\n\x1a\nbroken",
    }
    result = run(package(tmp_path / "tea", files))
    figure = Figure.objects.get()
    assert (figure.name, figure.media_type) == ("plan.png", "image/png")
    assert Image.open(io.BytesIO(blobs.read(figure.content_hash))).format == "PNG"
    notes = " ".join(entry["note"] for entry in result["notes"])
    assert "logo.svg is skipped" in notes
    assert "bad.png is skipped" in notes
    assert "[picture logo.svg is not shown]" in Problem.objects.get().statement_html


def test_the_real_packages_are_imported(shared_data: Path) -> None:
    result = run(shared_data / "packages")
    assert (result["imported"], result["left_out"]) == (4, [])
    assert {entry["id"] for entry in result["notes"]} == {"decryptingzodiac", "indexcase", "lookingforwaldo"}
    assert Problem.objects.get(external_id="basicbrewing").title == "Basic Brewing"
    waldo = Problem.objects.get(external_id="lookingforwaldo")
    assert [figure.name for figure in waldo.figures.all()] == ["sample2.png"]
    assert "figures/sample2.png" in waldo.statement_html
    assert not any("is not shown" in problem.statement_html for problem in Problem.objects.all())


@pytest.mark.slow
def test_the_practice_problems_are_imported(repository: Path) -> None:
    result = run(repository / "benchmark" / "practice_problems")
    assert result["imported"] >= 8
    assert result["left_out"] == []


BROKEN: list[tuple[dict[str, str | bytes | None], str]] = [
    ({"data/secret/a.ans": None}, "a.ans is missing"),
    ({"problem.yaml": "name: [Tea"}, "not valid YAML"),
    ({"problem.yaml": "validation: custom interactive\n"}, "its own output validator"),
    ({"problem.yaml": "validation: custom\n"}, "output validator"),
    ({name: None for name in FILES if name.startswith("data/")}, "no tests"),
    ({name: None for name in FILES if name.startswith("problem_statement/problem")}, "no statement"),
    (
        {"problem_statement/problem.en.tex": "  \n", "problem_statement/problem.de.tex": None},
        "statement is empty",
    ),
    ({".timelimit": "-1"}, ".timelimit"),
]


@pytest.mark.parametrize(("changes", "reason"), BROKEN)
def test_a_broken_package_is_left_out_of_a_folder_of_packages(
    tmp_path: Path, changes: dict[str, str | bytes | None], reason: str
) -> None:
    package(tmp_path / "all" / "good")
    package(tmp_path / "all" / "tea", changes)
    result = run(tmp_path / "all")
    assert (result["imported"], [entry["id"] for entry in result["left_out"]]) == (1, ["tea"])
    assert reason in result["left_out"][0]["reason"]
    assert str(tmp_path) not in result["left_out"][0]["reason"]


@pytest.mark.parametrize(("changes", "reason"), BROKEN[:6])
def test_a_single_broken_package_is_refused(
    tmp_path: Path, changes: dict[str, str | bytes | None], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        run(package(tmp_path / "tea", changes))
    assert not Dataset.objects.exists()


def test_a_link_out_of_the_package_is_refused(tmp_path: Path) -> None:
    folder = package(tmp_path / "tea", {"data/secret/a.ans": None})
    (folder / "data/secret/a.ans").symlink_to("/etc/passwd")
    with pytest.raises(CommandError, match="leads out of the package"):
        run(folder)


def test_a_place_without_packages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no problem\.yaml"):
        run(tmp_path)
    with pytest.raises(CommandError, match="does not exist"):
        run(tmp_path / "nowhere")


# Zips


def zipped(path: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(prefix + name, content)
    return path


@pytest.mark.parametrize(
    ("prefix", "identifier"), [("", "archive"), ("tea/", "tea"), ("contest/tea/", "tea")]
)
def test_a_zip_of_a_package_or_of_a_folder_of_packages(tmp_path: Path, prefix: str, identifier: str) -> None:
    run(zipped(tmp_path / "archive.zip", prefix))
    assert Problem.objects.get().external_id == identifier
    assert not list(settings.VAR.glob("import-*"))


@pytest.mark.parametrize(
    "name", ["../escape.txt", "/absolute.txt", "tea/../../escape.txt", "..\\escape.txt", "C:\\escape.txt"]
)
def test_a_zip_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "archive.zip", "tea/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "x")
    with pytest.raises(CommandError, match="outside its folder"):
        run(path)
    assert not Dataset.objects.exists()
    assert not list(settings.VAR.glob("import-*"))


def test_a_zip_with_a_link_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "archive.zip", "tea/")
    link = zipfile.ZipInfo("tea/data/secret/b.ans")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(CommandError, match="link or a special file"):
        run(path)


@pytest.mark.slow
def test_a_zip_bomb_is_refused_whether_or_not_it_tells_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAXIMUM_UNPACKED", 8 * 2**20)
    path = zipped(tmp_path / "archive.zip", "tea/")
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("tea/data/secret/b.in", "w") as member,
    ):
        for _ in range(64):
            member.write(bytes(2**20))
    with pytest.raises(CommandError, match="more than 8 MiB"):
        run(path)
    content = path.read_bytes()
    lying = content.replace((64 * 2**20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != content
    path.write_bytes(lying)
    with pytest.raises(CommandError, match=r"more than 8 MiB|cannot be unpacked"):
        run(path)
    assert not Dataset.objects.exists()
    assert not list(settings.VAR.glob("import-*"))


@pytest.mark.parametrize("cut", [0, 10, 400, -30])
def test_a_damaged_zip_is_refused(tmp_path: Path, cut: int) -> None:
    path = zipped(tmp_path / "archive.zip", "tea/")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(CommandError, match="cannot be unpacked"):
        run(path)
    assert not Dataset.objects.exists()


def judged(problem: Problem, source: str, suite: Judgement.TestScope = Judgement.TestScope.ALL) -> Judgement:
    """Judge the program in this process and return the judgement."""
    submission = judging.store_submission(problem, source, "python")
    judgement = judging.request_judgement(submission, suite=suite)
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    return judgement


@pytest.mark.usefixtures("sandbox")
def test_a_problem_with_a_validator_of_its_own_is_stored_with_it_and_judged(tmp_path: Path) -> None:
    validator = (
        "import sys\nsys.exit(42 if int(input()) > int(open(sys.argv[1]).read()) + int(sys.argv[4]) else 43)"
    )
    changes = {
        "problem.yaml": "name: More\nvalidation: custom\nvalidator_flags: 5",
        "output_validators/v.py": validator,
    }
    folder = package(tmp_path / "more", changes)
    assert run(folder)["imported"] == 1
    problem = Problem.objects.get()
    assert judged(problem, "print(int(input()) + 6)").verdict == "AC"
    wrong = judged(problem, "print(int(input()) + 5)")
    assert wrong.verdict == "WA"
    assert wrong.passed == 0
    assert run(folder)["unchanged"] == 1
    (folder / "output_validators/v.py").write_text(validator + "  # stricter")
    assert run(folder)["updated"] == 1
    assert Problem.objects.get().content_hash != problem.content_hash


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("suffix", ["tex", "md"])
def test_samples_of_interactive_problems_stay_hidden_and_their_dialogues_are_shown(
    tmp_path: Path, suffix: str
) -> None:
    validator = (
        "import sys\nprint('think', flush=True)\nsys.exit(42 if input() == open(sys.argv[1]).read() else 43)"
    )
    changes: dict[str, str | bytes | None] = {
        "problem.yaml": "name: Guess\nvalidation: custom interactive",
        "output_validators/v.py": validator,
        "problem_statement/problem.en.tex": None,
        "problem_statement/problem.de.tex": None,
        f"problem_statement/problem.en.{suffix}": "Guess a word.",
        "data/sample/1.in": "canary",
        "data/secret/a.in": "canary",
        "data/sample/1.interaction": "< think\n> bird\n",
    }
    assert run(package(tmp_path / "guess", changes))["imported"] == 1
    problem = Problem.objects.get()
    assert {case.origin for case in problem.tests.all()} == {"hidden"}
    assert "&lt; think" in problem.statement_html
    assert "&gt; bird" in problem.statement_html
    assert "canary" not in problem.statement_html
    assert judged(problem, "input()\nprint('canary')").verdict == "AC"
    assert judged(problem, "input()\nprint('bird')").verdict == "WA"
    on_samples = judged(problem, "input()\nprint('bird')", Judgement.TestScope.SAMPLES)
    assert (on_samples.state, on_samples.verdict, on_samples.total) == ("done", "AC", 0)


def test_a_package_that_cannot_be_judged_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="scores"):
        run(package(tmp_path / "tea", {"problem.yaml": "name: Tea\ntype: scoring"}))


@pytest.mark.parametrize("name", ["aroundthetable", "arrangingadapters", "brickwork", "fasterthanlight"])
def test_each_entry_of_a_real_generators_yaml_is_a_test_or_is_named(
    tmp_path: Path, shared_data: Path, name: str
) -> None:
    """Entries that need missing files have a fault; all other entries are tests."""
    listing = (shared_data / "generators_yaml" / f"{name}.yaml").read_bytes()
    result = run(package(tmp_path / "tea", {"generators/generators.yaml": listing}))
    tests = list(Problem.objects.get().listed_tests.all())
    assert len(tests) == {
        "aroundthetable": 144, "arrangingadapters": 118, "brickwork": 134, "fasterthanlight": 224,
    }[name]  # fmt: skip
    made = [one for one in tests if not one.fault]
    stored_sample = name in (
        "brickwork",
        "fasterthanlight",
    )  # data/sample/1.in has no value in the file
    assert sum(bool(one.input_hash) for one in made) == len(made)
    assert len(made) == {"aroundthetable": 4, "arrangingadapters": 10, "brickwork": 37, "fasterthanlight": 0}[
        name
    ] + int(stored_sample)
    assert all(
        one.fault.startswith(("its generator", "its copy", "it has no input")) for one in tests if one.fault
    )
    assert any("is not used: there is no file" in entry["note"] for entry in result["notes"])
