"""Named endpoints: their texts, their addresses, and the secrecy of their keys."""

import pickle

import pytest
from django.views.debug import SafeExceptionReporterFilter

from benchmark.model_calls.pricing import price_for
from benchmark.model_calls.reply_cache import cache_key
from benchmark.providers import (
    Message,
    ModelSpec,
    ModelSpecError,
    Parameters,
    ProviderError,
    RetryPolicy,
    address_of,
    complete,
    open_batching_provider,
    open_provider,
    parse_model_spec,
)
from config.env import ModelEndpoint
from tests.fake_providers import FakeProviders

KEY = "sk-wrong-s3cret"
PASSWORD = "pa55word"


@pytest.fixture(autouse=True)
def endpoints(settings, fake_providers: FakeProviders) -> None:
    url = fake_providers.openai_url.replace("://", f"://user:{PASSWORD}@")
    settings.MODEL_ENDPOINTS = {"lab": ModelEndpoint(url, KEY), "other": ModelEndpoint("http://other/v1")}


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("compatible@lab:qwen3:8b", ModelSpec("compatible", "qwen3:8b", "lab")),
        ("openai-responses@my_2nd:org/m", ModelSpec("openai-responses", "org/m", "my_2nd")),
        ("compatible:a@b:c", ModelSpec("compatible", "a@b:c")),
    ],
)
def test_an_endpoint_stands_between_provider_and_model(text: str, spec: ModelSpec):
    assert parse_model_spec(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize(
    "text", ["openai@lab:m", "anthropic@lab:m", "compatible@:m", "compatible@Lab:m", "compatible@a@b:m"]
)
def test_an_endpoint_that_cannot_be_is_refused_with_the_form(text: str):
    with pytest.raises(ModelSpecError, match="for instance compatible@lab:llama3"):
        parse_model_spec(text)


@pytest.mark.parametrize("open_one", [open_provider, open_batching_provider, address_of])
def test_an_unknown_endpoint_is_refused_with_the_known_names(open_one):
    with pytest.raises(ProviderError) as caught:
        open_one(parse_model_spec("compatible@labb:m"))
    assert caught.value.kind == "configuration"
    assert str(caught.value) == (
        "There is no endpoint 'labb'. Set MODEL_ENDPOINT_LABB_URL and start again. Known endpoints: lab, other."
    )


def test_another_endpoint_is_another_model(settings):
    specs = [parse_model_spec(text) for text in ("compatible:m", "compatible@lab:m", "compatible@other:m")]
    keys = {cache_key(spec, {}, "hash", "0.0") for spec in specs}
    assert len(keys) == 3
    assert [price_for(spec) for spec in specs] == [None] * 3
    settings.MODEL_ENDPOINTS = {"other": ModelEndpoint("http://elsewhere/v1")}
    assert cache_key(specs[2], {}, "hash", "0.0") not in keys


def test_the_responses_api_has_the_listed_price_of_its_model(settings):
    settings.OPENAI_BASE_URL = ""
    assert price_for(ModelSpec("openai-responses", "gpt-4o")) == price_for(ModelSpec("openai", "gpt-4o"))
    assert price_for(ModelSpec("openai-responses", "gpt-4o", "lab")) is None


async def test_a_refused_key_names_its_variable_and_shows_nothing(fake_providers: FakeProviders, caplog):
    caplog.set_level("DEBUG")
    spec = parse_model_spec("compatible@lab:m")
    provider = open_provider(spec)
    shown = repr(provider) + repr(vars(provider))
    try:
        with pytest.raises(ProviderError, match="MODEL_ENDPOINT_LAB_KEY was refused") as caught:
            await complete(provider, "error-401", [Message("user", "Hi")], Parameters(), retry=RetryPolicy(1))
    finally:
        await provider.aclose()
    shown += str(caught.value) + caplog.text + repr(pickle.dumps(spec))
    assert KEY not in shown
    assert PASSWORD not in shown


def test_a_key_that_cannot_be_sent_names_its_variable(settings):
    settings.MODEL_ENDPOINTS = {"lab": ModelEndpoint("http://host/v1", "sk s3cret")}
    with pytest.raises(ProviderError, match="MODEL_ENDPOINT_LAB_KEY contains blanks") as caught:
        open_provider(parse_model_spec("compatible@lab:m"))
    assert "s3cret" not in str(caught.value)


def test_the_page_of_an_error_shows_no_endpoint():
    shown = repr(SafeExceptionReporterFilter().get_safe_settings())
    assert "MODEL_ENDPOINTS" in shown
    assert KEY not in shown
    assert PASSWORD not in shown
