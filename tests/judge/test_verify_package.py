"""manage.py verify_package: the labelled submissions of packages, judged for real."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.judge.test_packages import MakePackage, make_package

__all__ = ["make_package"]  # the fixture

pytestmark = pytest.mark.usefixtures("sandbox")

ADD = "print(sum(map(int, input().split())))"
ADD_CPP = '#include <cstdio>\nint main() { int a, b; scanf("%d%d", &a, &b); printf("%d\\n", a + b); }'
LABELLED = {
    ".timelimit": "1",
    "submissions/accepted/right.py": ADD,
    "submissions/accepted/right.cpp": ADD_CPP,
    "submissions/accepted/right.kt": "fun main() {}",
    "submissions/wrong_answer/three.py": "print(3)",
    "submissions/run_time_error/crash.py": "raise ValueError",
    "submissions/mixed/either.py": f"# @EXPECTED_RESULTS@: CORRECT, TIMELIMIT\n{ADD}",
}


def verify(*arguments: object) -> tuple[dict[str, Any], int]:
    """The command's JSON document and its exit status."""
    output, status = io.StringIO(), 0
    try:
        call_command("verify_package", *map(str, arguments), "--json", stdout=output)
    except SystemExit as end:
        status = int(end.code or 0)
    return json.loads(output.getvalue()), status


def test_every_label_is_compared_with_its_verdict(make_package: MakePackage) -> None:
    document, status = verify(make_package(LABELLED), "--jobs", 2)
    assert (document["agree"], document["total"], status) == (5, 5, 0)
    keys = {"package", "file", "language", "expected", "verdict", "agree", "time", "reason"}
    assert all(entry.keys() == keys for entry in document["submissions"])
    verdicts = {entry["file"]: entry["verdict"] for entry in document["submissions"]}
    assert verdicts == {
        "accepted/right.cpp": "AC",
        "accepted/right.py": "AC",
        "mixed/either.py": "AC",
        "run_time_error/crash.py": "RTE",
        "wrong_answer/three.py": "WA",
    }
    (left_out,) = document["left_out"]
    assert left_out["file"] == "accepted/right.kt"
    assert "no language" in left_out["reason"]


def test_a_disagreement_is_counted_explained_and_fails_the_command(make_package: MakePackage) -> None:
    document, status = verify(make_package({".timelimit": "1", "submissions/accepted/wrong.py": "print(3)"}))
    assert (document["agree"], document["total"], status) == (0, 1, 1)
    (entry,) = document["submissions"]
    assert (entry["expected"], entry["verdict"], entry["agree"]) == (["AC"], "WA", False)
    assert "secret/1" in entry["reason"]


def test_languages_can_be_chosen(make_package: MakePackage) -> None:
    document, status = verify(make_package(LABELLED), "--language", "cpp")
    assert ([entry["file"] for entry in document["submissions"]], status) == (["accepted/right.cpp"], 0)


def test_a_missing_time_limit_is_derived_from_accepted_submissions_of_any_language(
    make_package: MakePackage,
) -> None:
    files = {
        "problem.yaml": "limits: {time_multiplier: 2}",
        "submissions/accepted/right.py": ADD,
        "submissions/time_limit_exceeded/loop.cpp": "int main() { for (volatile int i = 0;; i++); }",
    }
    document, status = verify(make_package(files), "--language", "cpp")
    (entry,) = document["submissions"]
    assert (entry["verdict"], status) == ("TLE", 0)
    assert 1.0 <= entry["time"] < 1.5


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"data/secret/2.in": ""}, "2.ans is missing"),
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
        ({"problem.yaml": "validation: custom"}, "output validator"),
        ({"problem.yaml": "validation: custom interactive"}, "interactive"),
    ],
)
def test_a_package_that_cannot_be_judged_faithfully_is_not_judged(
    make_package: MakePackage, files: dict[str, str], reason: str
) -> None:
    document, status = verify(make_package(LABELLED | files))
    assert (document["total"], document["submissions"], status) == (0, [], 1)
    assert reason in document["left_out"][0]["reason"]
    assert "not supported" in document["left_out"][0]["reason"]


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
    assert [line.split() for line in lines if line.startswith("accepted")] == [["accepted", "1", "0", "1"]]
    assert "4 of 5 agree with their label." in lines
    assert any("right.kt" in line and "no language" in line for line in lines)
    assert "5/5" in printed.err


def test_without_a_sandbox_the_command_says_so(
    make_package: MakePackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.sandbox.available._found", None)
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
    package.mkdir()
    for file in ("problem.yaml", ".timelimit", "data"):
        if (shared_data / "packages" / name / file).exists():
            (package / file).symlink_to(shared_data / "packages" / name / file)
    for file, source in ((f"accepted/right.{ending}", right), (f"wrong_answer/wrong.{ending}", wrong)):
        (package / "submissions" / file).parent.mkdir(parents=True)
        (package / "submissions" / file).write_text(source)
    document, status = verify(package)
    assert (document["agree"], document["total"], status) == (2, 2, 0), document
