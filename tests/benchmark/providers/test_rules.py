"""Extra request fields: what they may contain, and the message about what they may not contain."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.providers import Parameters, check_extra, provider_names
from benchmark.providers.registry import PROVIDERS
from benchmark.providers.rules import EXTRA_BYTES, EXTRA_DEPTH

RESERVED = [
    "model", "messages", "input", "system", "tools", "tool_choice", "stream", "stream_options", "n", "temperature",
    "top_p", "max_tokens", "Model", "STREAM",
]  # fmt: skip

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


def refusal(provider: str, extra: object) -> str:
    """Return the message of the refusal, or ""."""
    try:
        check_extra(provider, extra)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.slow
@given(st.sampled_from(provider_names()), st.dictionaries(st.sampled_from(RESERVED) | st.text(), values))
def test_accepted_fields_are_storable_json_and_override_nothing(provider: str, extra: dict[str, object]):
    if message := refusal(provider, extra):
        assert message.endswith(".")
        assert any(ascii(name)[:50].rstrip("'\"") in message or repr(name) in message for name in extra)
        return
    text = json.dumps(extra, allow_nan=False, ensure_ascii=False)
    assert json.loads(text) == extra
    assert "\\u0000" not in text
    text.encode()
    taken = {name.lower() for name in RESERVED} | PROVIDERS[provider].rules.fields
    assert not {name.lower() for name in extra} & taken


@pytest.mark.parametrize("provider", provider_names())
@pytest.mark.parametrize("field", RESERVED)
def test_fields_that_hintbench_sets_are_refused_by_name(provider: str, field: str):
    with pytest.raises(ValueError, match=f"{field!r} is not allowed"):
        check_extra(provider, {"service_tier": "flex", field: 1})


@pytest.mark.parametrize(
    ("provider", "field"),
    [
        ("openai", "reasoning_effort"),
        ("openai", "max_completion_tokens"),
        ("compatible", "seed"),
        ("openai-responses", "reasoning"),
        ("openai-responses", "max_output_tokens"),
        ("openai-responses", "store"),
        ("anthropic", "thinking"),
        ("anthropic", "output_config"),
    ],
)
def test_fields_of_parameters_are_refused(provider: str, field: str):
    with pytest.raises(ValueError, match=field):
        check_extra(provider, {field: None})


def test_depth_and_size_are_bounded():
    value: object = 1
    for _ in range(EXTRA_DEPTH - 1):
        value = [value]
    check_extra("compatible", {"deep": value})
    with pytest.raises(ValueError, match="'deep' is nested more than"):
        check_extra("compatible", {"deep": [value]})
    check_extra("compatible", {"long": "x" * (EXTRA_BYTES - 20)})
    with pytest.raises(ValueError, match=r"too large.*'long'"):
        check_extra("compatible", {"short": 1, "long": "x" * EXTRA_BYTES})


@pytest.mark.parametrize("extra", [None, [], "text", 1])
def test_only_an_object_is_accepted(extra: object):
    with pytest.raises(ValueError, match="not a JSON object"):
        check_extra("compatible", extra)


def test_parameters_with_reasoning_and_extra_fields_are_stored_and_read():
    asked = Parameters(reasoning=8000, extra={"top_k": 20})
    assert asked.to_json() == {"reasoning": 8000, "extra": {"top_k": 20}}
    assert Parameters.from_json(asked.to_json()) == asked
