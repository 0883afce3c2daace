"""Coverage of candidates, compared with coverage.py on the sandbox's interpreter."""

import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

import coverage
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.functional import Signature
from benchmark.oracles.quality import ReachedStatements, reached_statements
from benchmark.oracles.running import Function, Standalone
from judge.toolchains.tools import python_interpreter

pytestmark = pytest.mark.usefixtures("sandbox")

BY_COVERAGE = """
import contextlib, io, json, sys, tempfile
from pathlib import Path
import coverage

def measured(source, given):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(source)
        measuring = coverage.Coverage(data_file=None, config_file=False, include=[str(path)])
        sys.stdin = io.StringIO(given)
        measuring.start()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(BaseException):
                exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), {"__name__": "__main__"})
        finally:
            measuring.stop()
        if not measuring.get_data().measured_files():
            return None
        _, statements, _, missing, _ = measuring.analysis2(str(path))
        return sorted(statements), sorted(set(statements) - set(missing))

print(json.dumps([measured(*one) for one in json.load(sys.stdin)]))
"""


def by_coverage(programs: list[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
    """Return the statements that coverage.py finds, and those that the input reaches."""
    interpreter = python_interpreter()
    assert interpreter
    ran = subprocess.run(
        [interpreter, "-c", BY_COVERAGE],
        input=json.dumps(programs),
        env=os.environ | {"PYTHONPATH": str(Path(coverage.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[tuple[list[int], list[int]]] = json.loads(ran.stdout)
    return found


def by_us(source: str, given: str) -> tuple[list[int], list[int]]:
    found = reached_statements(Standalone(source, "python"), [given])
    return sorted(found.statements), sorted(found.by_input[0])


PROGRAMS = dict(
    re.findall(
        r"^%%% (.+)\n([\s\S]*?)\n%%% end$",
        Path(__file__).with_name("coverage_programs.txt").read_text(),
        re.MULTILINE,
    )
)


@pytest.fixture(scope="module")
def expected() -> dict[str, tuple[list[int], list[int]]]:
    found = by_coverage([(source, "0\n") for source in PROGRAMS.values()])
    return dict(zip(PROGRAMS, found, strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_statements_are_counted_as_coverage_counts_them(name, expected) -> None:
    assert by_us(PROGRAMS[name], "0\n") == tuple(expected[name] or ([], []))


def indented(lines: list[str]) -> str:
    return textwrap.indent("\n".join(lines), "    ")


SIMPLE = st.sampled_from(
    ["n += 1", "n = n * 2; n -= 1", "pass", "print(\n    n,\n    n\n)", "'text'", "n = 2 + 3",
     "m = [i for i in\n     range(n)]", "k = lambda: n", "n = n + \\\n    1", "global q",
     "assert n is not None, (\n    n)", "del_ = 1; del del_"]
)  # fmt: skip
CONDITIONS = st.sampled_from(["n > 2", "n < 0", "0", "1", "not n", "n in (\n        1, 2)", "__debug__"])


def compound(suites):
    suite = st.lists(suites, min_size=1, max_size=3).map(indented)
    deeper = suite.map(lambda text: textwrap.indent(text, "    "))
    return st.one_of(
        st.builds("if {}:\n{}\nelse:\n{}".format, CONDITIONS, suite, suite),
        st.builds("if {}: n += 1; n -= 2".format, CONDITIONS),
        st.builds("for j in range(n % 3):\n{}\n    break\nelse:\n{}".format, suite, suite),
        st.builds("while {}:\n{}\n    break".format, CONDITIONS, suite),
        st.builds(
            "try:\n{}\n    n // (n % 2)\nexcept ZeroDivisionError:\n{}\nelse:\n{}\nfinally:\n{}".format, *[suite] * 4
        ),
        st.builds('def f(n):\n    """Documented."""\n{}\n    return n'.format, suite),
        st.builds("@(lambda f: f)\nclass A:\n    n = 1\n{}".format, suite),
        st.builds("match n:\n    case 1:\n{}\n    case _:\n{}".format, deeper, deeper),
    )  # fmt: skip


GENERATED = st.lists(st.recursive(SIMPLE, compound, max_leaves=6), min_size=1, max_size=5).map(
    lambda lines: "n = int(input())\n" + "\n".join(lines) + "\n"
)


@settings(max_examples=12, deadline=None)
@given(st.lists(GENERATED, min_size=1, max_size=5))
def test_generated_programs_are_counted_as_coverage_counts_them(programs) -> None:
    tried = []
    for source in programs:
        try:
            compile(source, "program.py", "exec")
        except SyntaxError:  # for example, a global declaration after its use
            continue
        tried.append((source, "3\n"))
    for (source, given_), found in zip(tried, by_coverage(tried), strict=True):
        assert by_us(source, given_) == tuple(found), source


def test_the_samples_come_first_and_functions_are_measured_as_they_are_called() -> None:
    signature = Signature.of("class Solution:\n    def f(self, n: int) -> int:")
    body = "        if n: return 1\n        a = 2; b = 3\n        return a + b\n"
    source = f"class Solution:\n    def f(self, n):\n{body}"
    found = reached_statements(Function(source, signature), ["1\n", "0\n"])
    assert found.coverage(1) == 3 / 5
    assert found.coverage() == 1
    assert ReachedStatements(frozenset(), ()).coverage() == 1


def test_what_is_no_python_program_has_no_coverage() -> None:
    with pytest.raises(ValueError, match="Python only"):
        reached_statements(Standalone("int main() {}", "cpp"), ["1"])
    with pytest.raises(ValueError, match="does not compile"):
        reached_statements(Standalone("def f(:", "python"), ["1"])
