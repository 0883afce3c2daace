"""manage.py verify_package judges labelled submissions of packages in the real sandbox."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judge import LANGUAGES, get_language
from tests.judge.test_packages import MakePackage, make_package
from tests.missing_programs import skip_or_fail

__all__ = ["make_package"]  # the fixture

pytestmark = pytest.mark.usefixtures("sandbox")

ADD = "print(sum(map(int, input().split())))"
ADD_CPP = '#include <cstdio>\nint main() { int a, b; scanf("%d%d", &a, &b); printf("%d\\n", a + b); }'
FINE = (
    "problem_format_version: 2023-07\n"
    "limits: {time_resolution: 0.1, time_multipliers: {ac_to_time_limit: 1, time_limit_to_tle: 2}}"
)
LABELLED = {
    ".timelimit": "1",
    "submissions/accepted/right.py": ADD,
    "submissions/accepted/right.cpp": ADD_CPP,
    "submissions/accepted/right.hs": "main = return ()",
    "submissions/wrong_answer/three.py": "print(3)",
    "submissions/run_time_error/crash.py": "raise ValueError",
    "submissions/mixed/either.py": f"# @EXPECTED_RESULTS@: CORRECT, TIMELIMIT\n{ADD}",
}


def verify(*arguments: object) -> tuple[dict[str, Any], int]:
    """Return the command's JSON document and its exit status."""
    output, status = io.StringIO(), 0
    try:
        call_command("verify_package", *map(str, arguments), "--json", stdout=output)
    except SystemExit as end:
        status = int(end.code or 0)
    return json.loads(output.getvalue()), status


def test_every_label_is_compared_with_its_verdict(make_package: MakePackage) -> None:
    document, status = verify(make_package(LABELLED), "--jobs", 2)
    assert (document["agree"], document["total"], status) == (5, 5, 0)
    keys = {"package", "file", "language", "expected", "verdict", "agree", "time", "memory", "test", "reason"}
    assert all(entry.keys() == keys for entry in document["submissions"])
    verdicts = {entry["file"]: entry["verdict"] for entry in document["submissions"]}
    assert verdicts == {
        "accepted/right.cpp": "AC",
        "accepted/right.py": "AC",
        "mixed/either.py": "AC",
        "run_time_error/crash.py": "RTE",
        "wrong_answer/three.py": "WA",
    }
    assert document["confusion"] == {
        "AC": {"AC": 2},
        "AC|TLE": {"AC": 1},
        "MLE|OLE|RTE": {"RTE": 1},
        "WA": {"WA": 1},
    }
    (left_out,) = document["left_out"]
    assert left_out["file"] == "accepted/right.hs"
    assert "no language" in left_out["reason"]


def test_a_disagreement_is_counted_explained_and_fails_the_command(make_package: MakePackage) -> None:
    document, status = verify(make_package({".timelimit": "1", "submissions/accepted/wrong.py": "print(3)"}))
    assert (document["agree"], document["total"], status) == (0, 1, 1)
    (entry,) = document["submissions"]
    assert (entry["expected"], entry["verdict"], entry["agree"]) == (["AC"], "WA", False)
    assert entry["test"] == "secret/1"
    assert "secret/1" in entry["reason"]
    assert entry["memory"] > 0


def test_languages_can_be_chosen(make_package: MakePackage) -> None:
    document, status = verify(make_package(LABELLED), "--language", "cpp")
    assert ([entry["file"] for entry in document["submissions"]], status) == (["accepted/right.cpp"], 0)


def test_a_missing_time_limit_is_derived_from_accepted_submissions_of_any_language(
    make_package: MakePackage,
) -> None:
    files = {
        "problem.yaml": FINE,
        "submissions/accepted/right.py": ADD,
        "submissions/time_limit_exceeded/loop.cpp": "int main() { for (volatile int i = 0;; i++); }",
    }
    document, status = verify(make_package(files), "--language", "cpp")
    (entry,) = document["submissions"]
    assert (entry["verdict"], status) == ("TLE", 0)
    assert entry["time"] < 1


WAITING = "#include <cstdio>\n#include <ctime>\nint main() { while (clock() < SECONDS * CLOCKS_PER_SEC); "


