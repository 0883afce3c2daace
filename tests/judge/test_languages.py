"""All languages: programs run, fail and exceed limits alike; several files; unusable sources."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import judge
from judge import LANGUAGES, Limits, Verdict
from judge.compilation import MAXIMUM_BYTES, MAXIMUM_FILES
from judge.toolchains.tools import gnu_compiler, go_compiler, node_interpreter, rust_compiler
from tests.judge.conftest import MEBIBYTE, SMALL, Grade, Need
from tests.missing_programs import skip_or_fail

PYTHON = """
import sys
sys.setrecursionlimit(10**6)
def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)
mode, *numbers = input().split()
if mode == "sum":
    print(sum(map(int, numbers)))
elif mode == "deep":
    print(deep(int(numbers[0])))
elif mode == "crash":
    print([][1])
elif mode == "memory":
    kept = []
    while True:
        kept.append(bytearray(b"x" * 10**6))
while True:
    if mode != "loop":
        break
"""
C = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int deep(int n) { volatile char used[100]; used[0] = 1; return n == 0 ? 0 : used[0] + deep(n - 1); }
int main(void) {
    char mode[10];
    int a = 0, b = 0;
    scanf("%9s %d %d", mode, &a, &b);
    if (!strcmp(mode, "sum")) printf("%d\\n", a + b + (int)sqrt(a - 3.0));
    if (!strcmp(mode, "deep")) printf("%d\\n", deep(a));
    if (!strcmp(mode, "crash")) abort();
    while (!strcmp(mode, "memory")) memset(malloc(1000000), 1, 1000000);
    for (volatile int i = 0; !strcmp(mode, "loop"); i++) {}
}
"""
JAVA = """
import java.util.*;
public class Modes {
    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in);
        String mode = in.next();
        int a = in.hasNextInt() ? in.nextInt() : 0;
        if (mode.equals("sum")) System.out.println(a + in.nextInt());
        if (mode.equals("deep")) System.out.println(deep(a));
        if (mode.equals("crash")) System.out.println(mode.charAt(9));
        List<byte[]> kept = new ArrayList<>();
        while (mode.equals("memory")) kept.add(new byte[1000000]);
        while (mode.equals("loop")) kept.clear();
    }
}
"""
KOTLIN = """
fun deep(n: Int): Int = if (n == 0) 0 else 1 + deep(n - 1)
fun main() {
    val words = readLine()!!.split(" ")
    val kept = mutableListOf<ByteArray>()
    when (words[0]) {
        "sum" -> println(words[1].toInt() + words[2].toInt())
        "deep" -> println(deep(words[1].toInt()))
        "crash" -> println(kept[1])
        "memory" -> while (true) kept.add(ByteArray(1000000))
        "loop" -> while (true) kept.clear()
    }
}
"""
RUST = """
use std::io::{self, BufRead};
fn deep(n: u64) -> u64 {
    if n == 0 { return 0; }
    let rest = deep(n - 1);
    rest + unsafe { std::ptr::read_volatile(&n) } / n
}
fn main() {
    let line = io::stdin().lock().lines().next().unwrap().unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    match words[0] {
        "sum" => println!("{}", words[1].parse::<i64>().unwrap() + words[2].parse::<i64>().unwrap()),
        "deep" => println!("{}", deep(words[1].parse().unwrap())),
        "crash" => println!("{}", kept[1].len()),
        "memory" => loop { kept.push(vec![1; 1_000_000]); },
        _ => loop {},
    }
}
"""
GO = """
package main

import "fmt"

func deep(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + deep(n-1)
}

func main() {
	var mode string
	var a, b int
	fmt.Scan(&mode, &a, &b)
	kept := [][]byte{}
	switch mode {
	case "sum":
		fmt.Println(a + b)
	case "deep":
		fmt.Println(deep(a))
	case "crash":
		fmt.Println(kept[1])
	}
	for mode == "memory" {
		block := make([]byte, 1000000)
		for i := range block {
			block[i] = 1
		}
		kept = append(kept, block)
	}
	for mode == "loop" {
	}
}
"""
JAVASCRIPT = """
const words = require("fs").readFileSync(0, "utf8").trim().split(" ");
const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1));
const kept = [];
if (words[0] === "sum") console.log(Number(words[1]) + Number(words[2]));
if (words[0] === "deep") console.log(deep(Number(words[1])));
if (words[0] === "crash") console.log(kept[1].length);
while (words[0] === "memory") kept.push(new Array(100000).fill(words));
while (words[0] === "loop") kept.length = 0;
"""
PROGRAMS = {
    "python": PYTHON,
    "pypy": PYTHON,
    "cpp": C,
    "cpp17": C,
    "cpp23": C,
    "c": C,
    "java": JAVA,
    "kotlin": KOTLIN,
    "rust": RUST,
    "go": GO,
    "javascript": JAVASCRIPT,
}
BROKEN = {
    "python": "print(",
    "pypy": "print(",
    "java": "class Main {",
    "kotlin": "fun other() = 1",
    "rust": "fn main() { missing(); }",
    "go": "package main\n\nfunc main() { return error }",
    "javascript": "const a = ;",
}
OWN_WAYS = ["pypy", "cpp", "c", "java", "kotlin", "rust", "go", "javascript"]
"""Languages that are run, or run out of something, in a way of their own (Python: test_fidelity)."""


