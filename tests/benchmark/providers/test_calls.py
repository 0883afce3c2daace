"""Calls through the real SDKs to fake providers."""

import asyncio
import pickle
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest

from benchmark.providers import (
    Completed,
    Message,
    Parameters,
    ProviderError,
    ReasoningDelta,
    Restarted,
    RetryPolicy,
    TextDelta,
    TokenUsage,
    complete,
    open_provider,
    parse_model_spec,
    stream_with_retries,
)
from tests.fake_providers import FakeProviders, Script, Tokens, failure
from tests.stack import HANG

MESSAGES = [Message("system", "Be brief."), Message("user", "Say hi there.")]
FAST = RetryPolicy(base=0.001, cap=0.2)
ONCE = RetryPolicy(attempts=1)
DATE_IN_590_SECONDS = "a date in 590 seconds"
DEFAULTS = Parameters()
KEY = "sk-fake-000000"
VARIABLES = {"openai-responses": "OPENAI"}
"""The prefix of a provider's variables where it is not its name."""

everyone = pytest.mark.parametrize("name", ["openai", "anthropic", "compatible", "openai-responses"])
each_sdk = pytest.mark.parametrize("name", ["openai", "anthropic", "openai-responses"])


def variables_of(name: str) -> str:
    """Return the prefix of the variables of a provider."""
    return VARIABLES.get(name, name.upper())


@asynccontextmanager
async def opened(name: str):
    provider = open_provider(parse_model_spec(f"{name}:any"))
    try:
        yield provider
    finally:
        await provider.aclose()


async def reply_to(name: str, model: str, retry: RetryPolicy = ONCE, parameters: Parameters = DEFAULTS):
    async with opened(name) as provider:
        return await complete(provider, model, MESSAGES, parameters, retry=retry)


async def error_of(name: str, model: str, retry: RetryPolicy = ONCE) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await reply_to(name, model, retry)
    assert caught.value.__cause__ is caught.value.__context__ is None, "an SDK exception is carried along"
    assert KEY not in str(caught.value)
    return caught.value


@everyone
async def test_a_reply_streams_in_pieces_and_ends_with_its_record(fake_providers: FakeProviders, name):
    async with opened(name) as provider:
        events = [event async for event in provider.stream("reasoning", MESSAGES, DEFAULTS)]
    signed = {"type": "thinking", "thinking": "Let me think.", "signature": "signed-04c73480"}
    assert events == [
        ReasoningDelta("Let me "),
        ReasoningDelta("think."),
        TextDelta("Hello"),
        TextDelta(", "),
        TextDelta("world."),
        Completed(
            TokenUsage(11, 7, 3, 2),
            "reasoning@fake",
            "stop",
            "req_1",
            (signed,) if name == "anthropic" else (),
        ),
    ]


@each_sdk
async def test_a_whole_reply_tells_what_it_cost_and_took(fake_providers: FakeProviders, name, monkeypatch):
    fake_providers.script(Script(pieces=("a ", "b"), tokens=Tokens(100, 50, 0, 0)))
    clock = SimpleNamespace(monotonic=iter([10.0, 12.0, 15.0]).__next__)
    monkeypatch.setattr("benchmark.providers.retries.time", clock)
    reply = await reply_to(name, "some-model")
    assert (reply.text, reply.reasoning, reply.attempts) == ("a b", "", 1)
    assert reply.usage == TokenUsage(100, 50, 0, 0)
    assert (reply.first_token, reply.latency) == (2.0, 5.0)


@each_sdk
async def test_unreported_usage_is_unknown_and_not_zero(fake_providers: FakeProviders, name):
    assert (await reply_to(name, "no-usage")).usage == TokenUsage(None, None, None, None)


@each_sdk
@pytest.mark.parametrize(
    ("model", "reason"), [("finish-length", "length"), ("refusal", "refusal"), ("echo", "stop")]
)
async def test_finish_reasons_have_one_name_for_all_providers(
    fake_providers: FakeProviders, name, model, reason
):
    assert (await reply_to(name, model)).finish_reason == reason


@everyone
async def test_only_the_parameters_asked_for_are_sent(fake_providers: FakeProviders, name):
    await reply_to(name, "echo")
    sent = fake_providers.requests[0].body
    assert not sent.keys() & {"temperature", "top_p", "seed", "max_completion_tokens"}
    assert sent.get("max_tokens") == (16_384 if name == "anthropic" else None)
    await reply_to(name, "echo", parameters=Parameters(temperature=0.0, top_p=0.5, max_output_tokens=99))
    sent = fake_providers.requests[1].body
    limit, messages = (
        ("max_output_tokens", "input") if name == "openai-responses" else ("max_tokens", "messages")
    )
    assert (sent["temperature"], sent["top_p"], sent[limit]) == (0.0, 0.5, 99)
    assert sent["model"] == "echo"
    assert sent[messages][-1] == {"role": "user", "content": "Say hi there."}


