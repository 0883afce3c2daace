"""ICPC problem packages: real ones, small ones in both formats, and broken ones."""

import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge import Checker, Limits, OutputValidator, TestResult, Verdict
from judge.packages import PackageError, read_package

MEBIBYTE = 2**20
NEW = "problem_format_version: 2023-07\n"
CRASH = {Verdict.RTE, Verdict.MLE, Verdict.OLE}

MakePackage = Callable[..., Path]


@pytest.fixture
def make_package(tmp_path: Path) -> MakePackage:
    """Return a function that writes a package from names and contents; with two tests unless `tests` is false."""

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
        (NEW + "limits: {time_resolution: 0.1}", 0.02, 0.1),
        (NEW + "limits: {time_resolution: 0.1}", 0.15, 0.3),  # and not one step more for the rounding
        ("limits:\n  # time_multiplier: 100\n  memory: 64", 0.3, 2),
    ],
)
def test_a_time_limit_follows_from_the_slowest_accepted_submission(
    make_package: MakePackage, yaml: str, slowest: float, expected: float
) -> None:
    package = read_package(make_package({"problem.yaml": yaml}))
    assert package.derived_time_limit(slowest) == pytest.approx(expected, rel=1e-9)


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


VALIDATOR = {"output_validators/validate.py": "import sys\n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"problem.yaml": "validation: custom", **VALIDATOR},
            OutputValidator("python", {"validate.py": "import sys\n"}),
        ),
        (
            {"problem.yaml": "validation: custom\nvalidator_flags: a 'b c'", **VALIDATOR},
            OutputValidator("python", {"validate.py": "import sys\n"}, flags=("a", "b c")),
        ),
        (
            {"problem.yaml": "validation: custom interactive", **VALIDATOR},
            OutputValidator("python", {"validate.py": "import sys\n"}, interactive=True),
        ),
        (
            {
                "problem.yaml": "validation: custom\nlimits:\n"
                "  {validation_time: 7, validation_memory: 64, validation_output: 1}",
                **VALIDATOR,
            },
            OutputValidator(
                "python",
                {"validate.py": "import sys\n"},
                limits=Limits(time=7, memory=64 * MEBIBYTE, output=MEBIBYTE),
            ),
        ),
        (
            {
                "problem.yaml": "validation: custom",
                "output_validators/check/a.cpp": "int main() {}",
                "output_validators/check/validate.h": "",
                "output_validators/check/README": "how it works",
            },
            OutputValidator("cpp", {"a.cpp": "int main() {}", "validate.h": ""}),
        ),
        (
            {
                "problem.yaml": "validation: custom",
                "output_validators/a.cc": "int main() {}",
                "output_validators/validate.h": "",
            },
            OutputValidator("cpp", {"a.cc": "int main() {}", "validate.h": ""}),
        ),
        (
            {"problem.yaml": NEW, "output_validator/v.py": "", "output_validator/w.py": ""},
            OutputValidator("python", {"v.py": "", "w.py": ""}),
        ),
        (
            {"problem.yaml": NEW + "type: [pass-fail, interactive]", "output_validator/v.py": ""},
            OutputValidator("python", {"v.py": ""}, interactive=True),
        ),
        (
            {"problem.yaml": NEW + "type: multi-pass", "output_validator/v.py": ""},
            OutputValidator("python", {"v.py": ""}, passes=2),
        ),
        (
            {
                "problem.yaml": NEW + "type: [interactive, multi-pass]\nlimits: {validation_passes: 5}",
                "output_validator/v.py": "",
            },
            OutputValidator("python", {"v.py": ""}, interactive=True, passes=5),
        ),
    ],
)
def test_output_validators_become_the_checker(
    make_package: MakePackage, files: dict[str, str], expected: OutputValidator
) -> None:
    package = read_package(make_package(files))
    assert (package.checker, package.unsupported) == (Checker("validator", program=expected), "")


