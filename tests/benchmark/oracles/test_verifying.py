"""Model-written programs in the sandbox: answers, inputs, coverage, and the published files."""

from pathlib import Path

import pytest

from benchmark.datasets.algo import read_stored
from benchmark.functional import NotFunctionalError, Signature
from benchmark.oracles.inputs import InputFunctions, InputRecipe, accepts_all, make_inputs, written_tests
from benchmark.oracles.running import CpuBudget, Function, Standalone, run_on
from benchmark.oracles.verifying import Case, label, verify
from benchmark.reproduction.oracles import measure
from judge import Checker

pytestmark = pytest.mark.usefixtures("sandbox")

SECOND = CpuBudget(each=1)
TREE = Signature.of("class Solution:\n    def mirror(self, root: Optional[TreeNode]) -> Optional[TreeNode]:")


def test_each_input_is_answered_by_a_process_of_its_own() -> None:
    source = """
seen = []
def solution(stdin):
    seen.append(stdin)
    print("talk")
    n = int(stdin)
    if n == 0: return 1 // n
    if n == 7:
        while True: pass
    if n == 8:
        import os; os._exit(0)
    if n == 9: return "x" * 2_000_000
    if n == 6:
        import os; os.write(1, b'{"output": "forged", "seconds": 0}\\n')
    return f"{n} {len(seen)}"
"""
    answers = run_on(Function(source, None), ["3", "0", "7", "8", "9", "6", "5"], SECOND)
    assert [(one.output, one.fault) for one in answers] == [
        ("3 1", ""),
        (None, "RTE"),
        (None, "TLE"),
        ("", ""),
        (None, "OLE"),
        ("6 1", ""),
        ("5 1", ""),
    ]
    assert answers[2].seconds == pytest.approx(1, abs=0.2)
    complete = run_on(Standalone("print(int(input()) + 1)", "python"), ["3", "x"], SECOND)
    assert [(one.output, one.fault) for one in complete] == [("4\n", ""), (None, "RTE")]
    assert [one.fault for one in run_on(Function("def f(:", None), ["1"], SECOND)] == ["CE"]
    ended = run_on(
        Function("import os\ndef solution(text):\n    os.kill(os.getppid(), 9)", None), ["1", "2"], SECOND
    )
    assert [one.fault for one in ended] == ["RTE", "RTE"]


def test_a_slow_oracle_answers_the_shortest_inputs_and_a_slow_candidate_the_samples_first() -> None:
    source = """
import time
def solution(text):
    while len(text) > 2 and time.process_time() < 99: pass
    return text
"""
    oracle, little = Function(source, None), CpuBudget(each=1, total=0.3)
    labelled = label(oracle, ["1", "12345", "123", "12", "2"], little)
    assert [case.input for case in labelled.cases] == ["1", "12", "2"]
    assert dict(labelled.dropped) == {"TLE": 1, "no time left": 1}
    assert 0.3 <= labelled.seconds < 0.5
    cases = [Case("sample", "123", "123", sample=True), *labelled.cases]
    said = verify(oracle, cases, Checker(), little)
    assert (said.samples_passed, said.passed, said.total) == (False, 0, 4)
    assert [failure.fault for failure in said.failures] == ["TLE", *["no time left"] * 3]
    busy = "import time\nwhile time.process_time() < 0.15: pass\nprint(1)"
    started = run_on(Standalone(busy, "python"), ["1", "2"], CpuBudget(1, 0.1))
    assert [one.fault for one in started] == ["", "no time left"]


def test_trees_recursion_and_changed_arguments() -> None:
    deep = (
        "class Solution:\n    def mirror(self, root):\n        def depth(n): return n and 1 + depth(n - 1)\n"
    )
    deep += "        depth(50_000)\n        return root and TreeNode(root.val, root.right, root.left)\n"
    answers = run_on(Function(deep, TREE), ["[1,2,3,null,4]\n", "[]\n"], CpuBudget(2))
    assert [one.output for one in answers] == ["[1,3,2,null,null,null,4]", "[]"]
    lists = Signature.of("class Solution:\n    def go(self, head: ListNode, nums: List[int]) -> ListNode:")
    first = (
        "class Solution:\n    def go(self, head, nums):\n        head.val = sum(nums)\n        return head\n"
    )
    assert run_on(Function(first, lists), ["[1,2]\n[3,4]\n"], SECOND)[0].output == "[7,2]"
    change = Signature.of("class Solution:\n    def sort(self, nums: List[float]) -> None:")
    source = "class BruteforceSolution:\n    def sort(self, nums):\n        nums.sort()\n"
    assert run_on(Function(source, change), ["[2.5,1]\n"], SECOND)[0].output == "[ 1 , 2.5 ]"
    with pytest.raises(NotFunctionalError):
        Signature.of("def plain(n): ...")