async def test_system_messages_go_where_each_provider_wants_them(fake_providers: FakeProviders):
    await reply_to("anthropic", "echo")
    await reply_to("openai", "echo")
    anthropic, openai = (request.body for request in fake_providers.requests)
    assert anthropic["system"] == "Be brief."
    assert [message["role"] for message in anthropic["messages"]] == ["user"]
    assert [message["role"] for message in openai["messages"]] == ["system", "user"]


async def test_a_seed_is_sent_where_there_is_one_and_refused_where_not(fake_providers: FakeProviders):
    await reply_to("openai", "echo", parameters=Parameters(seed=7))
    assert fake_providers.requests[0].body["seed"] == 7
    with pytest.raises(ProviderError, match="no seed") as caught:
        await reply_to("anthropic", "echo", parameters=Parameters(seed=7))
    assert caught.value.kind == "bad_request"
    assert len(fake_providers.requests) == 1


async def test_openai_itself_gets_the_newer_name_of_the_limit(fake_providers: FakeProviders, monkeypatch):
    monkeypatch.setattr("benchmark.providers.openai_chat.OPENAI_URL", fake_providers.openai_url)
    await reply_to("openai", "echo", parameters=Parameters(max_output_tokens=99))
    assert fake_providers.requests[0].body["max_completion_tokens"] == 99
    assert "max_tokens" not in fake_providers.requests[0].body


@everyone
async def test_a_key_that_is_refused_is_named_and_not_shown(fake_providers: FakeProviders, settings, name):
    setting = f"{variables_of(name)}_API_KEY"
    setattr(settings, setting, "sk-wrong-987654")
    error = await error_of(name, "echo", FAST)
    assert (error.kind, error.retryable, len(fake_providers.requests)) == ("authentication", False, 1)
    assert setting in error.message
    assert "987654" not in str(error) + repr(error)


@each_sdk
@pytest.mark.parametrize(
    ("status", "kind", "calls"),
    [
        (400, "bad_request", 1),
        (403, "authentication", 1),
        (404, "not_found", 1),
        (429, "rate_limit", 3),
        (500, "server", 3),
        (529, "overloaded", 3),
    ],
)
async def test_errors_are_retried_within_bounds_when_that_can_help(
    fake_providers: FakeProviders, name, status, kind, calls
):
    error = await error_of(name, f"error-{status}", RetryPolicy(attempts=3, base=0.001))
    assert (error.kind, error.retryable, len(fake_providers.requests)) == (kind, calls > 1, calls)
    assert "Scripted failure." in error.message


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ({"code": "content_policy_violation", "type": "invalid_request_error"}, "bad_request"),
        ({"code": "invalid_prompt", "type": "invalid_request_error"}, "bad_request"),
        ({"code": 403, "metadata": {"reasons": ["violence"], "flagged_input": "Say hi"}}, "bad_request"),
        ({"code": 403, "metadata": {"provider_name": "any"}}, "authentication"),
        ({"code": "unsupported_country", "type": "invalid_request_error"}, "authentication"),
    ],
)
async def test_a_refused_prompt_is_distinguished_from_a_refused_key(
    fake_providers: FakeProviders, monkeypatch: pytest.MonkeyPatch, details, kind
):
    body = {"error": details | {"message": "Refused."}}
    monkeypatch.setattr("tests.fake_providers.wire.OpenAI.error", lambda *_: body)
    error = await error_of("compatible", "error-403")
    assert (error.kind, error.message.endswith("HTTP 403: Refused.")) == (kind, True)


@each_sdk
@pytest.mark.parametrize(
    ("headers", "bounds"),
    [
        ({"retry_after_ms": "150"}, (0.15, 0.1875)),
        ({"retry_after": "60"}, (60, 75)),
        ({"retry_after": "600"}, (600, 630)),
        ({"retry_after": DATE_IN_590_SECONDS}, (590 - HANG, 620)),
    ],
)
@pytest.mark.parametrize("chance", [0.0, 1.0])
async def test_the_wait_a_provider_asks_for_is_honoured_and_announced(
    fake_providers: FakeProviders, name, headers, bounds, chance
):
    waits: list[float] = []
    announced: list[tuple[float, str]] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    date = format_datetime(datetime.now(UTC) + timedelta(seconds=590), usegmt=True)
    headers = {key: value.replace(DATE_IN_590_SECONDS, date) for key, value in headers.items()}
    fake_providers.script(failure(429, **headers))
    retry = RetryPolicy(
        announce=lambda seconds, error: announced.append((seconds, error.kind)),
        sleep=sleep,
        random=lambda: chance,
    )
    reply = await reply_to(name, "echo", retry)
    assert reply.attempts == 2
    assert announced == [(waits[0], "rate_limit")]
    least, most = bounds
    assert least <= waits[0] <= most