def busy(seconds: float, then: str = 'int a, b; scanf("%d%d", &a, &b); printf("%d\\n", a + b);') -> str:
    """Return a C++ program that computes for this time on each test and then answers it."""
    return WAITING.replace("SECONDS", str(seconds)) + then + " }"


def test_a_missing_time_limit_is_derived_from_compiled_languages_where_they_pass(
    make_package: MakePackage, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "problem.yaml": FINE,
        "submissions/accepted/slow.py": "import time\nwhile time.process_time() < 0.9: pass\n" + ADD,
        "submissions/accepted/right.cpp": busy(0.12),
    }
    package = make_package(files)
    document, status = verify(package)
    [derived] = document["derived_limits"]
    assert (derived["slowest"], derived["from"]) == ("accepted/right.cpp", "C++ and Java")
    assert derived["time_limit"] < 0.4
    verdicts = {entry["file"]: entry["verdict"] for entry in document["submissions"]}
    assert (verdicts, status) == ({"accepted/right.cpp": "AC", "accepted/slow.py": "TLE"}, 1)
    with pytest.raises(SystemExit):
        call_command("verify_package", str(package))
    assert "accepted/right.cpp (the slowest accepted submission in C++ and Java)" in capsys.readouterr().out
    (package / "submissions/accepted/right.cpp").unlink()
    document, status = verify(package)
    [derived] = document["derived_limits"]
    assert (derived["slowest"], derived["from"], status) == ("accepted/slow.py", "all languages", 0)


CALIBRATED = {
    ".timelimit": "0.4",
    "submissions/accepted/quick.cpp": busy(0.02),
    "submissions/accepted/slow.cpp": busy(0.2),
    "submissions/time_limit_exceeded/soon.cpp": busy(0.8),
    "submissions/time_limit_exceeded/never.cpp": "int main() { for (volatile int i = 0;; i++); }",
    "submissions/wrong_answer/three.cpp": busy(0.01, 'puts("3");'),
    "submissions/mixed/either.cpp": f"// @EXPECTED_RESULTS@: CORRECT, TIMELIMIT\n{busy(0.5)}",
}


def calibrate(package: Path) -> tuple[dict[str, Any], int]:
    """Return the JSON document of `--calibrate` and the exit status."""
    return verify(package, "--calibrate")


def test_calibration_finds_the_factors_at_which_all_labels_agree(make_package: MakePackage) -> None:
    document, status = calibrate(make_package(CALIBRATED))
    [found] = document["packages"]
    assert found["lower"]["file"] == "accepted/slow.cpp"
    assert 0.45 < found["lower"]["ratio"] < 0.8
    assert found["upper"]["file"] == "time_limit_exceeded/soon.cpp"
    assert 1.9 < found["upper"]["ratio"] < 2.6
    assert (found["agrees"], found["disagreeing"], status) == (True, [], 0)
    assert found["accepted_margin"] == pytest.approx(1 / found["lower"]["ratio"], rel=0.01)
    assert (found["promised_accepted_margin"], found["promised_timeout_margin"]) == (5, 2)
    assert document["range"]["lower"] == found["lower"]
    assert document["machine"]["factor"] == 1.0


def test_calibration_names_labels_that_no_factor_satisfies(
    make_package: MakePackage, capsys: pytest.CaptureFixture[str]
) -> None:
    few = (".timelimit", "submissions/accepted/quick.cpp", "submissions/time_limit_exceeded/soon.cpp")
    files = {name: CALIBRATED[name] for name in few}
    files["submissions/accepted/wrong.cpp"] = busy(0.01, 'puts("3");')
    package = make_package(files)
    document, status = calibrate(package)
    assert (document["range"]["agrees"], status) == (False, 1)
    assert document["range"]["disagreeing"] == ["adding/accepted/wrong.cpp: WA instead of AC"]
    with pytest.raises(SystemExit):
        call_command("verify_package", str(package), "--calibrate", "--language", "cpp")
    printed = capsys.readouterr().out
    assert "No factor satisfies the labels of all packages." in printed
    assert "adding/time_limit_exceeded/soon.cpp" in printed
    assert "times the CPU time of the reference machine" in printed