def test_the_default_validator_is_used_in_a_legacy_package_that_does_not_ask_for_its_own(
    make_package: MakePackage,
) -> None:
    package = read_package(make_package(VALIDATOR))
    assert (package.checker, package.unsupported) == (Checker(), "")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"problem.yaml": "validation: custom score"}, "scores"),
        ({"problem.yaml": "type: scoring"}, "scores"),
        ({"problem.yaml": NEW + "type: submit-answer"}, "answers, not programs"),
        ({"problem.yaml": "problem_format_version: 2031-01"}, "version '2031-01' is unknown"),
        ({"data/secret/a/testdata.yaml": "output_validator_flags: case_sensitive"}, "for some of the tests"),
        ({"data/secret/1.yaml": "output_validator_args: [case_sensitive]"}, "for some of the tests"),
        ({"data/secret/1.yaml": "args: [--fast]"}, "arguments for submissions"),
        ({"data/secret/1.files/words.txt": "a"}, "read files"),
        ({"include/cpp/grader.h": ""}, "files of its own"),
        ({"static_validator/v.py": ""}, "source of submissions"),
        (
            {"problem.yaml": NEW + "constants: {most: 7}", "submissions/accepted/a.py": "print({{most}})"},
            r"{{most}} of submissions/accepted/a\.py",
        ),
        ({"problem.yaml": NEW, "output_validator/build": "make", "output_validator/v.cpp": ""}, "build or run script"),
        ({"problem.yaml": NEW, "output_validator/run": "exec true"}, "build or run script"),
        ({"problem.yaml": NEW, "output_validator/v.hs": ""}, "language that this judge does not have"),
        ({"problem.yaml": NEW, "output_validator/v.h": ""}, "no language"),
        ({"problem.yaml": NEW, "output_validator/a\nb.py": ""}, "printable names"),
        ({"problem.yaml": NEW, "output_validator/v.py": "", "output_validator/w.cpp": ""}, "C\\+\\+ 20 and Python 3"),
        (
            {"problem.yaml": "validation: custom", "output_validators/a/v.py": "", "output_validators/b/v.py": ""},
            "several output validators",
        ),
    ],
)  # fmt: skip
def test_packages_that_need_more_than_this_judge_has_are_recognised(
    make_package: MakePackage, files: dict[str, str], reason: str
) -> None:
    assert re.search(reason, read_package(make_package(files)).unsupported)


@pytest.mark.parametrize("name", ["problem", "name"])
def test_names_of_problems_are_left_to_others(make_package: MakePackage, name: str) -> None:
    package = read_package(make_package({"problem.yaml": f"{name}: {{en: Adding, de: Addieren}}"}))
    assert (package.name, package.problem_yaml) == ("adding", {name: {"en": "Adding", "de": "Addieren"}})


