"""The exact requests with reasoning, blocks of earlier replies, extra fields and named endpoints."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.providers import (
    Completed,
    Message,
    ModelReply,
    Parameters,
    ProviderError,
    complete,
    open_batching_provider,
    open_provider,
    parse_model_spec,
)
from config.env import ModelEndpoint
from tests.fake_providers import FakeProviders, Request, Script

GOLDENS = Path(__file__).parent / "requests"
KEY = "sk-lab-123456"
QUESTION = [Message("system", "Be brief."), Message("user", "Which sort is stable?")]
REPLY = Script(("Merge sort.",), reasoning=("Compare ", "the sorts."))
THOUGHT = "Compare the sorts."

CASES = {
    "chat-reasoning": ("openai:gpt-5", Parameters(reasoning="high", max_output_tokens=4096)),
    "chat-extra": (
        "openai:gpt-5",
        Parameters(reasoning="low", extra={"verbosity": "low", "service_tier": "flex"}),
    ),
    "responses": ("openai-responses:gpt-5", Parameters(reasoning="high", max_output_tokens=4096)),
    "responses-plain": (
        "openai-responses:gpt-4o",
        Parameters(temperature=0.7, extra={"text": {"verbosity": "low"}}),
    ),
    "anthropic-thinking": (
        "anthropic:claude",
        Parameters(reasoning=2000, max_output_tokens=4096, extra={"service_tier": "standard_only"}),
    ),
    "anthropic-effort": ("anthropic:claude", Parameters(reasoning="high")),
    "compatible-endpoint": (
        "compatible@lab:qwen3:8b",
        Parameters(
            0.6, seed=7, reasoning="medium", extra={"chat_template_kwargs": {"enable_thinking": True}}
        ),
    ),
}


@pytest.fixture(autouse=True)
def lab(settings, fake_providers: FakeProviders) -> None:
    settings.MODEL_ENDPOINTS = {"lab": ModelEndpoint(fake_providers.openai_url, KEY)}


async def reply_of(spec_text: str, messages: list[Message], parameters: Parameters) -> ModelReply:
    spec = parse_model_spec(spec_text)
    provider = open_provider(spec)
    try:
        return await complete(provider, spec.model, messages, parameters)
    finally:
        await provider.aclose()


async def conversation(spec: str, parameters: Parameters) -> ModelReply:
    """Send two turns; the second contains the reply to the first. Return that reply."""
    first = await reply_of(spec, QUESTION, parameters)
    answer = Message("assistant", first.text, first.blocks)
    await reply_of(spec, [*QUESTION, answer, Message("user", "Any other?")], parameters)
    return first


def readable(requests: list[Request]) -> str:
    """Return the requests as text: path, parameters as JSON, then the messages."""
    told = []
    for number, request in enumerate(requests, 1):
        body = dict(request.body)
        messages = body.pop("messages", None) or body.pop("input")
        told.append(f"=== Request {number} to {request.path}: {json.dumps(body, sort_keys=True)}\n")
        for message in messages:
            content = message.get("content", message)
            text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, indent=1)
            told.append(f"=== {message.get('role', message.get('type'))}\n{text}\n")
    return "".join(told)


@pytest.mark.parametrize("name", CASES)
async def test_exactly_this_is_sent_in_both_turns(fake_providers: FakeProviders, name: str) -> None:
    fake_providers.script(REPLY, REPLY)
    await conversation(*CASES[name])
    golden = GOLDENS / f"{name}.txt"
    told = readable(fake_providers.requests)
    if not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(told)
        pytest.fail(f"{golden.name} was written: read it, then commit it")
    assert told == golden.read_text()


async def test_a_named_endpoint_gets_its_own_key(fake_providers: FakeProviders) -> None:
    await reply_of("compatible@lab:m", QUESTION, Parameters())
    await reply_of("openai-responses@lab:m", QUESTION, Parameters())
    assert [one.headers["authorization"] for one in fake_providers.requests] == [f"Bearer {KEY}"] * 2


async def test_redacted_thinking_is_sent_back_and_no_thinking_goes_to_another_provider(
    fake_providers: FakeProviders,
) -> None:
    fake_providers.script(
        Script(("Hi.",), reasoning=("Hm.",), redacted="secret=="), Script(), Script(), Script()
    )
    blocks = (await conversation("anthropic:claude", Parameters(reasoning=2000))).blocks
    assert [block["type"] for block in blocks] == ["thinking", "redacted_thinking"]
    sent = fake_providers.requests[1].body["messages"][1]["content"]
    assert sent == [*blocks, {"type": "text", "text": "Hi."}]
    turns = [*QUESTION, Message("assistant", "Hi.", blocks), Message("user", "And?")]
    await reply_of("openai:gpt-5", turns, Parameters())
    await reply_of("openai-responses:gpt-5", turns, Parameters())
    assert all("thinking" not in json.dumps(request.body) for request in fake_providers.requests[2:])


async def test_an_encrypted_item_does_not_go_to_anthropic_or_into_chat_completions(
    fake_providers: FakeProviders,
) -> None:
    fake_providers.script(REPLY, REPLY)
    blocks = (await conversation("openai-responses:gpt-5", Parameters(reasoning="high"))).blocks
    assert [block["type"] for block in blocks] == ["reasoning"]
    turns = [*QUESTION, Message("assistant", "Hi.", blocks), Message("user", "And?")]
    for spec in ("anthropic:claude", "openai:gpt-5"):
        await reply_of(spec, turns, Parameters())
        assert "encrypted_content" not in json.dumps(fake_providers.requests[-1].body)


@pytest.mark.parametrize("spec", ["openai-responses:gpt-5", "anthropic:claude"])
async def test_visible_reasoning_and_its_tokens_are_reported(
    fake_providers: FakeProviders, spec: str
) -> None:
    fake_providers.script(REPLY)
    reply = await reply_of(spec, QUESTION, Parameters(reasoning="high"))
    assert (reply.text, reply.reasoning, reply.usage.reasoning_tokens) == ("Merge sort.", THOUGHT, 2)


async def test_blocks_that_no_database_can_store_are_left_out(fake_providers: FakeProviders) -> None:
    fake_providers.script(Script(reasoning=("nul \0",)))
    assert (await reply_of("anthropic:claude", QUESTION, Parameters(reasoning=2000))).blocks == ()


@pytest.mark.parametrize("name", CASES)
async def test_a_batch_sends_the_same_request_and_returns_the_same_events(
    fake_providers: FakeProviders, name: str
) -> None:
    spec_text, parameters = CASES[name]
    spec = parse_model_spec(spec_text)
    fake_providers.script(REPLY, REPLY)
    single = await reply_of(spec_text, QUESTION, parameters)
    provider = open_batching_provider(spec)
    try:
        request = provider.request("one", spec.model, QUESTION, parameters)
        batch = await provider.create_batch("marker", await provider.prepare_batch([request]))
        await provider.batch_state(batch)
        [result] = [one async for one in provider.batch_results(batch)]
    finally:
        await provider.aclose()
    sent, in_batch = (request.body for request in fake_providers.requests)
    assert sent == in_batch | {name: sent[name] for name in ("stream", "stream_options") if name in sent}
    assert not isinstance(result.outcome, ProviderError)
    completed = result.outcome[-1]
    assert isinstance(completed, Completed)
    assert (completed.blocks, completed.usage) == (single.blocks, single.usage)
    pieces = [event.text for event in result.outcome[:-1]]  # type: ignore[union-attr]
    assert pieces == [single.reasoning, single.text]


@pytest.mark.parametrize(
    ("spec", "parameters", "words"),
    [
        ("openai:m", Parameters(reasoning=8000), "accepts no number of tokens"),
        ("compatible@lab:m", Parameters(reasoning=8000), "extra request field"),
        ("openai-responses:m", Parameters(reasoning=8000), "accepts no number of tokens"),
        ("openai-responses:m", Parameters(seed=1), "no seed"),
        ("openai:m", Parameters(reasoning="some"), "use minimal, low"),
        ("openai:m", Parameters(reasoning=True), "neither an effort"),
        ("anthropic:m", Parameters(reasoning="minimal"), "use low, medium"),
        ("anthropic:m", Parameters(reasoning=1023), "1,024 tokens or more"),
        ("anthropic:m", Parameters(reasoning=4096, max_output_tokens=4096), "must be above reasoning=4096"),
        ("anthropic:m", Parameters(0.7, reasoning="high"), "temperature=0.7"),
        ("anthropic:m", Parameters(top_p=0.9, reasoning=2000), "top_p=0.9"),
        ("anthropic:m", Parameters(reasoning=2000, extra={"top_k": 5}), "top_k"),
        ("anthropic:m", Parameters(extra={"thinking": {}}), "'thinking' is not allowed"),
    ],
)
async def test_parameters_that_an_api_refuses_are_not_sent(
    fake_providers: FakeProviders, spec: str, parameters: Parameters, words: str
) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        await reply_of(spec, QUESTION, parameters)
    assert (caught.value.kind, len(fake_providers.requests)) == ("bad_request", 0)


def events(*chunks: dict[str, Any]) -> str:
    return "".join(f"event: {chunk['type']}\ndata: {json.dumps(chunk)}\n\n" for chunk in chunks)


def ended(status: str, **more: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "model": "m@fake", "status": status, "output": [], "usage": None} | more
    return {"type": f"response.{status}", "response": response}


async def streamed(monkeypatch: pytest.MonkeyPatch, *chunks: dict[str, Any]) -> ModelReply:
    """Return the reply to a request that the server answers with these chunks."""
    monkeypatch.setattr("tests.fake_providers.wire.Responses.piece", lambda self, text: ": ping\n\n")
    monkeypatch.setattr("tests.fake_providers.wire.Responses.ending", lambda self, script: events(*chunks))
    return await reply_of("openai-responses:m", QUESTION, Parameters())


async def test_a_refusal_is_text_with_a_reason_of_its_own(fake_providers: FakeProviders, monkeypatch) -> None:
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    reply = await streamed(
        monkeypatch,
        {"type": "response.refusal.delta", "delta": "I cannot."},
        {"type": "response.output_item.done", "item": item},
        ended("completed"),
    )
    assert (reply.text, reply.finish_reason) == ("I cannot.", "refusal")


async def test_parts_of_a_summary_are_paragraphs(fake_providers: FakeProviders, monkeypatch) -> None:
    parts = [
        chunk
        for index in range(2)
        for chunk in (
            {"type": "response.reasoning_summary_part.added", "summary_index": index},
            {"type": "response.reasoning_summary_text.delta", "delta": f"part {index}"},
        )
    ]
    assert (await streamed(monkeypatch, *parts, ended("completed"))).reasoning == "part 0\n\npart 1"


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow down."}, "rate_limit"),
        (ended("failed", error={"code": "server_error", "message": "Slow down."}), "server"),
        (ended("failed", error={"code": "invalid_prompt", "message": "Slow down."}), "bad_request"),
    ],
)
async def test_an_error_within_a_response_has_its_kind_and_message(
    fake_providers: FakeProviders, monkeypatch, chunk: dict[str, Any], kind: str
) -> None:
    monkeypatch.setattr(
        "benchmark.providers.retries.RetryPolicy.check", lambda self, failures, error: raise_(error)
    )
    with pytest.raises(ProviderError, match="Slow down") as caught:
        await streamed(monkeypatch, chunk)
    assert caught.value.kind == kind


def raise_(error: ProviderError) -> None:
    raise error