def test_every_language_has_programs_here() -> None:
    assert PROGRAMS.keys() == LANGUAGES.keys()


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_right_program_is_accepted(grade: Grade, need: Need, language: str) -> None:
    need(language)
    judgement = grade(PROGRAMS[language], language, given="sum 3 4\n", answer="7\n")
    assert judgement.verdict is Verdict.AC, judgement
    assert re.search(r"\d\.\d", judgement.compiler)


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_compile_error_contains_the_compiler_output(grade: Grade, need: Need, language: str) -> None:
    need(language)
    judgement = grade(BROKEN.get(language, "int main() { return"), language)
    assert judgement.verdict is Verdict.CE
    assert "rror" in judgement.compiler_output


@pytest.mark.parametrize("language", OWN_WAYS)
@pytest.mark.parametrize(
    ("given", "limits", "verdict"),
    [
        ("deep 100000", SMALL, Verdict.AC),
        ("crash", SMALL, Verdict.RTE),
        ("memory", replace(SMALL, memory=64 * MEBIBYTE), Verdict.MLE),
        ("loop", replace(SMALL, time=0.2), Verdict.TLE),
    ],
    ids=["deep recursion", "run-time error", "memory limit", "time limit"],
)
def test_limits_are_the_same_for_all(
    grade: Grade, need: Need, language: str, given: str, limits: Limits, verdict: Verdict
) -> None:
    need(language)
    judgement = grade(PROGRAMS[language], language, given=given, answer="100000\n", limits=limits)
    assert judgement.verdict is verdict, judgement


def test_slow_languages_get_more_time_under_fair_and_virtual_machines_memory_of_their_own() -> None:
    limits = Limits(time=1, memory=MEBIBYTE)
    fair, compat = (judge.limits_for(limits, "java", policy) for policy in judge.Policy)
    assert (fair.time, compat.time) == (2, 1)
    assert fair.memory == compat.memory == MEBIBYTE + LANGUAGES["java"].allowance
    assert judge.limits_for(limits, "java", judge.Policy.FAIR, {"java": 1.5, "cpp": 3}).time == 1.5
    assert judge.limits_for(limits, "cpp", judge.Policy.FAIR) == limits


def test_a_memory_limit_below_what_a_virtual_machine_starts_with_is_no_fault_of_the_program(
    grade: Grade, need: Need
) -> None:
    need("java")
    judgement = grade(JAVA, "java", given="sum 3 4", answer="7", limits=replace(SMALL, memory=MEBIBYTE))
    assert judgement.verdict is Verdict.AC, judgement


