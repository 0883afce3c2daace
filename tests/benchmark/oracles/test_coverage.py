"""Coverage of candidates, compared with the real coverage.py on the interpreter of the sandbox."""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import coverage
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.functional import Signature
from benchmark.oracles.quality import Reached, reached_statements
from benchmark.oracles.running import Function, Standalone
from judge import sandbox_status
from judge.tools import python_interpreter

pytestmark = pytest.mark.skipif(not sandbox_status().available, reason="programs cannot be judged here")

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
    """What coverage.py finds: statements, and those that are reached with the input."""
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
    return json.loads(ran.stdout)


def by_us(source: str, given: str) -> tuple[list[int], list[int]]:
    found = reached_statements(Standalone(source, "python"), [given])
    return sorted(found.statements), sorted(found.by_input[0])


PROGRAMS = {
    "two statements on a line": "a = 1; b = 2\nif a > b: c = 3; d = 4\nelse: c = 5\nprint(c)",
    "one-line suites": "for i in range(3): print(i)\nwhile False: print(1)\ndef f(): return 1\nclass A: x = 1",
    "docstrings": '"""Module."""\ndef f():\n    """Twice\n    over."""\n    return 1\nclass A:\n    "A class."\n    '
    "def g(self):\n        'Only a docstring.'\n'no docstring'\nf()",
    "decorators": "import functools\n@functools.lru_cache(\n    maxsize=None\n)\n@staticmethod\ndef f(x):\n    return x\n"
    "@functools.total_ordering\nclass A:\n    @property\n    def p(self):\n        return 1\n    def __lt__(self, o):\n"
    "        return True\nprint(A().p)",
    "multi-line calls": "print(\n    max(\n        1,\n        2,\n    ),\n    3\n)\nx = [\n    i\n    for i in range(3)\n"
    "    if i\n]\ny = {\n    'a': 1,\n    'b': (lambda:\n        2)(),\n}",
    "global and nonlocal": "x = 0\ndef f():\n    global x\n    x = 1\n    y = 2\n    def g():\n        nonlocal y\n"
    "        y = 3\n    g()\nf()",
    "pass": "for i in range(2):\n    pass\nif i:\n    pass\nelse:\n    pass\nclass A:\n    pass\ndef f():\n    pass",
    "constant conditions": "if 0:\n    print(1)\nif 1:\n    print(2)\nelse:\n    print(3)\nif __debug__:\n    print(4)\n"
    "while 0:\n    print(5)\nwhile True:\n    break\nelse:\n    print(6)\nif not 1:\n    print(7)",
    "constant folding": "x = 60 * 60 * 24\n1\n'text'\n2 + 3\n...\nNone\ny = 'a' 'b'\nassert True\nz = x if 1 else y",
    "try": "def f(n):\n    try:\n        x = 1 // n\n    except ZeroDivisionError:\n        x = 0\n    except (ValueError,\n"
    "            TypeError) as error:\n        x = error\n    else:\n        x += 1\n    finally:\n        x *= 2\n"
    "    return x\nprint(f(0))\ntry:\n    pass\nfinally:\n    pass",
    "return in finally": "def f():\n    try:\n        return 1\n    finally:\n        print(2)\n    print(3)\nf()\n"
    "for i in range(2):\n    try:\n        continue\n    finally:\n        i += 1",
    "with": "import io\nwith io.StringIO() as a, \\\n        io.StringIO() as b:\n    a.write('x')\nwith (\n    io.StringIO() as a,\n"
    "    io.StringIO() as b,\n):\n    pass\nprint(1)",
    "comprehensions": "a = [x for x in range(3)]\nb = {x: y for x in a\n     for y in a\n     if x < y}\n"
    "c = sum(x\n        for x in a)\nd = {x for x in a if x > 9}\ne = (x for x in a)",
    "match": "def f(x):\n    match x:\n        case 0:\n            return 'zero'\n        case [a, *b] if a:\n"
    "            return b\n        case {'k': v} | {'l': v}:\n            return v\n        case _:\n            ...\n"
    "f(0)\nf([1, 2])\nf(None)",
    "lambdas": "f = lambda x: x + 1\ng = lambda x: (\n    x +\n    2\n)\nh = [lambda: 1,\n     lambda: 2]\nprint(f(1))",
    "class bodies": "class A:\n    x = 1; y = 2\n    if x:\n        z = 3\n    else:\n        z = 4\n    class B(object):\n"
    "        w: int = 5\n        v: int\n    def f(self): return self.x\n    def g(\n        self,\n        a=1,\n    ):\n"
    "        return a\nprint(A().f())",
    "while True": "n = 3\nwhile True:\n    n -= 1\n    if n == 1:\n        continue\n    if n == 0:\n        break\nprint(n)",
    "nested functions": "def outer(n):\n    def inner(m):\n        if m:\n            return inner(m - 1)\n        return 0\n"
    "    def never():\n        return 1\n    return inner(n)\nprint(outer(2))",
    "continuation lines": "a = 1 + \\\n    2 + \\\n    3\nif a > 1 and \\\n        a < 9:\n    b = '''x\ny\n'''\nassert (a ==\n"
    "        6), \\\n    'no'\nreturned = (a\n            .bit_length())",
    "dead code": "def f():\n    return 1\n    print(2)\nwhile 1:\n    break\n    f()\nraise SystemExit\nprint(3)",
    "a fault in the middle": "x = int(input())\ny = 1 // x\nprint(y)\n",
    "input decides": "n = int(input())\nif n > 3:\n    print('large')\nelif n > 1:\n    print('middle')\nelse:\n"
    "    for i in range(n):\n        print(i)",
    "main": "def main():\n    print(1)\n\nif __name__ == '__main__':\n    main()\nelse:\n    print(2)",
    "generators": "def g():\n    yield 1\n    x = yield 2\n    yield from [3]\nasync def a():\n    await b()\nfor i in g():\n"
    "    if i == 2: break",
    "deletions and imports": "import sys, os\nfrom os import (\n    path,\n    sep,\n)\nx = 1\ndel x\nimport math as m",
    "marked lines": "import typing\nif typing.TYPE_CHECKING:\n    import os\ndef f():  # pragma: no cover\n    return 1\n"
    "class P:\n    def m(self): ...\n    def n(self,\n          a): ...\n    def o(self):\n        ...\n"
    "if 1:  # pragma: no cover\n    x = 1\nelse:\n    x = 2\n@staticmethod  # pragma: no cover\ndef g():\n    return 2",
    "annotations": "from typing import List\nx: int = 1\ny: List[int]\ndef f(a: int,\n      b: 'str' = '') -> List[\n        int]:\n"
    "    c: int = a\n    return [c]\nf(1)",
    "tabs, form feeds and no last newline": "def f(x):\n\tif x:\n\t\treturn 1\n\n\x0c\n\treturn 2\nf(0)",
    "no statement": "# nothing\n",
    "strings with line breaks": 'x = f"""{1\n+ 2} a\n"""\nprint("""a\nb""".split(\n"\\n"))',
}


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
    ["n += 1", "n = n * 2; n -= 1", "pass", "print(\n    n,\n    n\n)", "'text'", "n = 2 + 3", "m = [i for i in\n     range(n)]",
     "k = lambda: n", "n = n + \\\n    1", "global q", "assert n is not None, (\n    n)", "del_ = 1; del del_"]
)  # fmt: skip
CONDITIONS = st.sampled_from(["n > 2", "n < 0", "0", "1", "not n", "n in (\n        1, 2)", "__debug__"])