@each_sdk
async def test_a_wait_of_more_than_ten_minutes_is_a_failure_that_says_so(fake_providers: FakeProviders, name):
    fake_providers.script(failure(429, retry_after="900"))
    error = await error_of(name, "echo", RetryPolicy())
    assert len(fake_providers.requests) == 1
    assert (error.kind, error.retryable, error.retry_after) == ("rate_limit", False, 900)
    assert "requests a wait of 900 seconds, longer than the 600 seconds" in error.message


async def test_waits_without_a_wish_of_the_provider_double_up_to_the_cap(fake_providers: FakeProviders):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    await error_of(
        "openai", "error-500", RetryPolicy(attempts=5, base=1.0, cap=5.0, sleep=sleep, random=lambda: 1.0)
    )
    assert waits == [1.0, 2.0, 4.0, 5.0]


@each_sdk
@pytest.mark.parametrize("ending", ["cut", "unfinished"])
async def test_a_stream_without_its_end_is_a_connection_error(fake_providers: FakeProviders, name, ending):
    fake_providers.script(Script(ending=ending))
    error = await error_of(name, "any")
    assert (error.kind, error.retryable) == ("connection", True)


@everyone
async def test_a_reply_that_breaks_off_starts_again_and_says_so(fake_providers: FakeProviders, name):
    fake_providers.script(Script(("lost ", "words"), ending="cut"), failure(500), Script(("whole",)))
    async with opened(name) as provider:
        events = [event async for event in stream_with_retries(provider, "m", MESSAGES, DEFAULTS, retry=FAST)]
    assert events[:2] == [TextDelta("lost "), TextDelta("words")]
    assert isinstance(events[2], Restarted)
    assert events[2].error.kind == "connection"
    assert events[3] == TextDelta("whole")
    assert isinstance(events[4], Completed)
    assert len(events) == 5


@each_sdk
async def test_a_reply_that_keeps_breaking_off_is_given_up(fake_providers: FakeProviders, name):
    error = await error_of(name, "cut-after-5", RetryPolicy(attempts=3, base=0.001))
    assert (error.kind, len(fake_providers.requests)) == ("connection", 3)


@each_sdk
async def test_nothing_of_a_lost_call_stays_in_the_reply(fake_providers: FakeProviders, name):
    fake_providers.script(Script(("lost",), reasoning=("lost",), ending="cut"), Script(("kept",)))
    reply = await reply_to(name, "any", FAST)
    assert (reply.text, reply.reasoning, reply.attempts) == ("kept", "", 2)


@each_sdk
async def test_an_overload_in_mid_stream_is_recognised_behind_status_200(fake_providers: FakeProviders, name):
    error = await error_of(name, "midstream-overloaded")
    assert (error.kind, error.retryable) == ("overloaded", True)
    assert (await reply_to(name, "midstream-overloaded-then-ok", FAST)).attempts == 2


async def test_a_reply_whose_last_chunk_is_lost_is_not_paid_for_twice(
    fake_providers: FakeProviders, monkeypatch
):
    def ending_without_usage(self, script):
        return self._chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])

    monkeypatch.setattr("tests.fake_providers.wire.OpenAI.ending", ending_without_usage)
    reply = await reply_to("openai", "echo")
    assert (reply.text, reply.usage.output_tokens) == ("Say hi there.", None)


@each_sdk
@pytest.mark.parametrize("model", ["hang", "hang-after-2"])
async def test_silence_ends_with_a_timeout(fake_providers: FakeProviders, settings, name, model):
    settings.PROVIDER_TIMEOUT = 0.15
    error = await error_of(name, model)
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "PROVIDER_TIMEOUT" in error.message


@everyone
async def test_an_unreachable_server_is_a_connection_error(fake_providers: FakeProviders, settings, name):
    setattr(settings, f"{variables_of(name)}_BASE_URL", "http://user:secret@127.0.0.1:1/v1")
    error = await error_of(name, "echo")
    assert error.kind == "connection"
    assert "127.0.0.1:1 " in error.message
    assert "secret" not in error.message