ONE = {"submissions/accepted/a.py": ""}
BOMB = "a: &a [1, 2]\n" + "".join(
    f"{later}: &{later} [*{name}, *{name}, *{name}]\n" for name, later in pairwise("abcdefghijklmnopq")
)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"data/secret/2.in": "1 2"}, r"secret/2\.ans is missing"),
        ({"data/sample/2.ans": "1 2"}, r"sample/2\.in is missing"),
        ({"problem.yaml": "name: [unclosed"}, r"problem\.yaml is not valid YAML"),
        ({"problem.yaml": "just text"}, "must contain a mapping"),
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
        ({"problem.yaml": NEW + "limits: {time_multipliers: 3}"}, "time_multipliers must be a mapping"),
        ({"problem.yaml": f"limits: {{memory: 0x{'f' * 9999}}}"}, "too many digits"),
        ({"problem.yaml": "type: quiz"}, "no type of problem is called 'quiz'"),
        ({"problem.yaml": "validation: custom"}, "needs its own output validator"),
        ({"problem.yaml": NEW + "type: multi-pass"}, "needs its own output validator"),
        ({"problem.yaml": NEW, "output_validator/v.py": "a\0b"}, "NUL bytes"),
        (
            {
                "problem.yaml": NEW + "type: multi-pass\nlimits: {validation_passes: 0.5}",
                "output_validator/v.py": "",
            },
            "validation_passes must be a whole number, not 0.5",
        ),
        ({"problem.yaml": f"problem_format_version: 0x{'f' * 5000}"}, "cannot be read: Exceeds the limit"),
        ({"problem.yaml": f"validator_flags: [{'x,' * 101}]"}, "more than 100 flags"),
        ({"problem.yaml": f"validator_flags: {'x' * 10_001}"}, "or 10000 bytes"),
        ({"problem.yaml": NEW, "output_validator/v.py": "#" * 2**21}, "larger than"),
        ({"problem.yaml": 'validator_flags: "a\\0b"'}, "flags .* contain more than printable"),
        ({"problem.yaml": 'validator_flags: ["\\ud800"]'}, "flags .* contain more than printable"),
        ({"problem.yaml": "#" * 2**21}, "larger than"),
        pytest.param({"problem.yaml": "a: " + "[" * 2000}, "is not valid YAML", marks=pytest.mark.slow),
        ({"problem.yaml": BOMB}, "expands to more than"),
        ({"problem.yaml": "a: &a [*a]"}, "expands to more than"),
        ({"problem.yaml": "a: 2020-99-99"}, "is not valid YAML"),
        ({"data/testdata.yaml": "a: [b"}, r"testdata\.yaml is not valid YAML"),
        ({"data/secret/2.in": "", "data/secret/2.ans/1": ""}, r"2\.ans is not a regular file"),
        (
            {"data/secret/a\nb.in": "", "data/secret/a\nb.ans": ""},
            r"secret/a\\nb contains more than printable",
        ),
        ({"submissions/submissions.yaml": "accepted: 7"}, "accepted must map to a mapping"),
        ({"submissions/submissions.yaml": "accepted: {permitted: AC}", **ONE}, "permitted must be a list"),
        ({"submissions/submissions.yaml": "accepted: {required: [OK]}", **ONE}, "required must be a list"),
        (
            {"submissions/submissions.yaml": "accepted: {secret: AC}", **ONE},
            "tests of that name need a mapping",
        ),
        ({"submissions/submissions.yaml": f"'{'{a,b}' * 30}': {{}}", **ONE}, "more than 1000 alternatives"),
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


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../..", "/nowhere", "1.in"])
def test_links_must_stay_in_the_package(make_package: MakePackage, target: str) -> None:
    package = make_package()
    (package / "data/secret/2.in").symlink_to(target)
    (package / "data/secret/2.ans").symlink_to("1.ans")
    if target == "1.in":
        assert [test.name for test in read_package(package).tests] == ["sample/1", "secret/1", "secret/2"]
    else:
        with pytest.raises(PackageError, match=r"2\.in is a link that leads out of the package"):
            read_package(package)


def test_links_elsewhere_are_none_of_the_judges_business(make_package: MakePackage) -> None:
    package = make_package({"input_validators/v.cpp": ""})
    (package / "input_validators/shared.h").symlink_to("/etc/passwd")
    assert len(read_package(package).tests) == 2
    (package / "submissions").symlink_to("/etc")
    with pytest.raises(PackageError, match="submissions is a link that leads out"):
        read_package(package)


def test_links_in_a_circle_are_no_endless_tree(make_package: MakePackage) -> None:
    package = make_package()
    (package / "data/secret/again").symlink_to(".")
    assert len(read_package(package).tests) == 2
    (package / "data/secret/self.in").symlink_to("self.in")
    with pytest.raises(PackageError, match="link"):
        read_package(package)


def test_a_pipe_is_no_test(make_package: MakePackage) -> None:
    package = make_package({"data/secret/2.ans": ""})
    os.mkfifo(package / "data/secret/2.in")
    with pytest.raises(PackageError, match=r"2\.in is not a regular file"):
        read_package(package)


YAML_WORDS = st.sampled_from(
    ["limits", "type", "validation", "custom", "interactive", "multi-pass", "memory", "time_limit", "2023-07",
     "problem_format_version", "validator_flags", "validation_passes", "time_multipliers", "permitted", "required",
     "accepted", "*a", "&a", "<<", "!!int", "!!timestamp", "!!binary", "0x1f", "1e999", ".inf", "~", "2020-99-99"]
)  # fmt: skip
YAML = st.lists(
    YAML_WORDS
    | st.sampled_from([": ", "\n", "- ", "[", "]", "{", "}", ", ", '"', "'", "  ", "#", "|", "\0"]),
    max_size=30,
).map("".join)
NAMES = st.sampled_from(
    ["problem.yaml", ".timelimit", "domjudge-problem.ini", "data/testdata.yaml", "data/secret/test_group.yaml",
     "data/secret/1.in", "data/secret/1.ans", "data/secret/1.yaml", "data/secret/2.in/x", "data/sample",
     "output_validator/v.py", "output_validator/build", "output_validators/v/v.cpp", "include/cpp/x.h",
     "submissions/submissions.yaml", "submissions/accepted/a.py", "submissions/mixed/b.cpp", "submissions/c"]
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    files=st.dictionaries(
        NAMES, YAML.map(str.encode) | st.text(max_size=40).map(str.encode) | st.binary(max_size=40)
    )
)
def test_any_tree_of_files_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("package")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / name).exists():
            (folder / name).write_bytes(content)
    try:
        package = read_package(folder)
    except PackageError as error:
        said = str(error)
    else:
        said = str(package.path)
    assert str(folder) in said or "submissions.yaml" in said
    assert said.isprintable()


