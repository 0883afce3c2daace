"""`open_program` returns the whole output and the end of a program without judging it."""

import pytest

import judge
from judge import Limits, Verdict, open_program

LIMITS = Limits(time=0.5, memory=2**28)


@pytest.mark.usefixtures("sandbox")
def test_outputs_and_faults_of_a_program_with_several_files() -> None:
    files = {
        "main.py": "import part\nn = int(input())\nprint(part.twice(n) if n else 1 // n)\nwhile n > 9: pass",
        "part.py": "def twice(n):\n    return 'x' * 5000 + str(2 * n)",
    }
    with open_program(files, "python", LIMITS) as program:
        results = [program.run(text) for text in (b"4", b"0", b"10")]
    assert results[0].output == b"x" * 5000 + b"8\n"
    assert [result.fault for result in results] == [None, Verdict.RTE, Verdict.TLE]
    assert "ZeroDivisionError" in results[1].errors


@pytest.mark.usefixtures("sandbox")
def test_a_module_of_the_program_overrides_the_library() -> None:
    files = {"main.py": "import heapq, bisect\nprint(heapq.own)", "heapq.py": "own = 'mine'"}
    with open_program(files, "python", LIMITS) as program:
        assert [program.run(b"").output for _ in range(3)] == [b"mine\n"] * 3


@pytest.mark.usefixtures("sandbox")
def test_a_program_that_does_not_compile_raises_the_compiler_message() -> None:
    with pytest.raises(judge.CompilationError, match="SyntaxError"), open_program("print(", "python", LIMITS):
        pass


@pytest.mark.usefixtures("sandbox")
def test_a_program_gets_its_arguments_and_its_exit_status_is_known():
    with open_program("import sys\nprint(*sys.argv[1:])\nsys.exit(42)", "python", LIMITS) as program:
        found = program.run(arguments=("corner", "7"))
        assert (found.output, found.exit_status) == (b"corner 7\n", 42)
        assert program.run().output == b"\n"