def compound(suites):
    suite = st.lists(suites, min_size=1, max_size=3).map(indented)
    return st.one_of(
        st.builds("if {}:\n{}\nelse:\n{}".format, CONDITIONS, suite, suite),
        st.builds("if {}: n += 1; n -= 2".format, CONDITIONS),
        st.builds("for j in range(n % 3):\n{}\n    break\nelse:\n{}".format, suite, suite),
        st.builds("while {}:\n{}\n    break".format, CONDITIONS, suite),
        st.builds("try:\n{}\n    n // (n % 2)\nexcept ZeroDivisionError:\n{}\nelse:\n{}\nfinally:\n{}".format, *[suite] * 4),
        st.builds('def f(n):\n    """Documented."""\n{}\n    return n'.format, suite),
        st.builds("@(lambda f: f)\nclass A:\n    n = 1\n{}".format, suite),
        st.builds("match n:\n    case 1:\n{}\n    case _:\n{}".format, *[suite.map(lambda s: textwrap.indent(s, "    "))] * 2),
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
        except SyntaxError:  # such as a global declaration after its use
            continue
        tried.append((source, "3\n"))
    for (source, given_), found in zip(tried, by_coverage(tried), strict=True):
        assert by_us(source, given_) == tuple(found), source


def test_the_samples_come_first_and_functions_are_measured_as_they_are_called() -> None:
    signature = Signature.of("class Solution:\n    def f(self, n: int) -> int:")
    source = "class Solution:\n    def f(self, n):\n        if n: return 1\n        a = 2; b = 3\n        return a + b\n"
    found = reached_statements(Function(source, signature), ["1\n", "0\n"])
    assert found.coverage(1) == 3 / 5
    assert found.coverage() == 1
    assert Reached(frozenset(), ()).coverage() == 1


def test_what_is_no_python_program_has_no_coverage() -> None:
    with pytest.raises(ValueError, match="Python only"):
        reached_statements(Standalone("int main() {}", "cpp"), ["1"])
    with pytest.raises(ValueError, match="does not compile"):
        reached_statements(Standalone("def f(:", "python"), ["1"])