@each_sdk
@pytest.mark.parametrize(
    "nonsense", ["data: {]\n\n", "data: []\n\n", 'data: {"choices": [{"delta": null}]}\n\n']
)
async def test_nonsense_from_a_server_is_an_error_of_ours(
    fake_providers: FakeProviders, monkeypatch, name, nonsense
):
    wire = {"anthropic": "Anthropic", "openai-responses": "Responses"}.get(name, "OpenAI")
    event = f"event: message_start\n{nonsense}" if wire == "Anthropic" else nonsense
    monkeypatch.setattr(f"tests.fake_providers.wire.{wire}.piece", lambda self, text: event)
    monkeypatch.setattr(f"tests.fake_providers.wire.{wire}.ending", lambda self, script: "")
    error = await error_of(name, "echo")
    assert error.kind in ("server", "connection")


async def test_a_message_that_cannot_be_sent_is_a_bad_request(fake_providers: FakeProviders):
    async with opened("openai") as provider:
        with pytest.raises(ProviderError) as caught:
            await complete(provider, "echo", [Message("user", "\ud800")], DEFAULTS)
    assert (caught.value.kind, len(fake_providers.requests)) == ("bad_request", 0)


@each_sdk
async def test_null_bytes_are_replaced_and_split_surrogates_joined(fake_providers, name):
    fake_providers.script(Script(("nul \0, cow \ud83d", "\udc04, half \ud83d", " and \udc04, end \ud83d")))
    reply = await reply_to(name, "any")
    assert reply.text == "nul \ufffd, cow \U0001f404, half \ufffd and \ufffd, end \ufffd"


@each_sdk
async def test_leaving_a_stream_ends_the_call(fake_providers: FakeProviders, name):
    async with opened(name) as provider:
        stream = stream_with_retries(provider, "slow-10ms-1000", MESSAGES, DEFAULTS)
        async with aclosing(stream):
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        async with asyncio.timeout(HANG):
            while not fake_providers.requests[0].client_left:
                await asyncio.sleep(0.01)


@each_sdk
async def test_calls_of_one_client_run_side_by_side(fake_providers: FakeProviders, name):
    async with opened(name) as provider:
        replies = await asyncio.gather(
            *(complete(provider, "echo", [Message("user", f"number {n}")], DEFAULTS) for n in range(30))
        )
    assert [reply.text for reply in replies] == [f"number {n}" for n in range(30)]


@each_sdk
async def test_errors_cross_processes(fake_providers: FakeProviders, name):
    fake_providers.script(failure(429, retry_after_ms="50"))
    error = await error_of(name, "echo")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.kind, copy.message, copy.retryable, copy.retry_after) == (
        "rate_limit",
        error.message,
        True,
        0.05,
    )


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_missing_key_names_the_variable_to_set(fake_providers: FakeProviders, settings, name):
    setattr(settings, f"{name.upper()}_API_KEY", "")
    with pytest.raises(ProviderError, match=f"Set {name.upper()}_API_KEY") as caught:
        open_provider(parse_model_spec(f"{name}:any"))
    assert caught.value.kind == "configuration"


def test_a_missing_address_names_the_variable_to_set(fake_providers: FakeProviders, settings):
    settings.COMPATIBLE_BASE_URL = ""
    with pytest.raises(ProviderError, match="Set COMPATIBLE_BASE_URL"):
        open_provider(parse_model_spec("compatible:llama3:8b"))


@pytest.mark.parametrize("key", ["sk-übel", "sk-a\nb", "sk a"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(
    fake_providers: FakeProviders, settings, key
):
    settings.OPENAI_API_KEY = key
    with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
        open_provider(parse_model_spec("openai:any"))
    assert key not in str(caught.value)


def test_keys_are_in_no_representation(fake_providers: FakeProviders):
    for name in ("openai", "anthropic"):
        provider = open_provider(parse_model_spec(f"{name}:any"))
        assert KEY not in repr(provider) + repr(vars(provider))


@everyone
async def test_a_name_and_password_in_the_address_go_with_the_call(
    fake_providers: FakeProviders, settings, name
):
    setting = f"{variables_of(name)}_BASE_URL"
    setattr(settings, setting, getattr(settings, setting).replace("://", "://user:p%40ss@"))
    assert (await reply_to(name, "echo")).text == "Say hi there."
    assert fake_providers.requests[0].headers["authorization"] == "Basic dXNlcjpwQHNz"
