"""Models as rows: the pages, the command, and the rules of the catalogue."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.roles import Role
from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.model_tests import claim_tests, perform_test
from benchmark.models import Dataset, FrozenError, LanguageModel, ModelTest, Run
from benchmark.providers import Parameters, parse_model_spec
from config.env import ModelEndpoint
from tests.fake_providers import FakeProviders, Script, failure

SPEC = parse_model_spec("openai:gpt-4o")
COOL = Parameters(temperature=0.2)


@pytest.fixture
def admin(browser: Callable[[Role], Client]) -> Client:
    return browser(Role.ADMIN)


@pytest.fixture
def lab(settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = {"lab": ModelEndpoint("http://secret-host/v1", "secret-key")}


def models(*arguments: str) -> str:
    """Return what `manage.py models` prints."""
    out = io.StringIO()
    call_command("models", *arguments, stdout=out)
    return out.getvalue()


def fields(**values: Any) -> dict[str, Any]:
    """Return the fields of the form for a new model."""
    return {"label": "small", "server": "openai", "name": "gpt-4o-mini", "active": "on"} | values


def test_a_model_named_by_its_provider_is_one_frozen_row_for_each_sampling(db: None) -> None:
    row = catalogue.model_for(SPEC, COOL)
    assert (str(row), row.spec, row.parameters, row.automatic) == (
        "gpt-4o v1",
        "openai:gpt-4o",
        {"temperature": 0.2},
        True,
    )
    assert row.frozen_at is not None
    assert catalogue.model_for(SPEC, COOL) == row
    assert str(catalogue.model_for(SPEC, Parameters())) == "gpt-4o v2"
    assert str(catalogue.model_for(parse_model_spec("compatible:gpt-4o"), COOL)) == "compatible-gpt-4o v1"
    row.parameters = {"temperature": 1.0}
    with pytest.raises(FrozenError, match="Make a new version"):
        row.save()


def test_a_label_without_a_version_is_the_newest_that_an_admin_made(db: None) -> None:
    first = catalogue.add(LanguageModel(label="lab", spec="openai:gpt-4o", price={"input": 1, "output": 2}))
    second = catalogue.new_version(first, parameters={"seed": 7})
    variant = catalogue.variant_of(second, COOL)
    assert (str(variant), variant.price, variant.automatic) == ("lab v3", {"input": 1, "output": 2}, True)
    assert catalogue.variant_of(second, COOL) == variant
    assert catalogue.find("lab") == second
    assert catalogue.find("lab@1") == first
    for text, sentence in (("lab@9", "has the versions 1, 2, 3"), ("other", "'other' is not a model")):
        with pytest.raises(CatalogueError, match=sentence):
            catalogue.find(text)
    second.active = False
    second.save()
    with pytest.raises(CatalogueError, match=r"lab v2 .* is inactive"):
        catalogue.choose("lab@2")
    assert catalogue.find("lab") == first, "an active version overrides an inactive one"


def test_an_inactive_row_is_not_replaced_by_another_with_the_same_content(db: None) -> None:
    row = catalogue.model_for(SPEC, COOL)
    LanguageModel.objects.update(active=False)
    with pytest.raises(CatalogueError, match=r"manage\.py models activate gpt-4o@1"):
        catalogue.model_for(SPEC, COOL)
    assert LanguageModel.objects.get() == row


def test_the_model_of_a_session_is_the_newest_marked_one_that_the_tutor_may_use(
    db: None, settings: Settings
) -> None:
    settings.TUTORING_MODEL = "practice:student"
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    assert catalogue.session_choice(alice) is None
    assert str(catalogue.session_model(alice)) == "student v1"
    shared = catalogue.add(LanguageModel(label="shared", spec="openai:a", for_sessions=True))
    own = catalogue.add(LanguageModel(label="own", spec="openai:b", for_sessions=True))
    own.tutors.add(alice)
    assert (catalogue.session_model(alice), catalogue.session_model(bob)) == (own, shared)
    assert str(catalogue.session_spec(alice)) == "openai:b"
    newer = catalogue.new_version(own)
    assert (catalogue.session_model(alice), catalogue.session_model(bob)) == (newer, shared)
    LanguageModel.objects.update(active=False)
    with pytest.raises(CatalogueError, match="inactive"):
        catalogue.session_model(bob)


def test_an_admin_adds_a_model_on_its_page(admin: Client, lab: None) -> None:
    page = admin.get("/models/add/").content.decode()
    assert "compatible@lab" in page
    assert "secret" not in page
    answer = admin.post(
        "/models/add/",
        fields(server="compatible@lab", name="llama3", temperature="1", reasoning="high", extra='{"top_k": 20}',
               context_tokens="8000", input_price="0.5", output_price="1.5", cutoff="2024-01-31", for_sessions="on"),
        follow=True,
    )  # fmt: skip
    text = answer.content.decode()
    row = LanguageModel.objects.get()
    assert (str(row), row.spec, row.context_tokens) == ("small v1", "compatible@lab:llama3", 8000)
    assert row.parameters == {"temperature": 1.0, "reasoning": "high", "extra": {"top_k": 20}}
    assert (row.price, str(row.cutoff)) == ({"input": 0.5, "output": 1.5}, "2024-01-31")
    for shown in (
        "small v1 is added.",
        "compatible@lab:llama3",
        "0.5 and 1.5",
        "2024-01-31",
        "of all tutors",
    ):
        assert shown in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"label": "two words"}, "The label has letters, digits"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"server": "anthropic", "seed": "3"}, "The API accepts no seed"),
        ({"reasoning": "much"}, "is not an effort that the API accepts"),
        ({"extra": '{"messages": []}'}, "only Hintbench may set it"),
        ({"extra": "{"}, "This is not JSON"),
        ({"extra": "[1]"}, "not a JSON object"),
        ({"input_price": "1"}, "both the input and the output price"),
        ({"cached_price": "1"}, "the input and the output price too"),
        ({"max_output_tokens": "100", "context_tokens": "100"}, "leaves no room for a prompt"),
        ({"server": "compatible@gone"}, "Select a valid choice"),
    ],
)
def test_invalid_fields_are_refused_with_a_sentence(
    admin: Client, values: dict[str, str], sentence: str
) -> None:
    answer = admin.post("/models/add/", fields(**values))
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not LanguageModel.objects.exists()


def test_a_used_model_keeps_its_content_and_gets_a_new_version(admin: Client) -> None:
    admin.post("/models/add/", fields(temperature="0.5"))
    row = LanguageModel.objects.get()
    admin.post(f"/models/{row.pk}/edit/", fields(temperature="0.6"))
    row.refresh_from_db()
    assert row.parameters == {"temperature": 0.6}, "an unused row may change"
    Run.objects.create(
        dataset=Dataset.objects.create(name="d", format="usaco"), method="zero-shot", manifest={},
        parameters={}, model_spec=row.spec, model=catalogue.freeze(row),
    )  # fmt: skip
    page = admin.get(f"/models/{row.pk}/edit/").content.decode()
    assert "has been in use since" in page
    LanguageModel.objects.update(parameters={"max_output_tokens": 9})
    listed = admin.get("/models/").content.decode()
    assert "longest reply in tokens&nbsp;" in listed
    LanguageModel.objects.update(parameters=row.parameters)
    assert f"/models/{row.pk}/new-version/" in page
    admin.post(
        f"/models/{row.pk}/edit/", {"label": "x", "temperature": "1", "input_price": "1", "output_price": "2"}
    )
    row.refresh_from_db()
    assert (row.label, row.parameters, row.active) == ("small", {"temperature": 0.6}, False)
    assert row.price == {"input": 1.0, "output": 2.0}
    assert "1&nbsp;run" in admin.get("/models/").content.decode()
    admin.post(f"/models/{row.pk}/new-version/", fields(name="gpt-4.1", temperature="1"))
    version = LanguageModel.objects.get(version=2)
    assert (version.label, version.spec, version.parameters) == (
        "small",
        "openai:gpt-4.1",
        {"temperature": 1.0},
    )
    row.refresh_from_db()
    assert row.spec == "openai:gpt-4o-mini"


def test_a_researcher_reads_models_and_changes_none(browser: Callable[[Role], Client]) -> None:
    row = catalogue.model_for(SPEC, COOL)
    client = browser(Role.RESEARCHER)
    listed = client.get("/models/").content.decode()
    assert "openai:gpt-4o" in listed
    assert "/models/add/" not in listed
    page = client.get(f"/models/{row.pk}/").content.decode()
    assert "New version" not in page
    assert '"includeIndicatorStyles": false' in page, "the content security policy forbids inline styles"
    assert client.post(f"/models/{row.pk}/test/").status_code == 403
    empty = LanguageModel.objects.all().delete()
    assert empty
    assert "There is no model yet." in client.get("/models/").content.decode()


def test_the_page_says_when_no_streamer_takes_a_test(admin: Client) -> None:
    row = catalogue.model_for(SPEC, Parameters())
    assert "has not been tested yet" in admin.get(f"/models/{row.pk}/").content.decode()
    assert admin.post(f"/models/{row.pk}/test/").status_code == 302
    assert 'hx-trigger="every 1s"' in admin.get(f"/models/{row.pk}/").content.decode()
    ModelTest.objects.update(requested_at=timezone.now() - timedelta(seconds=11))
    assert claim_tests() == [], "a late streamer does not pay for it"
    shown = admin.get(f"/models/{row.pk}/test/result/").content.decode()
    assert "No streamer took the test within 10 seconds" in shown
    assert "hx-trigger" not in shown


async def one_test() -> None:
    [test] = await sync_to_async(claim_tests)()
    await perform_test(test)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("script", "shown"),
    [
        (
            Script(("Forty", "-two")),
            ("Forty-two", "s to the first text", "11 input, 7 output", "gpt-4o@fake", "stop"),
        ),
        (failure(429), ("failed", "Scripted failure")),
    ],
)
async def test_a_test_shows_the_reply_or_the_error(
    fake_providers: FakeProviders, script: Script, shown: tuple[str, ...]
) -> None:
    fake_providers.script(script)

    def requested() -> tuple[Client, LanguageModel]:
        user = User.objects.create_user("ada", is_superuser=True)
        client = Client()
        client.force_login(user)
        row = catalogue.add(LanguageModel(label="m", spec="openai:gpt-4o", parameters={"temperature": 0.5}))
        client.post(f"/models/{row.pk}/test/")
        return client, row

    client, row = await sync_to_async(requested)()
    await one_test()
    page = await sync_to_async(client.get)(f"/models/{row.pk}/")
    for text in shown:
        assert text in page.content.decode()
    [request] = fake_providers.requests
    assert request.body["temperature"] == 0.5
    await sync_to_async(row.refresh_from_db)()
    assert row.frozen_at is None, "a test is no use"


def test_the_command_lists_adds_and_changes_models(db: None, lab: None) -> None:
    assert "There is no model yet" in models()
    models("add", "small", "openai:gpt-4o", "--set", "temperature=0.2", "seed=7", "--cutoff", "2023-10-31")
    models("add", "local", "compatible@lab:llama3", "--extra", '{"top_k": 20}', "--price", "1", "2")
    models("new-version", "small", "--set", "temperature=none", "reasoning=high", "--for-sessions")
    models("deactivate", "small@1")
    first, second, third = json.loads(models("--json"))["models"]
    assert (first["model"], first["parameters"], first["price"]["input"]) == (
        "compatible@lab:llama3",
        {"extra": {"top_k": 20}},
        1,
    )
    assert (second["version"], second["parameters"], second["for_sessions"]) == (
        2,
        {"seed": 7, "reasoning": "high"},
        True,
    )
    assert (third["version"], third["active"], third["cutoff"]) == (1, False, "2023-10-31")
    assert "inactive, not used" in models()
    models("activate", "small@1")
    assert LanguageModel.objects.get(label="small", version=1).active


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", "small", "openai:x"), "There is a model 'small' already"),
        (("add", "new", "nobody:x"), "'nobody:x' is not a model"),
        (("add", "new", "compatible@gone:x"), "There is no endpoint 'gone'"),
        (("add", "new", "openai:x", "--set", "warmth=1"), "'warmth=1' is not a parameter"),
        (("add", "new", "openai:x", "--set", "seed=a"), "'a' is not a number, or none"),
        (("add", "new", "openai:x", "--set", "temperature=9"), "temperature must be a number from 0 to 2"),
        (("add", "new", "openai:x", "--extra", "{"), "--extra is not JSON"),
        (("add", "new", "openai:x", "--cached-price", "1"), "--cached-price needs --price"),
        (("add", "new", "openai:x", "--tutors", "eve"), "No tutor has the user name eve"),
        (("new-version", "other"), "'other' is not a model"),
        (("test", "small@2"), "has the versions 1"),
    ],
)
def test_the_command_refuses_with_a_sentence(db: None, arguments: tuple[str, ...], sentence: str) -> None:
    models("add", "small", "openai:gpt-4o")
    with pytest.raises(CommandError, match=sentence):
        models(*arguments)
    assert LanguageModel.objects.count() == 1


def test_the_command_tests_a_model_in_its_own_process(fake_providers: FakeProviders, db: None) -> None:
    models("add", "small", "openai:gpt-4o")
    fake_providers.script(Script(("42",)), failure(429))
    result = json.loads(models("test", "small", "--json"))
    assert (result["text"], result["model"], result["finish_reason"]) == ("42", "gpt-4o@fake", "stop")
    with pytest.raises(CommandError, match="Scripted failure"):
        models("test", "small")
    assert not ModelTest.objects.exists()
