"""Generators and validators that a model writes: paid for once, never shown a hidden thing, and trusted no further."""

import json

from tests.benchmark.runs.bank import canaries
from tests.benchmark.runs.conftest import Workshop
from tests.imitation import Script, pieces_of

BUILD = (
    "build_suite", "orchard/apple_sum", "--model", "openai:gpt-4o", "--concurrency", "1", "--random", "3",
    "--corner", "1", "--stress", "1", "--json",
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


def test_a_model_writes_what_makes_and_checks_the_tests(workshop: Workshop) -> None:
    output, _ = workshop.manage(*BUILD, "--dry-run")
    assert json.loads(output)["missing"] == 4
    assert workshop.imitation.requests == []

    workshop.imitation.script(
        cpp(RANDOM.format(second="rand() % 99")),
        cpp("int main( {"),
        Script(("I write no program.",)),
        cpp(VALIDATOR.format(least=0)),
    )
    output, _ = workshop.manage(*BUILD, status=1)
    [suite] = json.loads(output)["suites"]
    assert suite["dropped"] == {"corner-1.cpp does not compile": 1, "validator-1.cpp refuses it": 0}
    assert (len(suite["tests"]), suite["tpr"]["count"], suite["released"]) == (4, 1, False)
    assert suite["complaints"] == [
        "there is no known wrong program, so nothing shows that the tests find mistakes"
    ]
    prompts = [request.body["messages"][0]["content"] for request in workshop.imitation.requests]
    assert ["exit status 42" in prompt for prompt in prompts] == [False, False, False, True]
    assert all("Print the result for {a} and {b}" in prompt for prompt in prompts)
    assert [canary for canary in canaries("apple_sum") if canary in "".join(prompts)] == []

    workshop.manage(*BUILD, status=1)
    assert len(workshop.imitation.requests) == 4, "what was written is not asked for again"
