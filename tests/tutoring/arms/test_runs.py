"""Arms end to end: run_baseline as a process, the real SDK with fake providers, the real judge, and the rows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.benchmark.runs.bank import REPLY, canaries
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

RIGHT = Script(pieces_of(REPLY))
WRONG = Script(pieces_of(REPLY.replace("a + b", "a - b")))
TALK = Script(("I would add the numbers, but I show no program.",))
APPLE = ("--problems", "apple_sum")

SESSIONS = """
select s.outcome, s.number, s.code_generations, s.executions, s.origin, s.tutor_id, p.name, p.version
from tutoring_session s join tutoring_protocol p on p.id = s.protocol_id
join benchmark_workitem i on i.id = s.work_item_id order by i.chain
"""
EVENTS = (
    "select e.kind, e.data from tutoring_event e join tutoring_session s on s.id = e.session_id order by seq"
)
PROGRAMS = """
select g.step, g.purpose, h.verdict, h.stop_at_first_failure, a.verdict, g.id = i.selected_id
from benchmark_generation g join benchmark_workitem i on i.id = g.work_item_id
left join benchmark_judgement h on h.id = g.hidden_judgement_id
left join benchmark_judgement a on a.id = g.sample_judgement_id order by i.id, g.step
"""


def said(commands: CommandSandbox) -> Iterator[list[tuple[str, str]]]:
    """Yield role and text of the messages of each request."""
    for request in commands.fake_providers.requests:
        yield [(message["role"], message["content"]) for message in request.body["messages"]]


def test_a_neutral_session_uses_all_generations_and_becomes_an_ordinary_session(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(WRONG, RIGHT, WRONG, TALK, WRONG, WRONG)
    document = commands.baseline(*APPLE, method="session-neutral")
    assert (document["total"], document["done"], document["solved"]) == (1, 1, 0)
    assert (document["generations"], document["first_draw"]) == (6, 1)
    requests = list(said(commands))
    assert [len(messages) for messages in requests] == [1, 3, 5, 7, 9, 11]
    [(_, opening)] = requests[0]
    assert opening.startswith("Below is a programming contest problem.")
    code_line = "(Now write the complete program, in exactly one fenced block that starts with ```python.)"
    assert opening.endswith(code_line)
    neutral = f"Please try again.\n\n{code_line}"
    assert {text for role, text in requests[-1][1:] if role == "user"} == {neutral}

    # Every program is judged on the samples and on all tests; the reply without a program costs no generation.
    assert commands.rows(PROGRAMS) == [
        (0, "session", "WA", 0, "WA", 0),
        (1, "session", "AC", 0, "AC", 0),
        (2, "session", "WA", 0, "WA", 0),
        (3, "session", None, None, None, 0),
        (4, "session", "WA", 0, "WA", 0),
        (5, "session", "WA", 0, "WA", 1),
    ]
    assert commands.rows(SESSIONS) == [("not_solved", 1, 5, 1, "automatic", None, "usaco-2024", 1)]
    events = [(kind, json.loads(data)) for kind, data in commands.rows(EVENTS)]
    assert [kind for kind, _ in events] == [
        "opened",
        *["message", "reply"] * 6,
        "execution",
        "verdict",
        "closed",
    ]
    assert [data.get("generation") for kind, data in events if kind == "reply"] == [1, 2, 3, None, 4, 5]
    assert commands.rows("select generation from tutoring_programscore order by generation") == [
        (number,) for number in range(1, 6)
    ]
    [(parameters, manifest)] = commands.rows("select parameters, manifest from benchmark_run")
    assert json.loads(parameters)["protocol"] == "usaco-2024@1"
    assert json.loads(parameters)["language"] == "python"
    assert json.loads(manifest)["draws"] == "fresh"


def test_independent_samples_have_no_history_and_are_different_draws(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[WRONG] * 4, RIGHT)
    document = commands.baseline(*APPLE, method="session-again")
    assert document["solved"] == 1
    requests = list(said(commands))
    assert len(requests) == 5
    assert all(messages == requests[0] and len(messages) == 1 for messages in requests)
    messages = [json.loads(data) for kind, data in commands.rows(EVENTS) if kind == "message"]
    assert [message.get("fresh", False) for message in messages] == [False, True, True, True, True]


def test_the_verdict_arm_executes_the_first_right_program(commands: CommandSandbox) -> None:
    commands.fake_providers.script(WRONG, RIGHT)
    document = commands.baseline(*APPLE, "--attempts", "1", method="session-verdict")
    assert (document["solved"], document["generations"]) == (1, 2)
    *_, last = said(commands)
    assert last[-1][1].startswith("This program is not correct. Please try again.")
    assert commands.rows(SESSIONS) == [("solved", 1, 2, 1, "automatic", None, "usaco-2024", 1)]


def test_a_model_that_writes_no_program_ends_the_session(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[TALK] * 3)
    document = commands.baseline(*APPLE, method="session-neutral")
    assert (document["state"], document["done"], document["generations"]) == ("finished", 1, 3)
    assert commands.rows(SESSIONS) == [("abandoned", 1, 0, 0, "automatic", None, "usaco-2024", 1)]


@pytest.mark.parametrize("arm", ["again", "neutral", "verdict", "analysis", "reference"])
def test_no_prompt_holds_a_hidden_test_or_an_undeclared_fact(commands: CommandSandbox, arm: str) -> None:
    commands.fake_providers.script(*[WRONG] * 20)
    commands.baseline("--problems", "apple_sum,berry_product", method=f"session-{arm}")
    prompts = "\n".join(text for (text,) in commands.rows("select messages from benchmark_generation"))
    allowed = {"analysis": {"analysis"}, "reference": {"analysis", "reference"}}.get(arm, set())
    assert prompts.count("Below is a programming contest problem") >= 10
    for problem in ("apple_sum", "berry_product"):
        found = {word.split("-")[1] for word in canaries(problem) if word in prompts}
        assert found == allowed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "protocol=nope"], "There is no protocol 'nope'. There are: icpc-2025, usaco-2024."),
        (["--set", "protocol=usaco-2024@9"], "has no version '9'. It has: 1."),
        (["--set", "language=cpp"], "the language of the protocol usaco-2024 is python"),
        (["--set", "every_test=false"], "arms judge every program on all tests"),
        (["--attempts", "4"], "allows 3 sessions on a problem, so --attempts is at most 3"),
        (["--set", "from_first=all"], "no session of a person on the chosen problems can begin a chain"),
        (["--set", "from_first=mood=1"], "'mood=1' is not a condition"),
    ],
)
def test_bad_input_is_refused_before_anything_is_paid(
    commands: CommandSandbox, arguments: list[str], message: str
) -> None:
    command = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "session-neutral", *arguments)
    _, errors = commands.manage("run_baseline", *command, status=1)
    assert message in errors
    assert commands.fake_providers.requests == []
    assert commands.rows("select count(*) from benchmark_run") == [(0,)]


def test_a_sham_arm_without_hints_says_how_many_it_needs(commands: CommandSandbox) -> None:
    command = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "session-sham", *APPLE)
    _, errors = commands.manage("run_baseline", *command, status=1)
    assert "needs 4 reviewed compliant hints of other problems for apple_sum; there are 0" in errors


def test_a_problem_without_analysis_is_left_out_of_the_ceilings_and_named(commands: CommandSandbox) -> None:
    commands.rows("update benchmark_problem set analysis = '' where external_id = 'apple_sum'")
    commands.fake_providers.script(*[WRONG] * 5)
    arguments = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--problems", "apple_sum,berry_product")
    _, errors = commands.manage("run_baseline", *arguments, "--method", "session-analysis")
    assert "Left out, each because it has no analysis: apple_sum." in errors


def test_an_interrupted_run_keeps_its_protocol_and_pays_for_no_reply_twice(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[WRONG] * 5)
    stopped = commands.baseline(
        *APPLE, "--max-calls", "2", "--concurrency", "1", method="session-neutral", status=1
    )
    assert commands.rows(SESSIONS) == []
    commands.rows(
        "insert into tutoring_protocol (name, version, title, rules, content_hash, frozen_at) "
        "select name, 2, title, replace(rules, '\"code_generations\": 5', '\"code_generations\": 3'), 'x', frozen_at "
        "from tutoring_protocol where name = 'usaco-2024'"
    )
    resumed = commands.baseline("--resume", stopped["run"], "--max-calls", "9")
    assert (resumed["done"], resumed["paid"]["calls"], resumed["generations"]) == (1, 5, 5)
    assert len(commands.fake_providers.requests) == 5
    assert commands.rows(SESSIONS) == [("not_solved", 1, 5, 1, "automatic", None, "usaco-2024", 1)]


def test_the_dry_run_and_the_list_of_methods_know_the_arms(commands: CommandSandbox) -> None:
    document = commands.baseline("--dry-run", "--attempts", "2", method="session-neutral")
    assert (document["draws"], document["problems"]) == ("fresh", 4)
    assert {name: one["generations"] for name, one in document["estimates"].items()} == {
        "low": 40,
        "expected": 40,
        "high": 40,
    }
    listed: list[dict[str, Any]] = json.loads(commands.manage("methods", "--json")[0])["methods"]
    arms = {one["name"]: one for one in listed if one["name"].startswith("session-")}
    assert {name: one["calls"] for name, one in arms.items()} == {
        "session-again": "5",
        "session-neutral": "5",
        "session-verdict": "1 to 5",
        "session-sham": "5",
        "session-analysis": "5",
        "session-reference": "5",
        "session-tutor": "9",
        "session-simulated": "1 to 5",
    }
    assert all(
        one["caveat"].startswith(("A control: ", "A simulation: ", "An automatic tutor: "))
        for one in arms.values()
    )


def test_epochs_hold_further_sessions_numbered_again(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[RIGHT] * 4)
    commands.baseline(*APPLE, "--attempts", "2", "--epochs", "2", method="session-verdict")
    assert [row[1] for row in commands.rows(SESSIONS)] == [1, 2, 1, 2]


def test_an_arm_in_batches_sends_the_next_message_of_every_session_in_one(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[WRONG] * 10)
    document = commands.baseline("--batch", "--problems", "apple_sum,berry_product", method="session-neutral")
    assert (document["batch"], document["state"], document["done"]) == (True, "finished", 2)
    assert [len(batch.requests) for batch in commands.fake_providers.batches.created] == [2] * 5
    assert document["paid"]["calls"] == 10
    session = ("not_solved", 1, 5, 1, "automatic", None, "usaco-2024", 1)
    assert commands.rows(SESSIONS) == [session, session]


def test_a_pilot_of_an_arm_estimates_the_sessions_on_all_problems(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[WRONG] * 10)
    document = commands.baseline("--pilot", "2", method="session-neutral")
    assert (document["state"], document["done"], document["pilot"]["of_problems"]) == ("finished", 2, 4)
    assert document["estimates"]["expected"]["generations"] == 20
    assert len(commands.rows(SESSIONS)) == 2
