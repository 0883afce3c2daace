"""The programs of an analysis: found, given the files they name, and judged by verify_references."""

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from benchmark.functional import Signature
from benchmark.judging.references import ReferenceProgram, extract_programs, file_names
from benchmark.models import ReferenceSolution
from judge import FileNames
from tests.benchmark.reference_problems import HIDDEN_NUMBER, store_doubling
from tests.judge.conftest import Need, need

__all__ = ["need"]  # the fixture

CPP = """#include <iostream>
using namespace std;

int main() {
    // Twice the number is what we are after, and that is all there is to it.
    int n; cin >> n;

    cout << 2 * n << endl;
}"""
JAVA = """import java.util.*;

public class Doubling {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(2 * in.nextInt());
    }
}"""
PYTHON = "n = int(input())\n\nfor turn in range(1):\n    print(2 * n)"
PROSE = "We add the number to itself, which takes constant time. Here is the code that\nwe wrote for it:"
PSEUDO_CODE = "for i = 1 to n:\n    answer = answer + a[i]\nreturn answer"


def analysis_of(*programs: str) -> str:
    return "\n\n".join(part for program in programs for part in (PROSE, program)) + "\n\nThat is all."


def test_every_complete_program_is_found_with_its_language() -> None:
    found = extract_programs(analysis_of(CPP, JAVA, PYTHON))
    assert [(program.language, program.source.strip()) for program in found] == [
        ("cpp", CPP),
        ("java", JAVA),
        ("python", PYTHON),
    ]


@pytest.mark.parametrize("part", ["", PSEUDO_CODE, "int twice(int n) {\n    return 2 * n;\n}"])
def test_prose_pseudo_code_and_parts_are_no_programs(part: str) -> None:
    assert extract_programs(analysis_of(part)) == []


def test_spaces_of_web_pages_do_not_stay_in_a_program() -> None:
    (program,) = extract_programs(CPP.replace("    ", "\u00a0\u00a0\u00a0\u00a0"))
    assert program.source.strip() == CPP


@pytest.mark.slow
@given(st.lists(st.sampled_from([*CPP.split("\n"), *PYTHON.split("\n"), PROSE, "/*", '"""', "$", "\x00"])))
def test_any_mixture_of_lines_is_read(lines: list[str]) -> None:
    for program in extract_programs("\n".join(lines)):
        file_names(program.source)


@pytest.mark.parametrize("line", ["\n", "/*\n", "{\n", "/*", "x = (", "for x in y\n", "static "])
def test_long_texts_take_little_time(line: str) -> None:
    text = f"x = 1;\ny = 2;\n{line * (100_000 // len(line))}z = 3;\nw = 4;\n"
    started = time.process_time()
    extract_programs(text)
    assert time.process_time() - started < 5


FILE_PROGRAMS = {
    "freopen": ReferenceProgram(
        "cpp",
        '#include <cstdio>\nint main() { freopen("x.in", "r", stdin); freopen("x.out", "w", stdout);\n'
        'int n; scanf("%d", &n); printf("%d\\n", 2 * n); }',
    ),
    "fopen": ReferenceProgram(
        "cpp",
        '#include <cstdio>\nint main() { FILE *in = fopen("x.in", "r"), *out = fopen("x.out", "w");\n'
        'int n; fscanf(in, "%d", &n); fprintf(out, "%d\\n", 2 * n); }',
    ),
    "fstream": ReferenceProgram(
        "cpp",
        '#include <fstream>\nint main() { std::ifstream fin ("x.in"); std::ofstream fout("x.out");\n'
        "int n; fin >> n; fout << 2 * n; }",
    ),
    "joined name": ReferenceProgram(
        "cpp",
        "#include <iostream>\n#include <cstdio>\nusing namespace std;\n"
        'void setIO(string s) { freopen((s+".in").c_str(),"r",stdin); freopen((s + ".out").c_str(),"w",stdout); }\n'
        'int main() { setIO("x"); int n; cin >> n; cout << 2 * n; }',
    ),
    "open": ReferenceProgram(
        "python",
        "with open('x.in', 'r') as fin:\n    n = int(fin.readline())\n"
        'with open("x.out", "w") as fout:\n    print(2 * n, file=fout)\n',
    ),
    "standard streams": ReferenceProgram("python", PYTHON),
}


def verify(*arguments: str) -> dict[str, Any]:
    output = io.StringIO()
    call_command("verify_references", "small", *arguments, "--json", stdout=output)
    loaded: dict[str, Any] = json.loads(output.getvalue())
    return loaded


@pytest.mark.django_db
@pytest.mark.usefixtures("sandbox")
def test_programs_that_use_files_find_and_leave_them() -> None:
    for name, program in FILE_PROGRAMS.items():
        problem = store_doubling(name)
        ReferenceSolution.objects.create(
            problem=problem, language=program.language, source=program.source, name="r"
        )
    told = verify()
    assert {one["problem"]: (one["verdict"], one["reason"]) for one in told["references"]} == dict.fromkeys(
        FILE_PROGRAMS, ("AC", "")
    )
    assert (told["passed"], told["problems"]) == (6, 6)