def test_a_standard_the_compiler_does_not_know_is_a_missing_tool() -> None:
    assert gnu_compiler("g++", "gnu++98")
    assert gnu_compiler("g++", "gnu++1789") is None
    unknown = replace(judge.get_language("cpp23"), find_tool=lambda: gnu_compiler("g++", "gnu++1789"))
    with pytest.raises(judge.ToolMissingError, match=r"C\+\+ 23 .* g\+\+ 11 or newer"):
        unknown.tool()


def test_a_tool_that_does_not_work_is_a_missing_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(judge.get_language("c"), name="broken", version=("/bin/false",))
    monkeypatch.setitem(LANGUAGES, "broken", broken)
    with pytest.raises(judge.ToolMissingError, match=r"/bin/false does not work.*apt install gcc"):
        judge.compiler_version("broken")


STANDARDS = {"cpp17": 201703, "cpp": 202002, "cpp23": 202100}


@pytest.mark.parametrize("language", STANDARDS)
def test_each_row_compiles_by_its_standard(grade: Grade, need: Need, language: str) -> None:
    need(language)
    source = f'#include <cstdio>\nint main() {{ if (__cplusplus / 100 == {STANDARDS[language]} / 100) puts("14"); }}'
    assert grade(source, language).verdict is Verdict.AC


PRINTS = 'System.out.println("14");'
MAIN = f"public static void main(String[] arguments) {{ {PRINTS} }}"


@pytest.mark.parametrize(
    ("verdict", "source"),
    [
        (Verdict.AC, f"package a.b; class Some {{ {MAIN} }}"),
        (Verdict.AC, f"class Before {{ int x; }} public enum Other {{ ONE; {MAIN} }} interface After {{ }}"),
        (Verdict.AC, f"class A {{ class Inner {{ }} static class Nested {{ {MAIN} }} }}"),
        (Verdict.AC, f"class A {{ {MAIN.replace('14', '15')} }} class Main {{ {MAIN} }}"),
        (
            Verdict.CE,
            "public class Main { void main(String[] arguments) { } static int main() { return 0; } }",
        ),
    ],
    ids=["package, not public", "several, one public", "nested", "two mains", "no main"],
)
def test_the_java_class_with_main_is_started_whatever_it_is_called(
    grade: Grade, need: Need, verdict: Verdict, source: str
) -> None:
    need("java")
    judgement = grade(source, "java")
    assert judgement.verdict is verdict, judgement
    assert ("public static void main" in judgement.compiler_output) == (verdict is Verdict.CE)


SEVERAL = {
    "python": {
        "main.py": "import part.twice\nprint(part.twice.of(7))",
        "part/twice.py": "def of(n): return 2 * n",
    },
    "pypy": {"b.py": "raise SystemExit", "__main__.py": "from a import n\nprint(n)", "a.py": "n = 14"},
    "cpp": {
        "main.cpp": '#include "twice.h"\n#include <cstdio>\nint main() { printf("%d", twice(7)); }',
        "twice.cc": '#include "twice.h"\nint twice(int n) { return 2 * n; }',
        "twice.h": "int twice(int n);",
    },
    "rust": {
        "main.rs": 'mod twice;\nfn main() { println!("{}", twice::of(7)); }',
        "a.rs": "this file is not part of the program",
        "twice.rs": "pub fn of(n: i32) -> i32 { 2 * n }",
    },
    "go": {
        "main.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(twice(7)) }',
        "twice.go": "package main\n\nfunc twice(n int) int { return 2 * n }",
    },
    "javascript": {
        "main.js": 'console.log(require("./twice").of(7));',
        "a.js": "throw new Error();",
        "twice.js": "exports.of = (n) => 2 * n;",
    },
    "java": {
        "a/One.java": f"package a; public class One {{ {MAIN.replace(PRINTS, 'b.Two.say();')} }}",
        "Two.java": f"package b; public class Two {{ public static void say() {{ {PRINTS} }} }}",
        "data.txt": "not a source",
    },
}