def test_calibration_finds_crossed_labels(make_package: MakePackage) -> None:
    files = {
        ".timelimit": "0.2",
        "submissions/accepted/slow.cpp": busy(0.3),
        "submissions/time_limit_exceeded/quick.cpp": busy(0.02),
    }
    document, status = calibrate(make_package(files))
    assert (document["range"]["agrees"], status) == (False, 1)
    assert document["range"]["lower"]["ratio"] > document["range"]["upper"]["ratio"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"data/secret/2.in": ""}, "2.ans is missing"),
        ({"problem.yaml": "name: [b"}, "not valid YAML"),
        ({"submissions/accepted/wrong.py": "print(3)"}, "no accepted submission"),
    ],
)
def test_a_broken_package_is_named_and_fails_the_command(
    make_package: MakePackage, files: dict[str, str], reason: str
) -> None:
    document, status = verify(make_package({"submissions/wrong_answer/three.py": "print(3)"} | files))
    assert status == 1
    assert reason in document["left_out"][0]["reason"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"problem.yaml": "validation: custom score"}, "scores"),
        ({"include/python/grader.py": ""}, "files of its own"),
        ({"submissions": None}, "it has no submissions"),
        ({"data": None}, "it has no tests"),
    ],
)
def test_a_package_that_cannot_be_judged_faithfully_is_not_judged(
    make_package: MakePackage, files: dict[str, str | None], reason: str
) -> None:
    removed = {name for name, content in files.items() if content is None}
    package = make_package(LABELLED | {name: text for name, text in files.items() if text is not None})
    for name in removed:
        shutil.rmtree(package / name)
    document, status = verify(package)
    assert (document["total"], document["submissions"], status) == (0, [], 1)
    assert reason in document["left_out"][0]["reason"]


def test_python_submissions_are_judged_by_the_interpreter_that_was_named(make_package: MakePackage) -> None:
    which = "import sys\nassert sys.implementation.name == 'pypy'\n"
    files = {".timelimit": "1", "submissions/accepted/right.py": which + ADD}
    if shutil.which("pypy3") is None:
        skip_or_fail("PyPy is not installed: apt-get install pypy3")
    document, status = verify(make_package(files), "--python", "pypy", "--language", "python")
    assert ([entry["language"] for entry in document["submissions"]], status) == (["pypy"], 0)
    document, status = verify(make_package(files))
    assert ([entry["verdict"] for entry in document["submissions"]], status) == (["RTE"], 1)


def test_fresh_start_starts_an_interpreter_for_each_test(make_package: MakePackage) -> None:
    alone = "assert b'fork_server' not in open('/proc/self/cmdline', 'rb').read(), 'forked'\n"
    tests = {
        f"data/secret/{name}": text
        for n in "234"
        for name, text in ((f"{n}.in", "1 2\n"), (f"{n}.ans", "3\n"))
    }
    files = {".timelimit": "1", "submissions/accepted/right.py": alone + ADD, **tests}
    document, status = verify(make_package(files), "--fresh-start")
    assert ([entry["verdict"] for entry in document["submissions"]], status) == (["AC"], 0)
    document, status = verify(make_package(files))
    assert ([entry["verdict"] for entry in document["submissions"]], status) == (["RTE"], 1)