@pytest.mark.parametrize(
    ("file", "content", "expected", "skipped"),
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
        ("mixed/a.java", "// @EXPECTED_RESULTS@:  MEMORY_LIMIT\r\n", {Verdict.MLE}, ""),
        ("mixed/a.hs", "{- @EXPECTED_RESULTS@: NO-OUTPUT; output-limit -}", set(), "no language"),
        ("mixed/a.py", '"""\n@EXPECTED_RESULTS@ : { Time_Limit | run-time error }\n"""', CRASH | {Verdict.TLE}, ""),
        ("mixed/a.py", "#@EXPECTED_RESULTS@:CORRECT\n#@EXPECTED_RESULTS@:TIMELIMIT", {Verdict.AC, Verdict.TLE}, ""),
        ("memory_limit_exceeded/a.py", "", {Verdict.MLE}, ""),
        ("output_limit/a.py", "", {Verdict.OLE}, ""),
        ("output_limit_exceeded/a.py", "", {Verdict.OLE}, ""),
        ("compiler_error/a.py", "", {Verdict.CE}, ""),
        ("slow_accepted/a.py", "", {Verdict.AC, Verdict.TLE}, ""),
        ("partially_accepted/a.py", "", set(), "part of the score"),
        ("accepted/a.py", "#" * 2**21, set(), "larger than"),
        ("accepted/a\nb.py", "", set(), r"a\nb.py contains more than printable"),
        ("mixed/a.py", "# @EXPECTED_RESULTS@: CHECK-MANUALLY", set(), "CHECK-MANUALLY"),
        ("mixed/a.py", "", set(), "which verdict is expected"),
        ("accepted/a.hs", "", set(), "no language"),
        ("accepted/Makefile", "", set(), "no language"),
        ("accepted/several/a.py", "", {Verdict.AC}, ""),
        ("mixed/several/a.py", "# @EXPECTED_RESULTS@: TIMELIMIT", {Verdict.TLE}, ""),
        ("accepted/deep/er/a.py", "", set(), "not a regular file"),
    ],
)  # fmt: skip
def test_labels_of_submissions_become_expected_verdicts(
    make_package: MakePackage, file: str, content: str, expected: set[Verdict], skipped: str
) -> None:
    (submission,) = read_package(make_package({f"submissions/{file}": content})).submissions
    assert submission.label == file.partition("/")[0]
    assert submission.expected == expected
    assert skipped in submission.skipped
    assert bool(submission.skipped) == bool(skipped)


def test_submissions_of_several_files_are_in_one_language(make_package: MakePackage) -> None:
    files = {"a/x.cpp": "1", "a/x.h": "2", "b/x.cpp": "", "b/y.py": "", "c/x.h": ""}
    package = read_package(
        make_package({f"submissions/accepted/{name}": text for name, text in files.items()})
    )
    one, mixed, headers = package.submissions
    assert (one.language, one.sources(), one.skipped) == ("cpp", {"x.cpp": "1", "x.h": "2"}, "")
    assert "cpp and python" in mixed.skipped
    assert "no language" in headers.skipped