@pytest.mark.parametrize("language", SEVERAL)
def test_several_files_are_one_program(grade: Grade, need: Need, language: str) -> None:
    need(language)
    judgement = grade(SEVERAL[language], language)
    assert judgement.verdict is Verdict.AC, judgement


@pytest.mark.parametrize(
    ("files", "verdict"),
    [
        ({"only.py": "print(14)"}, Verdict.AC),
        ({"a.py": "print(14)", "b.py": "print(15)"}, Verdict.AC),
        ({"__main__.py": "print(14)", "a.py": ""}, Verdict.AC),
        ({"main.py": "print(14)", "__main__.py": "print(15)", "a.py": ""}, Verdict.AC),
        ({"main.py": "print(14)", "a.py": "print("}, Verdict.CE),
        ({"main.py": "print(open('/program/a.txt').read())", "a.txt": "14"}, Verdict.AC),
    ],
)
def test_main_then_the_first_by_name_is_started(
    grade: Grade, files: dict[str, str], verdict: Verdict
) -> None:
    assert grade(files).verdict is verdict


def test_a_changed_header_is_compiled_again(grade: Grade) -> None:
    files = {"a.cpp": '#include "n.h"\n#include <cstdio>\nint main() { printf("%d", N); }'}
    for number, verdict in ((15, Verdict.WA), (14, Verdict.AC)):
        assert grade(files | {"n.h": f"#define N {number}"}, "cpp").verdict is verdict


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"../a.py": "1"}, "cannot be called '../a.py'"),
        ({"/a.py": "1"}, "cannot be called"),
        ({"a\nb.py": "1"}, "cannot be called"),
        ({"-c.py": "1"}, "cannot be called"),
        ({".drivers/a.py": "1"}, "cannot be called"),
        ({"a//b.py": "1"}, "cannot be called"),
        ({"a" * 200 + ".py": "1"}, "cannot be called"),
        ({"a.py": "1", "a.py/b.py": "1"}, "a.py is a file and a folder"),
        ({"a.txt": "x"}, r"None of the files is a Python 3 source \(.py, .py3\): a.txt"),
        (
            {f"{number}.py": "1" for number in range(MAXIMUM_FILES + 1)},
            f"There are {MAXIMUM_FILES + 1} files",
        ),
        ("x" * (MAXIMUM_BYTES + 1), f"at most {MAXIMUM_BYTES} bytes"),
        ("é" * (MAXIMUM_BYTES // 2 + 1), f"at most {MAXIMUM_BYTES} bytes"),
        ({"a.py": "x" * MAXIMUM_BYTES, "b.py": "x"}, f"at most {MAXIMUM_BYTES} bytes"),
        ("x" * 50_000_000, f"at most {MAXIMUM_BYTES} bytes"),
        ("print(14)\nx = '\0'", "main.py, line 2, character 6: a program cannot contain a NUL byte"),
        ({"a.py": "x = 1", "b.py": "\n\ny\ud800"}, "b.py, line 3, character 2: .* surrogate"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_unusable_sources_do_not_compile_and_the_message_says_why(
    grade: Grade, source: str | dict[str, str], said: str
) -> None:
    judgement = grade(source)
    assert judgement.verdict is Verdict.CE
    assert re.search(said, judgement.compiler_output)


LINES = {
    "python": "# a comment\nprint(14)\n",
    "cpp": '#include <cstdio>\n// a comment\nint main() { puts("14"); }\n',
    "java": f"// a comment\nclass Main {{ {MAIN} }}\n",
    "rust": '// a comment\nfn main() { println!("14"); }\n',
    "go": '// a comment\npackage main\n\nimport "fmt"\n\nfunc main() { fmt.Println(14) }\n',
    "javascript": "// a comment\nconsole.log(14);\n",
}


@pytest.mark.parametrize(
    "source_and_language",
    [
        *(("\ufeff" + lines.replace("\n", "\r\n"), language) for language, lines in LINES.items()),
        *((LINES[language].replace("\n", "\r"), language) for language in ("python", "cpp")),
    ],
    ids=lambda pair: f"{pair[1]} {pair[0][:1]!a}",
)
def test_marks_and_line_ends_of_other_systems_do_no_harm(
    grade: Grade, need: Need, source_and_language: tuple[str, str]
) -> None:
    need(source_and_language[1])
    assert grade(*source_and_language).verdict is Verdict.AC


SUMS = {
    "python": "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
    "cpp": """
#include <cstdio>
int main() { long long s = 0, x; while (scanf("%lld", &x) == 1) s += x; printf("%lld", s); }
""",
    "rust": """
use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    println!("{}", text.split_ascii_whitespace().map(|word| word.parse::<i64>().unwrap()).sum::<i64>());
}
""",
    "go": """
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Split(bufio.ScanWords)
	sum := 0
	for in.Scan() {
		n, _ := strconv.Atoi(in.Text())
		sum += n
	}
	fmt.Println(sum)
}
""",
    "javascript": """
const text = require("fs").readFileSync("/dev/stdin", "utf8");
console.log(text.split(" ").reduce((sum, word) => sum + Number(word), 0));
""",
}


@pytest.mark.parametrize("language", SUMS)
def test_a_large_input_is_read_within_the_usual_limits(grade: Grade, need: Need, language: str) -> None:
    need(language)
    numbers = range(500_000)
    given, answer = " ".join(map(str, numbers)), str(sum(numbers))
    limits = replace(SMALL, time=2, memory=256 * MEBIBYTE)
    judgement = grade(SUMS[language], language, given=given, answer=answer, limits=limits)
    assert judgement.verdict is Verdict.AC, judgement


@pytest.mark.parametrize(
    ("language", "source"),
    [
        (
            "go",
            'package main\n\nimport "fmt"\n\nfunc main() { n := 45; fmt.Println(len(make([]byte, 1<<n))) }',
        ),
        ("javascript", "new ArrayBuffer(2 ** 43);"),
        ("javascript", "const kept = []; for (;;) kept.push(Buffer.alloc(1000000, 1));"),
    ],
)
def test_memory_beside_the_usual_heap_is_limited_too(
    grade: Grade, need: Need, language: str, source: str
) -> None:
    need(language)
    judgement = grade(source, language, limits=replace(SMALL, time=5, memory=64 * MEBIBYTE))
    assert judgement.verdict is Verdict.MLE, judgement


GARBAGE_IN_GO = """
package main

func main() {
	for i := 0; i < 2000; i++ {
		block := make([]byte, 1000000)
		block[i] = 1
	}
}
"""


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("go", GARBAGE_IN_GO),
        ("javascript", "let kept; for (let i = 0; i < 1000; i++) kept = new Array(100000).fill(i);"),
    ],
)
def test_garbage_does_not_count_as_memory(grade: Grade, need: Need, language: str, source: str) -> None:
    need(language)
    judgement = grade(source, language, answer="", limits=replace(SMALL, time=5, memory=64 * MEBIBYTE))
    assert judgement.verdict is Verdict.AC, judgement


@pytest.mark.parametrize("program", ["rustc", "go", "node"])
def test_a_tool_on_path_precedes_the_systems_and_a_shim_is_never_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    finders = {"rustc": rust_compiler, "go": go_compiler, "node": node_interpreter}
    find = finders[program].__wrapped__
    real = find()
    if real is None:
        skip_or_fail(f"{program} is not installed")
    newer = tmp_path / "newer" / "bin" / program
    newer.parent.mkdir(parents=True)
    newer.write_bytes(real.read_bytes()[:64])
    answer = newer if program == "node" else newer.parent.parent
    shim = tmp_path / "shims" / program
    shim.parent.mkdir()
    shim.write_text(f"#!/bin/sh\necho {answer}\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    assert find() == newer
    shim.write_text("#!/bin/sh\nexit 1\n")
    found = find()
    assert found is None or found.is_relative_to("/usr")