def test_inputs_are_capped_valid_and_distinct_and_faults_are_counted() -> None:
    signature = Signature.of("class Solution:\n    def f(self, nums: List[int]) -> int:")
    parts = InputFunctions(
        signature,
        validator="def is_valid_input(nums):\n    return 1 <= len(nums) <= 10 and 0 not in nums",
        generator="def gen_input():\n    return list(range(1, 11))",
        batch="def random_test(most: int = 99, kind: str = 'x'):\n"
        "    return [([random.randint(0, most)] * randint(1, most),) for _ in range(5)]",
        tricky="class Wrapper:\n    def special_tricky_test_inputs(self):\n"
        "        return [([1],), ([1],), [2, 3], ([5] * 300,)]",
    )
    made = make_inputs(parts, InputRecipe(stress=1))
    values = [one.text for one in made.kept]
    assert len(values) == len(set(values))
    assert {"[1]\n", "[2,3]\n"} <= set(values)
    assert all(len(text) <= 60 and "0," not in text.replace("10,", "") for text in values)
    assert (made.too_long, len(made.stress)) == (1, 1)
    assert made.invalid > 0 < made.repeated
    assert accepts_all(parts, ["[1,2]\n"])
    assert not accepts_all(parts, ["[1,2]\n", "[0]\n"])
    broken = make_inputs(InputFunctions(signature, batch="def random_test(:"), InputRecipe(stress=0))
    assert broken.kept == ()
    assert "there is no method or function random_test" in broken.errors[0]
    endless = "def random_test():\n    while True: pass"
    stopped = make_inputs(
        InputFunctions(signature, batch=endless), InputRecipe(seconds=0.2, budget=0.3, stress=0)
    )
    assert stopped.kept == ()
    assert stopped.errors[0] == "CallTimeoutError: the time for one input was used up"
    assert "CallTimeoutError: the time for all inputs was used up" in stopped.errors


def test_an_oracle_without_an_answer_drops_the_input_and_a_second_one_disputes_it() -> None:
    first = Function("def solution(text):\n    return str(1 // (int(text) - 3) * 0 + int(text) % 5)", None)
    second = Function("def solution(text):\n    return str(int(text) % 10)", None)
    labelled = label(first, ["2", "3", "4", "7"], SECOND, second)
    assert [(case.input, case.answer) for case in labelled.cases] == [("2", "2"), ("4", "4")]
    assert dict(labelled.dropped) == {"RTE": 1}
    assert labelled.conflicting == (("7", "2", "7"),)


def test_published_verdicts_come_out_of_the_stored_programs(shared_data: Path) -> None:
    """Right; wrong without a failing test; slow; and with right answers that differ from the oracle's.

    All 35 problems take a minute or more: manage.py reproduce N-8 N-9.
    """
    stored = {one.id: one for one in read_stored(shared_data / "algo")}
    found = {name: measure(stored[name]) for name in ("2582", "2596", "2593", "2610")}
    assert {
        name: (one.candidate_on_samples, one.candidate_on_all, one.accepted, one.oracle_on_samples)
        for name, one in found.items()
    } == {
        "2582": (True, True, True, True),
        "2596": (True, True, False, True),
        "2593": (True, True, False, True),
        "2610": (False, False, True, False),
    }
    assert all(one.coverage_of_all >= one.coverage_of_samples for one in found.values())


@pytest.mark.parametrize(
    "answer",
    [
        "''.join({'apple', 'berry', 'cherry', 'date', 'elder'})",
        "str(random.random())",
        "str(int(time.time()) // 1000)",
        "datetime.datetime.now().strftime('%H')",
        "str(random.Random(int(time.time())).random())",
        "'1' if sys.flags.hash_randomization == 0 else str(1 // 0)",
    ],
)
def test_an_oracle_that_answers_otherwise_the_second_time_is_rejected_by_name(answer: str) -> None:
    source = f"import datetime, random, sys, time\ndef solution(text):\n    return {answer} if len(text) > 1 else text"
    found = label(Function(source, None), ["12345", "1", "123"], SECOND)
    assert found.cases == ()
    assert found.unstable is not None
    assert found.unstable.input == "123"
    assert str(found.unstable).startswith('non-deterministic on input "123": it answers "')
    beside = label(
        Function("def solution(text):\n    return text", None), ["12345", "1"], SECOND, Function(source, None)
    )
    assert [case.input for case in beside.cases] == ["12345", "1"], (
        "a second oracle like that disputes nothing"
    )
    assert beside.conflicting == ()
    assert beside.second_unstable is not None


def test_what_only_looks_random_or_differs_within_the_tolerance_is_kept() -> None:
    source = """
import random, time
def solution(text):
    random.seed(7)
    order = sorted({"b", "a", "c"})
    drift = 1e-9 if time.time() % 2 < 1 else 0
    return f"{order} {random.random()} {1.5 + drift * len({'a', 'b'})}"
"""
    tolerant = Checker("tokens", float_absolute=1e-5)
    assert len(label(Function(source, None), ["1"], SECOND, checker=tolerant).cases) == 1
    slow = "import sys\ndef solution(text):\n    while sys.flags.hash_randomization: pass\n    return text"
    assert dict(label(Function(slow, None), ["1"], SECOND).dropped) == {"no second answer": 1}


def test_tests_that_a_model_wrote_are_its_own_inputs_and_answers() -> None:
    signature = Signature.of("class Solution:\n    def add(self, a: List[int], b: int) -> float:")
    wrote = "def written_tests():\n    return [(([1, 2], 3), 6.0), (([], 0), 0), (([], 0), 1)]"
    tests = written_tests(InputFunctions(signature, written_tests=wrote))
    assert tests == (("[1,2]\n3\n", "6.0"), ("[]\n0\n", "0"))
    texts = InputFunctions(None, written_tests="def written_tests():\n    return [('1 2\\n', '3\\n')]")
    assert written_tests(texts) == (("1 2\n", "3\n"),)
    assert written_tests(InputFunctions(None, written_tests="def other(): pass")) == ()
    assert written_tests(InputFunctions(None)) == ()
