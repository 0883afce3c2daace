"""Runs end to end: the command as a process, the real SDK with the fake_providers server, the real judge."""

import json
from dataclasses import replace

import pytest

from tests.benchmark.runs.bank import PROBLEMS, REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, failure, pieces_of

SOLUTION = Script(pieces_of(REPLY))
TALK = Script(("I would add the numbers, but I show no program.",))


def start(dataset: str) -> list[str]:
    """Return the arguments of a zero-shot run."""
    return ["run_baseline", "--dataset", dataset, "--model", "openai:gpt-4o", "--method", "zero-shot"]


def asked_about(prompt: str) -> str:
    """Return the problem of a prompt: the one after its last marker."""
    return prompt.rpartition("[BEGIN PROBLEM]")[2].split("Problem ")[1].split(".")[0]


def test_a_run_judges_every_problem_and_stores_what_its_figures_depend_on(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    document = commands.baseline("--set", "temperature=0.2", "max_output_tokens=900")
    assert document["state"] == "finished"
    assert (document["total"], document["done"], document["solved"], document["failed"]) == (4, 4, 2, 0)
    assert document["tokens"] == {"input": 44, "output": 28, "cached_input": 12, "reasoning": 8}

    assert {
        asked_about(request.body["messages"][-1]["content"]) for request in commands.fake_providers.requests
    } == set(PROBLEMS)
    assert {request.body["temperature"] for request in commands.fake_providers.requests} == {0.2}
    [(prompt_hash, model, code, extraction, request_id)] = commands.rows(
        "select prompt_hash, model_returned, code, extraction, request_id from benchmark_generation g "
        "join benchmark_workitem i on i.id = g.work_item_id join benchmark_problem p on p.id = i.problem_id "
        "where p.external_id = 'apple_sum'"
    )
    assert len(prompt_hash) == 64
    assert model == "gpt-4o@fake"
    assert "print(a + b)" in code
    assert json.loads(extraction)["rule"] == "tagged"
    assert request_id.startswith("req_")

    figures = commands.report(document["run"])
    assert figures["complete"]
    assert figures["verdicts"] == {"AC": 2, "WA": 2}
    assert [(group["name"], group["solved"], group["problems"]) for group in figures["groups"][:4]] == [
        ("all", 2, 4),
        ("bronze", 2, 2),
        ("silver", 0, 1),
        ("gold", 0, 1),
    ]
    [overall] = figures["groups"][0]["pass_at"]
    assert (overall["value"], overall["interval"]) == (0.5, "wilson")
    assert overall["low"] == pytest.approx(0.150, abs=1e-3)
    manifest = figures["manifest"]
    assert manifest["dataset"]["problems"] == 4
    assert set(manifest["templates"]) == {"instructions", "problem"}
    assert {"git", "judge_version", "compiler", "packages"} <= set(manifest["environment"])
    assert figures["parameters"]["temperature"] == 0.2


def test_episodic_retrieval_drafts_searches_and_asks_with_two_solved_problems(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 2)
    document = commands.baseline("--problems", "apple_sum", method="episodic")
    assert (document["total"], document["solved"], document["generations"]) == (1, 1, 2)
    draft, solve = [request.body["messages"] for request in commands.fake_providers.requests]
    assert "[BEGIN SIMILAR PROBLEMS]" not in draft[0]["content"]
    prompt = solve[0]["content"]
    assert len(solve) == 1
    assert prompt.index("First problem and solution:") < prompt.index("Second problem and solution:")
    assert "Third problem" not in prompt
    assert prompt.index("[END SIMILAR PROBLEMS]\n") < prompt.index("[BEGIN PROBLEM]\n")
    (first, none), (second, record) = commands.rows(
        "select purpose, retrieval from benchmark_generation order by step"
    )
    assert (first, none, second) == ("draft", None, "solve")
    stored = json.loads(record)
    retrieval = stored["episodic"]
    assert (retrieval["tokenizer"], retrieval["k1"], stored["query"]) == ("usaco_split", 1.5, "reply")
    assert len(retrieval["hits"]) == 2
    for hit in retrieval["hits"]:
        assert f"canary-analysis-{hit['id']}" in prompt
        assert f"canary-reference-{hit['id']}" in prompt
    assert retrieval["hits"][0]["score"] >= retrieval["hits"][1]["score"]


def test_searching_with_the_statement_alone_needs_no_draft(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION)
    document = commands.baseline("--limit", "1", "--set", "query=statement", "p=3", method="episodic")
    assert (document["generations"], document["solved"]) == (1, 1)
    assert "Third problem and solution:" in commands.fake_providers.requests[0].body["messages"][0]["content"]


def test_a_reply_without_a_program_is_an_attempt_that_solves_nothing(commands: CommandSandbox) -> None:
    commands.fake_providers.script(TALK, SOLUTION)
    document = commands.baseline("--problems", "apple_sum,cherry_sum", "--concurrency", "1")
    assert (document["state"], document["done"], document["solved"]) == ("finished", 2, 1)
    assert commands.report(document["run"])["verdicts"] == {"AC": 1, "NO_CODE": 1}


def test_several_attempts_give_unbiased_pass_at_k_with_an_interval_over_problems(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(SOLUTION, SOLUTION, TALK, SOLUTION)
    document = commands.baseline("--tier", "bronze", "--attempts", "2", "--concurrency", "1")
    figures = commands.report(document["run"], "--k", "1", "2")
    first, second = figures["groups"][0]["pass_at"]
    assert (first["value"], first["interval"]) == (0.75, "t")
    assert (second["k"], second["value"], second["problems"]) == (2, 1.0, 2)
    _, errors = commands.manage("report", document["run"], "--k", "3", status=1)
    assert "pass@3 needs at least 3 attempts per problem" in errors


def test_a_request_that_the_provider_rejects_is_wrong_or_left_out_and_can_be_sent_again(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(SOLUTION, failure(400), SOLUTION, SOLUTION)
    output, errors = commands.manage(*start("orchard"), "--concurrency", "1", "--json", status=1)
    document = json.loads(output)
    assert (document["state"], document["done"], document["failed"]) == ("finished", 3, 1)
    assert (document["failures"], document["permanently_failed"]) == ("wrong", 1)
    assert "1 failed permanently: provider fault (bad_request)" in errors
    assert "Counted as wrong (--failures)." in errors
    run = document["run"]
    assert commands.rows("select json_extract(manifest, '$.failures') from benchmark_run") == [("wrong",)]
    figures = commands.report(run)
    assert figures["complete"]
    assert figures["failures_stored"]
    assert sum(figures["verdicts"].values()) == 3
    [(fault, count)] = figures["faults"].items()
    assert fault.startswith("provider fault (bad_request)")
    assert (count, figures["permanent"]) == (1, {fault: 1})
    everything = figures["groups"][0]
    assert [everything[name][0]["value"] for name in ("pass_at", "planned_at", "answered_at")] == [
        0.5,
        0.5,
        2 / 3,
    ]

    commands.fake_providers.script(failure(400))
    excluded = commands.baseline("--resume", run, "--failures", "excluded", status=1)
    assert (excluded["failures"], excluded["permanently_failed"]) == ("excluded", 1)
    assert commands.report(run)["groups"][0]["pass_at"][0]["value"] == 2 / 3
    assert commands.report(run, "--failures", "wrong")["groups"][0]["pass_at"][0]["value"] == 0.5
    again = json.loads(commands.manage("run_baseline", "--like", run, "--json")[0])
    assert (again["failures"], again["state"]) == ("excluded", "finished")

    commands.fake_providers.script(SOLUTION)
    resumed = commands.baseline("--resume", run)
    assert (resumed["state"], resumed["done"], resumed["solved"], resumed["failed"]) == ("finished", 4, 2, 0)


def test_a_run_whose_requests_are_all_rejected_is_not_finished(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[failure(400)] * 4)
    document = commands.baseline("--concurrency", "1", status=1)
    assert (document["state"], document["done"], document["permanently_failed"]) == ("stopped", 0, 4)


def test_replies_that_were_cut_off_filtered_or_empty_are_counted_for_both_apis_and_batches(
    commands: CommandSandbox,
) -> None:
    for model in ("openai:gpt-4o", "anthropic:claude-opus-4-8"):
        for batch in ((), ("--batch",)):
            commands.fake_providers.script(
                replace(SOLUTION, finish="length"), replace(TALK, finish="refusal"), Script(()), SOLUTION
            )
            method = ("--method", "zero-shot", "--set", f"max_output_tokens={1000 + len(batch)}")
            output, _ = commands.manage(
                "run_baseline",
                "--dataset",
                "orchard",
                "--model",
                model,
                *method,
                "--concurrency",
                "4",
                *batch,
                "--json",
            )
            document = json.loads(output)
            expected = {"stop": 1, "length": 1, "refusal": 1, "empty": 1}
            assert (model, batch, document["finishes"]) == (model, batch, expected)
            assert commands.report(document["run"])["finishes"] == expected


def test_a_key_that_is_refused_stops_the_run_instead_of_failing_item_by_item(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[failure(401)] * 4)
    _, errors = commands.manage(*start("orchard"), "--concurrency", "1", status=1)
    assert len(commands.fake_providers.requests) == 1
    assert "Stopped: provider fault (authentication)" in errors
    assert "--resume" in errors


def test_a_judge_fault_is_no_wrong_answer_and_costs_no_second_call(commands: CommandSandbox) -> None:
    [(digest,)] = commands.rows(
        "select answer_hash from benchmark_testcase t join benchmark_problem p on p.id = t.problem_id "
        "where p.external_id = 'apple_sum' and origin = 'hidden'"
    )
    blob = commands.var / "blobs" / digest[:2] / digest
    content = blob.read_bytes()
    blob.unlink()
    commands.fake_providers.script(SOLUTION)
    document = commands.baseline("--problems", "apple_sum", status=1)
    assert (document["done"], document["failed"]) == (0, 1)
    figures = commands.report(document["run"])
    assert figures["verdicts"] == {}
    assert next(iter(figures["faults"])).startswith("judge fault")

    blob.write_bytes(content)
    resumed = commands.baseline("--resume", document["run"])
    assert (resumed["state"], resumed["solved"]) == ("finished", 1)
    assert len(commands.fake_providers.requests) == 1


def test_tokens_the_provider_does_not_say_are_unknown_and_not_zero(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION, Script(pieces_of(REPLY), tokens=None))
    document = commands.baseline("--tier", "bronze")
    assert document["tokens"]["input"] is None
    text, _ = commands.manage("report", document["run"])
    assert "at least 11 (unknown for 1 of 2 generations)" in text


def test_text_that_no_database_takes_is_stored_all_the_same(commands: CommandSandbox) -> None:
    commands.fake_providers.script(Script((*pieces_of(REPLY), "nul \0 and half a character \ud800 end")))
    assert commands.baseline("--problems", "apple_sum")["solved"] == 1
    [(text,)] = commands.rows("select text from benchmark_generation")
    assert text.endswith("nul \ufffd and half a character \ufffd end")


def test_a_problem_without_tests_is_refused_before_anything_is_paid(commands: CommandSandbox) -> None:
    _, errors = commands.manage(*start("untested"), status=1)
    assert "each of the chosen problems has no tests" in errors
    assert commands.fake_providers.requests == []
    assert commands.rows("select count(*) from benchmark_run") == [(0,)]
