"""Generators and validators that a model writes: paid for once, without hidden content, and checked."""

import json
import signal

from tests.benchmark.runs.bank import canaries
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.test_resume import HANGING, until
from tests.fake_providers import Script, pieces_of

BUILD = (
    "build_suite", "--model", "openai:gpt-4o", "--concurrency", "1", "--random", "3",
    "--corner", "1", "--stress", "1", "--json", "orchard/apple_sum",
)  # fmt: skip
RANDOM = (
    "#include <cstdio>\n#include <cstdlib>\n"
    'int main(int, char** v) {{ srand(atoi(v[1])); printf("%d %d\\nword\\n", rand() % 99, {second}); }}'
)
VALIDATOR = (
    "#include <cstdio>\nint main() {{ int a, b; char w[99];\n"
    '    return scanf("%d %d %98s", &a, &b, w) == 3 && a >= {least} ? 42 : 43; }}'
)


def cpp(program: str) -> Script:
    return Script(pieces_of(f"Here it is.\n\n```cpp\n{program}\n```\n"))


def test_a_model_writes_what_makes_and_checks_the_tests(commands: CommandSandbox) -> None:
    output, _ = commands.manage(*BUILD, "untested", "--dry-run")
    assert json.loads(output)["missing"] == 4, "nothing is asked for a problem without a reference solution"
    assert commands.fake_providers.requests == []

    commands.fake_providers.script(cpp(RANDOM.format(second="rand() % 99")), HANGING)
    killed = commands.start(*BUILD)
    until(lambda: len(commands.fake_providers.requests) == 2)
    _, errors = commands.manage(*BUILD, status=1)
    assert "Building suites for orchard is already running in another process" in errors
    killed.signal(signal.SIGKILL)
    killed.wait()
    _, errors = commands.manage(*BUILD, "--max-calls", "1", status=1)
    assert "the budget of 1 calls is used up" in errors, "the call before the kill counts"
    assert len(commands.fake_providers.requests) == 2

    # Orders are taken from the rows there are: an import may have removed some of the package meanwhile.
    commands.rows('update benchmark_packageprogram set "order" = "order" + 1')
    commands.fake_providers.script(
        cpp("int main( {"),
        Script(("I write no program.",)),
        cpp(VALIDATOR.format(least=0)),
    )
    output, _ = commands.manage(*BUILD, status=1)
    document = json.loads(output)
    assert (document["spent"]["calls"], document["spent"]["output_tokens"]) == (4, 28)
    [suite] = document["suites"]
    assert suite["dropped"] == {"corner-1.cpp does not compile": 1, "validator-1.cpp refuses it": 0}
    assert (len(suite["tests"]), suite["tpr"]["count"], suite["released"]) == (4, 1, False)
    assert suite["complaints"] == [
        "there is no known wrong program, so it is unknown whether the tests find mistakes"
    ]
    prompts = [request.body["messages"][0]["content"] for request in commands.fake_providers.requests]
    assert ["exit status 42" in prompt for prompt in prompts] == [False, False, False, False, True]
    assert prompts[1] == prompts[2], "the call in flight at the kill"
    assert all("Print the result for {a} and {b}" in prompt for prompt in prompts)
    assert [canary for canary in canaries("apple_sum") if canary in "".join(prompts)] == []

    commands.manage(*BUILD, status=1)
    assert len(commands.fake_providers.requests) == 5, "what was written is not asked for again"
    commands.rows("update benchmark_problem set statement = statement || ' Twice.'")
    output, _ = commands.manage(*BUILD, "--dry-run")
    assert json.loads(output)["missing"] == 4, "a changed problem needs other programs"


def test_attempts_are_judged_by_the_released_suite_where_that_is_asked_for(commands: CommandSandbox) -> None:
    asked = ("--problems", "apple_sum,berry_product", "--set", "tests=suite")
    only_the_sample = Script(pieces_of("```python\nprint(7)\nprint('hello')\n```\n"))
    _, errors = commands.manage(
        "run_baseline",
        "--dataset",
        "orchard",
        "--model",
        "openai:gpt-4o",
        "--method",
        "zero-shot",
        *asked,
        status=1,
    )
    assert "Nothing to run in orchard: each of the chosen problems has no released suite." in errors

    commands.rows(
        "insert into benchmark_suite (problem_id, version, recipe_hash, provenance, content_hash, note, created_at, "
        "released_at) select id, 3, 'r', '{}', 'c', '', '2026-01-01', '2026-01-01' from benchmark_problem "
        "where external_id = 'apple_sum'"
    )
    commands.rows(
        'insert into benchmark_suitetest (suite_id, "order", name, origin, "group", input_hash, answer_hash) '
        "select s.id, 0, 'made', 'oracle', '', t.input_hash, t.answer_hash from benchmark_suite s "
        "join benchmark_testcase t on t.problem_id = s.problem_id where t.origin = 'sample'"
    )
    commands.rows("delete from benchmark_testcase where origin = 'hidden'")
    commands.rows("update benchmark_problem set samples_only = 1")
    commands.fake_providers.script(only_the_sample)
    document = commands.baseline(*asked)
    assert (document["done"], document["solved"]) == (1, 1)
    assert commands.report(document["run"])["samples_only"] == 0, "the suite is more than the samples"
    assert commands.rows("select test_suite_id is not null from benchmark_judgement where suite = 'all'") == [
        (1,)
    ]