def test_a_language_without_a_compiler_here_is_left_out(
    make_package: MakePackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = replace(get_language("java"), find_tool=lambda: None)
    monkeypatch.setitem(LANGUAGES, "java", nowhere)
    files = {".timelimit": "1", "submissions/accepted/Right.java": "", "submissions/accepted/right.py": ADD}
    document, status = verify(make_package(files))
    assert (document["agree"], document["total"], status) == (1, 1, 0)
    assert "sudo apt install" in document["left_out"][0]["reason"]


def test_submissions_may_have_several_files(make_package: MakePackage) -> None:
    parts = {
        "submissions/accepted/parts/main.cpp": '#include "add.h"\n' + ADD_CPP.replace("a + b", "add(a, b)"),
        "submissions/accepted/parts/add.h": "int add(int, int);",
        "submissions/accepted/parts/add.cpp": '#include "add.h"\nint add(int a, int b) { return a + b; }',
    }
    document, status = verify(make_package({".timelimit": "1"} | parts))
    assert ([entry["file"] for entry in document["submissions"]], status) == (["accepted/parts"], 0)


def test_rules_of_submissions_yaml_are_checked_on_all_tests(make_package: MakePackage) -> None:
    files = {
        ".timelimit": "1",
        "submissions/submissions.yaml": "wrong_answer/*.py: {sample: {permitted: [AC]}}",
        "submissions/wrong_answer/late.py": "print(3)",
        "submissions/wrong_answer/early.py": "print(7)",
    }
    document, status = verify(make_package(files))
    assert {entry["file"]: entry["agree"] for entry in document["submissions"]} == {
        "wrong_answer/late.py": True,
        "wrong_answer/early.py": False,
    }
    assert status == 1
    assert "WA on test sample/1 is not permitted" in document["submissions"][0]["reason"]


def test_a_submission_that_is_hardly_too_slow_for_a_derived_limit_is_pointed_out(
    make_package: MakePackage,
) -> None:
    files = {
        "problem.yaml": FINE,
        "submissions/accepted/right.cpp": ADD_CPP,
        "submissions/time_limit_exceeded/hardly.cpp": "#include <ctime>\n"
        "int main() { while (clock() < 0.15 * CLOCKS_PER_SEC); }",
    }
    document, status = verify(make_package(files))
    (_, entry) = document["submissions"]
    assert (entry["verdict"], status) == ("TLE", 0)
    assert "not 0.2 s" in entry["reason"]


DIVISOR = """
#include "validate.h"
int main(int, char** arguments) {
    std::ifstream input(arguments[1]);
    std::ofstream message(std::string(arguments[3]) + "judgemessage.txt");
    long n, divisor;
    input >> n;
    if (!(std::cin >> divisor)) { message << "no number"; return REJECT; }
    message << divisor << (n % divisor ? " does not divide " : " divides ") << n;
    return n % divisor || divisor == 1 || divisor == n ? REJECT : ACCEPT;
}
"""
ANY_DIVISOR = {
    "problem.yaml": "validation: custom",
    ".timelimit": "1",
    "output_validators/divisor/validate.h": "#include <fstream>\n#include <iostream>\n"
    "enum { ACCEPT = 42, REJECT = 43 };\n",
    "output_validators/divisor/validate.cpp": DIVISOR,
    "data/sample/1.in": "15\n",
    "data/sample/1.ans": "3\n",
    "data/secret/1.in": "77\n",
    "data/secret/1.ans": "7\n",
    "submissions/accepted/smallest.py": "n = int(input())\nprint(next(d for d in range(2, n) if n % d == 0))",
    "submissions/accepted/largest.py": "n = int(input())\nprint(next(d for d in range(n - 1, 1, -1) if n % d == 0))",
    "submissions/wrong_answer/three.py": "print(3)",
    "submissions/wrong_answer/silent.py": "pass",
    "submissions/run_time_error/zero.py": "print(3, flush=True)\n1 // 0",
}

GUESS = """
import sys
secret = int(open(sys.argv[1]).read())
def end(status, why):
    open(sys.argv[3] + "judgemessage.txt", "w").write(why)
    sys.exit(status)
for _ in range(int(sys.argv[4])):
    line = sys.stdin.readline()
    if not line.strip().isdigit(): end(43, f"{line!r} is no number")
    if int(line) == secret: print("right", flush=True); end(42, "guessed")
    print("more" if int(line) < secret else "less", flush=True)
end(43, "too many guesses")
"""
GUESSING = """
low, high = 1, 1000
while True:
    print((low + high) // 2, flush=True)
    answer = input()
    if answer == "right": break
    if answer == "more": low = (low + high) // 2 + 1
    else: high = (low + high) // 2 - 1
"""
GUESS_A_NUMBER = {
    "problem.yaml": "validation: custom interactive\nvalidator_flags: 10",
    ".timelimit": "0.3",
    "output_validators/guess.py": GUESS,
    "data/sample/1.in": "500",
    "data/sample/1.ans": "",
    "data/secret/1.in": "731",
    "data/secret/1.ans": "",
    "submissions/accepted/halves.py": GUESSING,
    "submissions/accepted/halves.cpp": "#include <iostream>\n#include <string>\n"
    'int main() { int low = 1, high = 1000, m; std::string s; while (s != "right") {\n'
    "std::cout << (m = (low + high) / 2) << std::endl; std::cin >> s;\n"
    '(s == "more" ? low = m + 1 : high = m - 1); } }',
    "submissions/wrong_answer/counts.py": "i = 0\nwhile True:\n    i += 1\n    print(i, flush=True)\n    input()",
    "submissions/wrong_answer/quits.py": "print(500)",
    "submissions/run_time_error/quits.py": "print(3, flush=True)\ninput()\n1 // 0",
    "submissions/time_limit_exceeded/thinks.cpp": "#include <ctime>\nint main() { for (volatile int i = 0;; i++); }",
}

# The program encodes a list in the first pass and decodes its own output in the second.
CODED = """
import sys
feedback = sys.argv[3]
lines = open(sys.argv[1]).read().splitlines()
output = sys.stdin.read().strip()
if lines[0] == "encode":
    if len(output) > 20 or not output.isalpha(): sys.exit(43)
    open(feedback + "word", "w").write(lines[1])
    open(feedback + "nextpass.in", "w").write("decode\\n" + output)
    sys.exit(42)
sys.exit(42 if output == open(feedback + "word").read() else 43)
"""
CODE = """
how, text = input(), input()
if how == "encode": print("".join(chr(ord("a") + int(digit)) for digit in text))
else: print("".join(str(ord(letter) - ord("a")) for letter in text))
"""
ENCODE_DECODE = {
    "problem.yaml": "problem_format_version: 2023-07\ntype: multi-pass\nlimits: {time_limit: 1.0}",
    "output_validator/coded.py": CODED,
    "data/sample/1.in": "encode\n012\n",
    "data/sample/1.ans": "",
    "data/secret/1.in": "encode\n999\n",
    "data/secret/1.ans": "",
    "submissions/accepted/letters.py": CODE,
    "submissions/wrong_answer/forgets.py": CODE.replace('ord("a"))', 'ord("b"))'),
    "submissions/wrong_answer/keeps_it_in_a_file.py": (
        "how, text = input(), input()\n"
        "if how == 'encode': open('kept', 'w').write(text); print('a')\n"
        "else:\n    try: print(open('kept').read())\n    except OSError: print('gone')"
    ),
    "submissions/run_time_error/cannot_decode.py": CODE.replace("else: ", "else: 1 // 0; "),
}


@pytest.mark.parametrize(
    ("files", "total"),
    [(ANY_DIVISOR, 5), (GUESS_A_NUMBER, 6), (ENCODE_DECODE, 4)],
    ids=["any", "guess", "code"],
)
def test_packages_with_validators_interaction_and_passes_agree_with_their_labels(
    make_package: MakePackage, files: dict[str, str], total: int
) -> None:
    document, status = verify(make_package(files, tests=False))
    assert [entry for entry in document["submissions"] if not entry["agree"]] == []
    assert (document["agree"], document["total"], document["left_out"], status) == (total, total, [], 0)


def test_a_validator_that_fails_is_named_to_the_packages_author(make_package: MakePackage) -> None:
    broken = ANY_DIVISOR | {"output_validators/divisor/validate.cpp": "int main() { return 1; }"}
    document, status = verify(make_package(broken, tests=False), "--language", "python")
    verdicts = {entry["file"]: entry["verdict"] for entry in document["submissions"]}
    assert (verdicts["accepted/smallest.py"], verdicts["run_time_error/zero.py"], status) == ("JE", "RTE", 1)
    said = document["submissions"][0]["reason"]
    assert "test sample/1" in said
    assert "output validator ended with status 1 instead of 42 or 43" in said


def test_a_folder_of_packages_stands_for_all_of_them(make_package: MakePackage) -> None:
    folder = make_package(LABELLED).parent
    document, _ = verify(folder, "--language", "python")
    assert {entry["package"] for entry in document["submissions"]} == {"adding"}


def test_files_beside_packages_are_passed_over_but_a_file_alone_is_refused(make_package: MakePackage) -> None:
    package = make_package({".timelimit": "1", "submissions/accepted/right.py": ADD})
    readme = package.parent / "README.md"
    readme.write_text("What these packages are.")
    document, status = verify(package, readme)
    assert (document["total"], document["left_out"], status) == (1, [], 0)
    document, status = verify(readme)
    assert (document["total"], status) == (0, 1)
    assert "README.md" in document["left_out"][0]["reason"]


def test_the_table_names_disagreements_the_confusion_and_what_was_left_out(
    make_package: MakePackage, capsys: pytest.CaptureFixture[str]
) -> None:
    package = make_package(LABELLED | {"submissions/accepted/wrong.py": "print(3)"})
    with pytest.raises(SystemExit) as end:
        call_command("verify_package", str(package), "--language", "python")
    assert end.value.code == 1
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert any("accepted/wrong.py" in line and "DISAGREES" in line for line in lines)
    assert [line.split() for line in lines if line.startswith("AC ")] == [["AC", "1", "0", "1"]]
    assert "4 of 5 agree with their label." in lines
    assert any("right.hs" in line and "no language" in line for line in lines)
    assert "5/5" in printed.err


def test_without_a_sandbox_the_command_says_so(
    make_package: MakePackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.sandbox.discovery._found", {})
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CommandError, match="bubblewrap"):
        call_command("verify_package", str(make_package(LABELLED)), "--json", stdout=io.StringIO())


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_a_number_of_jobs_that_is_none_is_refused(make_package: MakePackage, jobs: str) -> None:
    with pytest.raises(CommandError, match="at least 1"):
        call_command("verify_package", str(make_package(LABELLED)), f"--jobs={jobs}")


BREWING = """
n, p = input().split()
target = round(float(p) * 1000)
litres, sides = 0, {1: [], -1: []}
for _ in range(int(n)):
    c, q = input().split()
    off = round(float(q) * 1000) - target
    if off == 0: litres += int(c)
    else: sides[1 if off > 0 else -1].append((abs(off), int(c)))
small, large = sorted(sides.values(), key=lambda side: sum(off * c for off, c in side))
room = sum(off * c for off, c in small)
litres += sum(c for _, c in small)
for off, c in sorted(large):
    used = min(c, room / off)
    litres += used
    room -= used * off
print(litres)
"""

WALDO = """
#include <cstdio>
#include <algorithm>
#include <string>
#include <vector>
#include <iostream>
int main() {
    int h, w;
    std::cin >> h >> w;
    std::vector<std::string> g(h), turned(w, std::string(h, ' '));
    for (auto& row : g) std::cin >> row;
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) turned[j][i] = g[i][j];
    if (h > w) std::swap(g, turned), std::swap(h, w);
    long best = 1L << 40;
    for (int top = 0; top < h; top++) {
        std::vector<int> mask(w);
        for (int bottom = top; bottom < h; bottom++) {
            for (int j = 0; j < w; j++)
                for (int k = 0; k < 5; k++)
                    if (g[bottom][j] == "WALDO"[k]) mask[j] |= 1 << k;
            int count[5] = {}, have = 0;
            for (int right = 0, left = 0; right < w; right++) {
                for (int k = 0; k < 5; k++)
                    if (mask[right] >> k & 1) have += !count[k]++;
                for (; have == 5; left++) {
                    best = std::min(best, long(bottom - top + 1) * (right - left + 1));
                    for (int k = 0; k < 5; k++)
                        if (mask[left] >> k & 1) have -= !--count[k];
                }
            }
        }
    }
    if (best == 1L << 40) puts("impossible");
    else printf("%ld\\n", best);
}
"""


@pytest.mark.parametrize(
    ("name", "ending", "right", "wrong"),
    [
        ("basicbrewing", "py", BREWING, BREWING.replace("print(litres)", "print(round(litres))")),
        ("lookingforwaldo", "cpp", WALDO, WALDO.replace("top < h", "top < 1")),
    ],
)
def test_real_packages_are_judged(
    shared_data: Path, tmp_path: Path, name: str, ending: str, right: str, wrong: str
) -> None:
    package = tmp_path / name
    shutil.copytree(shared_data / "packages" / name, package)
    for file, source in ((f"accepted/right.{ending}", right), (f"wrong_answer/wrong.{ending}", wrong)):
        (package / "submissions" / file).parent.mkdir(parents=True)
        (package / "submissions" / file).write_text(source)
    document, status = verify(package)
    assert (document["agree"], document["total"], status) == (2, 2, 0), document