# submissions.yaml, a submission, its verdicts on the samples and the secret tests, whether the rules hold, and the
# expected verdicts.
@pytest.mark.parametrize(
    ("yaml", "file", "verdicts", "holds", "expected"),
    [
        ("accepted: {authors: [A]}", "accepted/a.py", "AC AC AC", True, "AC"),
        ("wrong_answer: {permitted: [AC, WA, RTE]}", "wrong_answer/a.py", "AC RTE WA", True, "MLE OLE RTE WA"),
        ("wrong_answer: {permitted: [AC, WA, RTE]}", "wrong_answer/a.py", "AC RTE AC", False, "MLE OLE RTE WA"),
        ("wrong_answer: {permitted: [AC, WA, RTE]}", "wrong_answer/a.py", "AC MLE WA", True, "MLE OLE RTE WA"),
        ("'*/a.py': {permitted: [AC]}", "accepted/a.py", "AC AC AC", True, "AC"),
        ("'*/{a,b}.py': {required: [TLE], permitted: [TLE, AC]}", "mixed/a.py", "AC AC TLE", True, "TLE"),
        ("'*/{a,b}.py': {required: [TLE], permitted: [TLE, AC]}", "mixed/a.py", "AC AC AC", False, "TLE"),
        ("accepted/b.py: {permitted: [WA]}", "accepted/a.py", "AC AC AC", True, "AC"),
        ("{slow}/a.py: {sample: {permitted: [AC]}}", "{slow}/a.py", "AC TLE AC", True, "TLE"),
        ("{slow}/a.py: {sample: {permitted: [AC]}}", "{slow}/a.py", "TLE AC AC", False, "TLE"),
        ("{slow}: {secret/*-hard: {required: [TLE]}}", "{slow}/a.py", "AC AC TLE", True, "TLE"),
        ("{slow}: {secret/*-hard: {required: [TLE]}}", "{slow}/a.py", "AC TLE AC", False, "TLE"),
        ("wrong_answer: {message: too low}", "wrong_answer/a.py", "AC AC WA", True, "WA"),
        ("wrong_answer: {message: too high}", "wrong_answer/a.py", "AC AC WA", False, "WA"),
    ],
)  # fmt: skip
def test_submissions_yaml_says_what_submissions_must_do(
    make_package: MakePackage, yaml: str, file: str, verdicts: str, holds: bool, expected: str
) -> None:
    yaml, file = (text.replace("{slow}", "time_limit_exceeded") for text in (yaml, file))
    files = {"submissions/submissions.yaml": yaml, f"submissions/{file}": ""}
    (submission,) = read_package(make_package(files)).submissions
    assert (" ".join(sorted(submission.expected)), submission.skipped) == (expected, "")
    results = [
        TestResult(name, Verdict(verdict), 0, 0, 0, 0, None, "it is too low", "", "", name == "sample/1")
        for name, verdict in zip(
            ["sample/1", "secret/1-easy", "secret/2-hard"], verdicts.split(), strict=True
        )
    ]
    assert all(rule.broken_by(results) == "" for rule in submission.rules) is holds


@pytest.mark.parametrize(
    ("yaml", "language", "skipped", "sets_time_limit"),
    [
        ("accepted: {language: cpp}", "cpp", "", True),
        ("accepted: {language: haskell}", None, "haskell", False),
        ("accepted: {permitted: [WA]}", "python", "", False),
        ("accepted/a.py: {permitted: [WA], required: [WA]}", "python", "no verdict satisfies", False),
        ("accepted/a.py: {use_for_time_limit: false}", "python", "", False),
        ("accepted/a.py: {use_for_time_limit: lower}", "python", "", True),
    ],
)
def test_submissions_yaml_names_languages_and_what_sets_the_time_limit(
    make_package: MakePackage, yaml: str, language: str, skipped: str, sets_time_limit: bool
) -> None:
    files = {"submissions/submissions.yaml": yaml, "submissions/accepted/a.py": ""}
    (submission,) = read_package(make_package(files)).submissions
    assert (submission.language, submission.sets_time_limit) == (language, sets_time_limit)
    assert skipped in submission.skipped
    assert bool(submission.skipped) == bool(skipped)


def test_a_package_may_give_compilers_more_time(tmp_path: Path) -> None:
    for text, seconds in (
        ("limits: {time_limit: 1}", 60),
        ("limits: {time_limit: 1, compilation_time: 90}", 90),
    ):
        (tmp_path / "problem.yaml").write_text(f"name: one\n{text}\n")
        assert read_package(tmp_path).compile_time == seconds
