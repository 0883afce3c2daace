"""Reading ICPC problem packages: real ones, small ones in both formats, and broken ones."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import Checker, Limits, Verdict
from judge.packages import PackageError, read_package

MEBIBYTE = 2**20
NEW = "problem_format_version: 2023-07\n"
CRASH = {Verdict.RTE, Verdict.MLE, Verdict.OLE}

MakePackage = Callable[..., Path]


@pytest.fixture
def make_package(tmp_path: Path) -> MakePackage:
    """Writes a package from file names and contents; two tests are there unless `tests` is false."""

    def make(files: dict[str, str] | None = None, *, tests: bool = True) -> Path:
        package = tmp_path / "adding"
        pairs = {"sample/1": ("1 2\n", "3\n"), "secret/1": ("3 4\n", "7\n")} if tests else {}
        contents = {"problem.yaml": "name: Adding\n"}
        for name, (question, answer) in pairs.items():
            contents |= {f"data/{name}.in": question, f"data/{name}.ans": answer}
        for name, content in (contents | (files or {})).items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(content, encoding="utf-8")
        return package

    return make


@pytest.mark.parametrize(
    ("name", "tests", "samples", "time_limit", "multiplier", "checker"),
    [
        ("basicbrewing", 16, 2, 1.0, 5, Checker(float_absolute=1e-4, float_relative=1e-4)),
        ("decryptingzodiac", 28, 3, None, 1.2, Checker()),
        ("indexcase", 50, 3, None, 5, Checker()),
        ("lookingforwaldo", 37, 4, None, 2, Checker()),
    ],
)
def test_real_packages_are_read(
    shared_data: Path,
    name: str,
    tests: int,
    samples: int,
    time_limit: float,
    multiplier: float,
    checker: Checker,
) -> None:
    package = read_package(shared_data / "packages" / name)
    assert (package.name, package.format_version, package.unsupported) == (name, "legacy", "")
    assert (len(package.tests), sum(test.sample for test in package.tests)) == (tests, samples)
    assert [test.sample for test in package.tests] == sorted(
        (test.sample for test in package.tests), reverse=True
    )
    assert (package.time_limit, package.time_multiplier, package.checker) == (time_limit, multiplier, checker)
    assert package.memory == 2048 * MEBIBYTE
    assert package.submissions == ()


def test_tests_are_the_samples_and_then_the_secret_ones_by_path(make_package: MakePackage) -> None:
    names = ["sample/2", "sample/10", "secret/b", "secret/a/2", "secret/a/10", "secret/a.x"]
    files = {f"data/{name}.{suffix}": "" for name in names for suffix in ("in", "ans")}
    package = read_package(
        make_package(files | {"data/secret/b.desc": "notes", "data/secret/b.hint": ""}, tests=False)
    )
    assert [test.name for test in package.tests] == [
        "sample/10",
        "sample/2",
        "secret/a.x",
        "secret/a/10",
        "secret/a/2",
        "secret/b",
    ]
    assert all(test.input.exists() and test.answer.exists() for test in package.tests)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({".timelimit": "3\n"}, 3),
        ({"domjudge-problem.ini": "timelimit='2.5'\n"}, 2.5),
        ({"domjudge-problem.ini": "[problem]\nname = x\ntimelimit = 4\n"}, 4),
        ({"domjudge-problem.ini": "color = red\n"}, None),
        ({".timelimit": "3", "domjudge-problem.ini": "timelimit = 4"}, 3),
        ({"problem.yaml": "limits: {time_limit: 1.5}", ".timelimit": "3"}, 1.5),
        ({"problem.yaml": "limits:\n  # time_limit: 9\n  memory: 64"}, None),
    ],
)
def test_the_time_limit_is_found_wherever_packages_keep_it(
    make_package: MakePackage, files: dict[str, str], expected: float | None
) -> None:
    package = read_package(make_package(files))
    assert package.time_limit == expected
    assert (package.limits is None) == (expected is None)


@pytest.mark.parametrize(
    ("yaml", "slowest", "expected"),
    [
        ("name: x", 0.3, 2),  # legacy: times 5
        ("name: x", 0.01, 1),
        ("limits: {time_multiplier: 2}", 0.65, 2),
        ("limits: {time_multiplier: 1.2}", 2.0, 3),
        (NEW, 1.4, 3),
        (NEW + "limits: {time_resolution: 0.5, time_multipliers: {ac_to_time_limit: 1.5}}", 1.4, 2.5),
    ],
)
def test_a_time_limit_follows_from_the_slowest_accepted_submission(
    make_package: MakePackage, yaml: str, slowest: float, expected: float
) -> None:
    assert read_package(make_package({"problem.yaml": yaml})).derived_time_limit(slowest) == expected


def test_limits_are_given_in_mebibytes(make_package: MakePackage) -> None:
    package = read_package(make_package({"problem.yaml": "limits: {memory: 64, output: 16, time_limit: 1}"}))
    assert package.limits == Limits(time=1, memory=64 * MEBIBYTE, output=16 * MEBIBYTE)


@pytest.mark.parametrize(
    ("files", "checker"),
    [
        (
            {"problem.yaml": "validator_flags: float_tolerance 1e-6 case_sensitive"},
            Checker(case_sensitive=True, float_absolute=1e-6, float_relative=1e-6),
        ),
        (
            {"problem.yaml": "validation: default\nvalidator_flags: space_change_sensitive"},
            Checker(space_change_sensitive=True),
        ),
        ({"problem.yaml": NEW + "output_validator_args: [case_sensitive]"}, Checker(case_sensitive=True)),
        (
            {"data/testdata.yaml": "output_validator_flags: float_absolute_tolerance 0.5"},
            Checker(float_absolute=0.5),
        ),
        (
            {"data/secret/test_group.yaml": "output_validator_args: [float_relative_tolerance, '1e-3']"},
            Checker(float_relative=1e-3),
        ),
        ({"data/secret/testdata.yaml": "on_reject: break"}, Checker()),
    ],
)
def test_validator_flags_become_the_checker(
    make_package: MakePackage, files: dict[str, str], checker: Checker
) -> None:
    package = read_package(make_package(files))
    assert (package.checker, package.unsupported) == (checker, "")


@pytest.mark.parametrize(
    ("files", "reason", "interactive", "custom"),
    [
        ({"problem.yaml": "validation: custom"}, "output validator", False, True),
        ({"problem.yaml": "validation: custom interactive"}, "interactive", True, True),
        ({"problem.yaml": "validation: custom score"}, "scores", False, True),
        ({"problem.yaml": "type: scoring"}, "scores", False, False),
        ({"problem.yaml": NEW + "type: [pass-fail, interactive]"}, "interactive", True, False),
        ({"problem.yaml": NEW + "type: multi-pass"}, "passes", False, False),
        ({"problem.yaml": NEW, "output_validator/v.py": ""}, "output validator", False, True),
        ({"data/secret/a/testdata.yaml": "output_validator_flags: case_sensitive"}, "group", False, False),
    ],
)
def test_packages_that_need_more_than_this_judge_has_are_recognised(
    make_package: MakePackage, files: dict[str, str], reason: str, interactive: bool, custom: bool
) -> None:
    package = read_package(make_package(files))
    assert reason in package.unsupported
    assert (package.interactive, package.custom_validator) == (interactive, custom)


@pytest.mark.parametrize("name", ["problem", "name"])
def test_names_of_problems_are_left_to_others(make_package: MakePackage, name: str) -> None:
    package = read_package(make_package({"problem.yaml": f"{name}: {{en: Adding, de: Addieren}}"}))
    assert (package.name, package.problem_yaml) == ("adding", {name: {"en": "Adding", "de": "Addieren"}})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"data/secret/2.in": "1 2"}, r"secret/2\.ans is missing"),
        ({"data/sample/2.ans": "1 2"}, r"sample/2\.in is missing"),
        ({"problem.yaml": "name: [unclosed"}, r"problem\.yaml is not valid YAML"),
        ({"problem.yaml": "just text"}, "must hold a mapping"),
        ({"problem.yaml": "limits: 7"}, "limits must be a mapping"),
        ({"problem.yaml": "limits: {memory: -1}"}, "memory must be a positive number"),
        ({"problem.yaml": "limits: {time_limit: soon}"}, "time_limit must be a positive number"),
        ({"problem.yaml": "limits: {time_multiplier: .inf}"}, "time_multiplier must be a positive number"),
        ({".timelimit": ""}, r"\.timelimit must be a positive number"),
        ({".timelimit": "0"}, r"\.timelimit must be a positive number"),
        ({".timelimit": "1000000"}, "at most 3600"),
        ({"domjudge-problem.ini": "timelimit = nan"}, "timelimit must be a positive number"),
        ({"domjudge-problem.ini": "= = ="}, r"domjudge-problem\.ini"),
        ({"problem.yaml": "validator_flags: float_tolerance"}, "needs a number"),
        ({"problem.yaml": "validator_flags: fuzzy"}, "no flag 'fuzzy'"),
        ({"problem.yaml": 'validator_flags: "\'open"'}, "validator flags"),
        ({"problem.yaml": "limits: {time_multipliers: 3}"}, "time_multipliers must be a mapping"),
        ({"data/testdata.yaml": "a: [b"}, r"testdata\.yaml is not valid YAML"),
    ],
)
def test_broken_packages_are_refused_with_the_place(
    make_package: MakePackage, files: dict[str, str], message: str
) -> None:
    with pytest.raises(PackageError, match=message):
        read_package(make_package(files))


@pytest.mark.parametrize("path", [Path("/nowhere"), Path(__file__)])
def test_a_folder_without_a_problem_is_refused(path: Path) -> None:
    with pytest.raises(PackageError, match=r"no problem\.yaml"):
        read_package(path)


@given(yaml=st.text(max_size=40) | st.binary(max_size=40))
def test_any_problem_yaml_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, yaml: str | bytes
) -> None:
    folder = tmp_path_factory.mktemp("package")
    (folder / "problem.yaml").write_bytes(
        yaml if isinstance(yaml, bytes) else yaml.encode("utf-8", "replace")
    )
    try:
        package = read_package(folder)
    except PackageError as error:
        said = str(error)
    else:
        said = str(package.path)
    assert str(folder) in said


@pytest.mark.parametrize(
    ("file", "content", "expected", "left_out"),
    [
        ("accepted/a.py", "", {Verdict.AC}, ""),
        ("wrong_answer/a.cpp", "", {Verdict.WA}, ""),
        ("time_limit_exceeded/a.cc", "", {Verdict.TLE}, ""),
        ("run_time_error/a.py", "", CRASH, ""),
        ("rejected/a.py", "", CRASH | {Verdict.WA, Verdict.TLE, Verdict.CE}, ""),
        ("brute_force/a.py", "", CRASH | {Verdict.AC, Verdict.TLE}, ""),
        ("mixed/a.py", "# @EXPECTED_RESULTS@: TIMELIMIT, WRONG-ANSWER\n", {Verdict.TLE, Verdict.WA}, ""),
        ("mixed/a.cpp", "/* @EXPECTED_RESULTS@: CORRECT,RUN-ERROR */", CRASH | {Verdict.AC}, ""),
        (
            "mixed/a.cpp",
            "// @EXPECTED_RESULTS@: wrong_answer , time limit exceeded",
            {Verdict.WA, Verdict.TLE},
            "",
        ),
        ("accepted/a.py", "# @EXPECTED_RESULTS@: COMPILER-ERROR", {Verdict.CE}, ""),
        ("mixed/a.py", "# @EXPECTED_RESULTS@: CHECK-MANUALLY", set(), "CHECK-MANUALLY"),
        ("mixed/a.py", "", set(), "does not say which verdict"),
        ("accepted/a.kt", "", set(), "no language"),
        ("accepted/Makefile", "", set(), "no language"),
        ("accepted/several/a.py", "", set(), "several files"),
    ],
)
def test_labels_of_submissions_become_expected_verdicts(
    make_package: MakePackage, file: str, content: str, expected: set[Verdict], left_out: str
) -> None:
    (submission,) = read_package(make_package({f"submissions/{file}": content})).submissions
    assert submission.label == file.partition("/")[0]
    assert submission.expected == expected
    assert left_out in submission.left_out
    assert bool(submission.left_out) == bool(left_out)
