"""The practice problems are complete packages whose labels, generators and validators tell the truth."""

import io
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

import judge
from benchmark.datasets.icpc import open_icpc
from benchmark.datasets.records import ImportedProblem
from benchmark.providers.practice import PRACTICE_PROBLEMS, practice_scripts
from judge import Checker, Limits, Policy, Verdict
from judge.packages import Package, read_package

PACKAGES = {path.parent.name: read_package(path.parent) for path in PRACTICE_PROBLEMS.glob("*/problem.yaml")}
LADDERS = {ladder.slug: ladder for ladder in practice_scripts()}
SHARE = 0.5
"""The part of the time limit in which an accepted program must be done on all tests, and a slow one not on the
largest. `manage.py verify_package` judges them with the whole limit, which takes four times as long."""

every_package = pytest.mark.parametrize("slug", sorted(PACKAGES))


def verdict(
    package: Package, source: str, language: str, share: float = 1.0, tests: int | None = None
) -> Verdict:
    """Return a program's verdict on all tests or on the `tests` largest ones, with a share of the time limit."""
    assert package.time_limit is not None
    chosen = package.tests
    if tests is not None:
        chosen = tuple(sorted(chosen, key=lambda test: test.input.stat().st_size)[-tests:])
    limits = Limits(time=share * package.time_limit, memory=package.memory, output=package.output)
    submission = judge.Submission(source, language)
    problem = judge.Problem(chosen, limits, Checker())
    return judge.grade(submission, problem, judge.GradingOptions(policy=Policy.COMPAT)).verdict


def small_tests(package: Package) -> Package:
    """Return the package with its small tests only, for which no right program is too slow."""
    small = [test for test in package.tests if test.input.stat().st_size < 300]
    return Package(**{**vars(package), "tests": tuple(small)})


def validate(validator: Path, given: bytes, monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit status of an input validator; it runs in this process, which saves 150 starts of Python."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(given.decode()))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(validator))
    return ended.value.code


def test_there_are_two_problems_of_each_tier_half_of_them_in_each_format():
    with open_icpc(PRACTICE_PROBLEMS) as source:
        problems = list(source.entries)
    assert all(isinstance(problem, ImportedProblem) for problem in problems)
    tiers = Counter(problem.tier for problem in problems if isinstance(problem, ImportedProblem))
    assert tiers == {"bronze": 2, "silver": 2, "gold": 2, "platinum": 2}
    assert Counter(package.format_version for package in PACKAGES.values()) == {"legacy": 4, "2023-07": 4}
    assert len({package.problem_yaml["uuid"] for package in PACKAGES.values()}) == 8


def test_an_importer_finds_statement_analysis_limits_and_figures():
    with open_icpc(PRACTICE_PROBLEMS) as source:
        problems = {
            entry.external_id: entry for entry in source.entries if isinstance(entry, ImportedProblem)
        }
    for problem in problems.values():
        assert problem.time_limit == 1.0
        assert problem.memory_limit == 256 * 2**20
        assert "first sample" in problem.statement
        assert "Where it goes wrong" in problem.analysis
        assert {reference.language for reference in problem.references} == {"python", "cpp"}
        assert not problem.notes
    assert {name for name, problem in problems.items() if problem.figures} == {"tram-depot", "watering-round"}


@every_package
def test_there_are_two_samples_and_at_least_ten_secret_tests(slug: str):
    package = PACKAGES[slug]
    assert sum(test.sample for test in package.tests) == 2
    assert sum(not test.sample for test in package.tests) >= 10
    assert len({test.input.read_bytes() for test in package.tests}) == len(package.tests)


def test_all_tests_together_stay_small():
    files = [path for package in PACKAGES.values() for path in (package.path / "data").rglob("*.*")]
    assert sum(path.stat().st_size for path in files) <= 3 * 2**20


@every_package
def test_the_validator_accepts_every_input_and_refuses_spoiled_ones(
    slug: str, monkeypatch: pytest.MonkeyPatch
):
    package = PACKAGES[slug]
    validator = package.path / "input_validators" / "validate.py"
    for test in package.tests:
        assert validate(validator, test.input.read_bytes(), monkeypatch) == 42, test.name
    sample = package.tests[0].input.read_bytes()
    too_large = re.sub(rb"\d+", b"999999999", sample, count=1)
    for spoiled in (b"", sample[:-1], sample + b"\n", b" " + sample, sample.replace(b" ", b"  "), too_large):
        if spoiled != sample:
            assert validate(validator, spoiled, monkeypatch) == 43, spoiled


@pytest.mark.slow
@every_package
def test_the_generator_writes_the_secret_tests_byte_for_byte(slug: str, tmp_path: Path):
    package = PACKAGES[slug]
    subprocess.run([sys.executable, "-I", package.path / "generators" / "generate.py", tmp_path], check=True)
    stored = {path.name: path.read_bytes() for path in (package.path / "data" / "secret").iterdir()}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == stored


@pytest.mark.usefixtures("sandbox")
@every_package
def test_accepted_programs_are_right_and_need_a_fraction_of_the_limit(slug: str):
    package = PACKAGES[slug]
    accepted = sorted((package.path / "submissions" / "accepted").iterdir())
    assert {path.suffix for path in accepted} == {".py", ".cpp"}
    for path in accepted:
        language = "python" if path.suffix == ".py" else "cpp"
        assert verdict(package, path.read_text(), language, SHARE) is Verdict.AC, path.name


@pytest.mark.usefixtures("sandbox")
@every_package
def test_wrong_programs_are_wrong(slug: str):
    package = PACKAGES[slug]
    wrong = list((package.path / "submissions" / "wrong_answer").glob("*.py"))
    assert wrong
    for path in wrong:
        assert verdict(package, path.read_text(), "python") is Verdict.WA, path.name


@pytest.mark.usefixtures("sandbox")
@every_package
def test_slow_programs_are_right_but_slow(slug: str):
    package = PACKAGES[slug]
    slow = list((package.path / "submissions" / "time_limit_exceeded").glob("*.py"))
    assert slow
    for path in slow:
        assert verdict(small_tests(package), path.read_text(), "python") is Verdict.AC, path.name
        assert verdict(package, path.read_text(), "python", SHARE, tests=1) is Verdict.TLE, path.name


@pytest.mark.usefixtures("sandbox")
@every_package
def test_the_programs_of_the_student_get_the_verdicts_of_its_ladder(slug: str):
    package, ladder = PACKAGES[slug], LADDERS[slug]
    for stage in ladder.stages:
        promised = Verdict(stage.verdict)
        if promised is Verdict.TLE:
            assert verdict(small_tests(package), stage.program, "python") is Verdict.AC
            assert verdict(package, stage.program, "python", SHARE, tests=1) is Verdict.TLE
        else:
            share = SHARE if promised is Verdict.AC else 1.0
            assert verdict(package, stage.program, "python", share) is promised


@every_package
def test_every_file_of_the_student_belongs_to_its_ladder(slug: str):
    folder = PACKAGES[slug].path / "student"
    stages = yaml.safe_load((folder / "student.yaml").read_text())["stages"]
    assert {path.name for path in folder.iterdir()} == {
        "student.yaml",
        *(stage["program"] for stage in stages),
    }
