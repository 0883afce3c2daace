"""Checks by a model: the prompt, the stored findings, and answers of another form."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from benchmark.model_calls import catalogue
from benchmark.models import LanguageModel
from tests.fake_providers import FakeProviders, Script
from tests.fake_providers.scripts import failure
from tests.problems import HIDDEN_INPUT
from tests.tutoring.dialogues import SessionUnderTest
from tutoring.checks.model_checker import prompt_hash
from tutoring.models import RuleCheck, Session
from tutoring.rules import current_rule_set

SAID = "You should double the number, {{message}} not square it."


def answer(*found: dict[str, str]) -> Script:
    return Script((f"Here it is:\n```json\n{json.dumps(found)}\n```",))


@pytest.fixture
def closed(session: SessionUnderTest) -> SessionUnderTest:
    session.say(SAID)
    session.reply("As you like.")
    session.say("Go on.")
    Session.objects.update(state=Session.State.CLOSED)
    return session


def run(model: str = "openai:checker") -> list[dict[str, Any]]:
    out = io.StringIO()
    call_command("check_rules", "--model", model, "--json", stdout=out)
    rows: list[dict[str, Any]] = json.loads(out.getvalue())["sessions"]
    return rows


def test_answers_are_stored_as_findings_with_model_and_prompt_hash(
    closed: SessionUnderTest, fake_providers: FakeProviders, alice: User, ada: User
):
    broken = {"clause": "F3", "quote": "not square it", "reason": "It explains the mistake.\ud800"}
    elsewhere = {"clause": "F1", "quote": "not in the message", "reason": "It names it."}
    fake_providers.script(answer(broken, elsewhere), answer())
    [row] = run()
    # Calls are concurrent, so either message may have got the first answer.
    found = {(one["rule"], one["model"], one["message"]) for one in row["findings"] if "model" in one}
    assert found == {
        ("F3", "checker@fake", "It explains the mistake."),
        ("F1", "checker@fake", "It names it."),
    }
    check = RuleCheck.objects.by_models().get()
    assert (check.model, check.prompt_hash) == ("checker@fake", prompt_hash(current_rule_set()))
    assert check.language_model is not None
    assert (check.language_model.spec, check.language_model.parameters) == ("openai:checker", {})
    assert len(fake_providers.requests) == 2
    asked = [json.dumps(request.body, ensure_ascii=False) for request in fake_providers.requests]
    assert any("double the number, {{message}} not square" in body for body in asked)
    for body in asked:
        assert "Read a number and print twice the number." in body
        for secret in ("SECRET-ANALYSIS", str(HIDDEN_INPUT), "hidden-model-name"):
            assert secret not in body

    assert [one["state"] for one in run()] == ["unchanged"]
    assert len(fake_providers.requests) == 2, "no call is repeated"
    client = Client()
    for person, sees in ((alice, False), (ada, True)):
        client.force_login(person)
        shown = [
            client.get(f"/{where}/{closed.pk}/").content.decode() for where in ("sessions", "trajectories")
        ]
        assert any("It explains the mistake." in page for page in shown) == sees


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (Script(("No breach.",)), "the answer is not JSON"),
        (Script(("[1]",)), "not a list of objects"),
        (answer({"clause": "F9", "quote": "", "reason": ""}), "the unknown clause 'F9'"),
        (Script(('[{"clause": []}]',)), r"the unknown clause \[\]"),
        (failure(401), "Nothing was stored for this session"),
    ],
)
def test_answers_of_another_form_are_refused_and_nothing_is_stored(
    closed: SessionUnderTest, fake_providers: FakeProviders, script: Script, message: str
):
    fake_providers.script(script, script)
    with pytest.raises(CommandError, match=message):
        run()
    assert not RuleCheck.objects.by_models().exists()


def test_a_model_is_called_only_with_the_option(closed: SessionUnderTest, fake_providers: FakeProviders):
    call_command("check_rules", "--json", stdout=io.StringIO())
    assert not fake_providers.requests
    with pytest.raises(CommandError, match="PROVIDER:MODEL"):
        run("checker")


def test_a_label_names_the_checker_with_its_parameters(
    closed: SessionUnderTest, fake_providers: FakeProviders
):
    row = catalogue.add(LanguageModel(label="judge", spec="openai:checker", parameters={"temperature": 0.0}))
    fake_providers.script(answer(), answer(), answer(), answer())
    run("judge")
    assert {request.body["temperature"] for request in fake_providers.requests} == {0.0}
    assert RuleCheck.objects.by_models().get().language_model == row
    run("judge@1")
    assert len(fake_providers.requests) == 2, "the same check is not paid for again"
    run("openai:checker")
    assert len(fake_providers.requests) == 4, "other parameters are another check"
    run("judge")
    assert len(fake_providers.requests) == 4
    latest = RuleCheck.objects.by_models()[0]
    assert latest.language_model == row, "the check that was requested last is the latest"
    row.refresh_from_db()
    row.active = False
    row.save()
    with pytest.raises(CommandError, match=r"judge v1 .openai:checker. is inactive"):
        run("judge")