@pytest.mark.django_db
@pytest.mark.usefixtures("sandbox")
def test_methods_of_functional_problems_are_called() -> None:
    method = "class Solution:\n    def double(self, n):\n        return 2 * n\n"
    for name, language in (("method", "python"), ("no driver", "cpp")):
        problem = store_doubling(name)
        problem.signature = Signature("double", ("int",), "int").to_json()
        problem.save()
        ReferenceSolution.objects.create(problem=problem, language=language, source=method, name="r")
    (told,) = verify("--problems", "method")["references"]
    assert (told["language"], told["verdict"], told["reason"]) == ("python", "AC", "")
    with pytest.raises(CommandError, match="1 could not be judged"):
        verify("--problems", "no driver")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('freopen("a.in", "r", stdin); freopen("b.out", "w", stdout);', ("a.in", "b.out")),
        ("open('a-1.in')", ("a-1.in", "a-1.out")),
        ('ofstream fout("a.out");', ("a.in", "a.out")),
        ('void io(string s) { fopen(s + ".in"); } io("cow_x");', ("cow_x.in", "cow_x.out")),
        ('new File("../a.in"); new File("x.input"); "a.in.gz"', None),
        ('if (s.size()) fopen(s+".in")', None),
        ("print(input())", None),
    ],
)
def test_a_program_says_which_files_it_uses(source: str, names: tuple[str, str] | None) -> None:
    assert file_names(source) == (names and FileNames(*names))


@pytest.mark.django_db
@pytest.mark.usefixtures("sandbox")
def test_the_best_program_of_each_problem_counts() -> None:
    wrong = CPP.replace("2 * n", "n")
    store_doubling("one of two", analysis_of(wrong, CPP))
    store_doubling("wrong", analysis_of(wrong, CPP.replace("2 * n", "(n == 3 ? 6 : n)")))
    store_doubling("not compiling", analysis_of(PYTHON.replace("print(2 * n)", "print(2 * n")))
    store_doubling("no first lines", analysis_of(CPP.partition("\n\n")[2]))
    store_doubling("no program", analysis_of(PSEUDO_CODE))
    told = verify("--jobs", "2")
    results = {one["problem"]: one for one in told["references"]}
    assert {name: (one["language"], one["verdict"]) for name, one in results.items()} == {
        "one of two": ("cpp", "AC"),
        "wrong": ("cpp", "WA"),
        "not compiling": ("python", "CE"),
        "no first lines": ("cpp", "AC"),
        "no program": (None, "NO_CODE"),
    }
    assert "hidden-1" in results["wrong"]["reason"]
    assert "SyntaxError" in results["not compiling"]["reason"]
    assert (told["passed"], told["problems"]) == (2, 5)
    assert str(HIDDEN_NUMBER) not in json.dumps(told)
    sampled = verify("--samples-only", "--problems", "wrong,no program")["references"]
    assert [one["verdict"] for one in sampled] == ["AC", "NO_CODE"]


@pytest.mark.django_db
def test_java_programs_are_judged_with_their_files_and_without_their_imports(need: Need) -> None:
    need("java")
    with_files = JAVA.replace("new Scanner(System.in)", 'new Scanner(new FileReader("cow.in"))').replace(
        "System.out.", 'PrintWriter out = new PrintWriter(new FileWriter("cow.out")); out.'
    )
    with_files = with_files.replace("[] args)", "[] args) throws IOException").replace(
        "));\n    }", ")); out.close();\n    }"
    )
    store_doubling("java", analysis_of(with_files.partition("\n\n")[2]))
    (told,) = verify()["references"]
    assert (told["language"], told["verdict"], told["reason"]) == ("java", "AC", "")


@pytest.mark.django_db
def test_a_language_without_a_compiler_is_named() -> None:
    problem = store_doubling()
    ReferenceSolution.objects.create(problem=problem, language="befunge", source=".", name="r")
    told = verify()
    (reference,) = told["references"]
    assert reference["verdict"] == "JE"
    assert "no language is called 'befunge'" in reference["reason"]
    assert told["passed"] == 0


@pytest.mark.django_db
def test_an_unknown_dataset_or_problem_is_an_error() -> None:
    with pytest.raises(CommandError, match="no dataset 'small'"):
        verify()
    store_doubling()
    with pytest.raises(CommandError, match="Did you mean doubling"):
        verify("--problems", "dubling")


REAL = {
    "735_bronze_the_lost_cow": "cpp",
    "945_gold_snakes": "cpp",
    "743_gold_modern_art_2": "cpp",
    "987_bronze_word_processor": "python",
}


@pytest.mark.django_db
@pytest.mark.usefixtures("sandbox")
def test_programs_of_real_analyses_pass_the_samples(shared_data: Path, tmp_path: Path) -> None:
    collection = json.loads((shared_data / "usaco" / "usaco_dict.json").read_text())
    some = tmp_path / "some.json"
    some.write_text(json.dumps({name: collection[name] for name in REAL}))
    call_command("import_problems", "usaco", str(some), "--dataset", "small", stdout=io.StringIO())
    told = verify("--samples-only")
    assert {one["problem"]: (one["language"], one["verdict"]) for one in told["references"]} == {
        name: (language, "AC") for name, language in REAL.items()
    }
