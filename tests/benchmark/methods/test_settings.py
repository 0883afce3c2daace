"""Settings of methods in the form of the command line."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from benchmark.methods import METHODS, SettingsError, parse_settings

EPISODIC: Any = METHODS["episodic"].settings


def test_values_are_read_by_their_type_and_the_rest_keeps_its_default() -> None:
    settings = parse_settings(
        EPISODIC, ["p=3", "k1=1.2", "temperature=none", "exclude_same_name=true", "query=statement+code"]
    )
    assert (settings.p, settings.k1, settings.exclude_same_name, settings.query) == (
        3,
        1.2,
        True,
        "statement+code",
    )
    assert (settings.language, settings.policy, settings.max_output_tokens) == ("python", "fair", 4096)
    assert settings.parameters.to_json() == {"max_output_tokens": 4096}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("p", "is not a setting: write name=value"),
        ("q=1", "There is no setting 'q'"),
        ("p=8", "p=8: not a whole number from 1 to 7"),
        ("p=two", "p=two: not a whole number from 1 to 7"),
        ("p=none", "p=none: not a whole number"),
        ("k1=inf", "k1=inf: not a number from 0"),
        ("temperature=nan", "not a number from 0 to 2 or none"),
        ("b=1.5", "not a number from 0 to 1"),
        ("language=cobol", "language=cobol: not one of python, pypy, cpp"),
        ("state_limits=maybe", "not true or false"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_list_of_all(assignment: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse_settings(EPISODIC, [assignment])
    message = str(raised.value)
    assert said in message
    assert "p=2  (whole number from 1 to 7) problems in the prompt" in message
    assert "temperature=0.7" in message


def test_a_method_has_its_own_settings_only() -> None:
    with pytest.raises(SettingsError, match="There is no setting 'p'"):
        parse_settings(METHODS["zero-shot"].settings, ["p=2"])


def test_a_setting_given_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match="'p' is given twice"):
        parse_settings(EPISODIC, ["p=1", "p=2"])


def test_all_invalid_settings_are_named_at_once_with_the_nearest_choice() -> None:
    with pytest.raises(SettingsError) as raised:
        parse_settings(EPISODIC, ["p=0", "tokenizer=word", "temperature=warm"])
    assert str(raised.value).splitlines()[:3] == [
        "temperature=warm: not a number from 0 to 2 or none.",
        "tokenizer=word: not one of usaco_split, words (did you mean words?).",
        "p=0: not a whole number from 1 to 7.",
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("temperature=1", 1.0),
        ("temperature=NONE", None),
        ("temperature= 0.5 ", 0.5),
        ("p=+3", 3),
        ("every_test=True", True),
        ("max_output_tokens=1_000", 1000),
    ],
)
def test_a_value_is_stored_in_the_type_of_its_setting(text: str, value: object) -> None:
    stored = asdict(parse_settings(EPISODIC, [text]))[text.partition("=")[0]]
    assert (stored, type(stored)) == (value, type(value))


@pytest.mark.parametrize(
    "text", ["p=3.0", "every_test=yes", "every_test=1", "textbook=", "max_output_tokens=1e3"]
)
def test_a_value_in_the_form_of_another_type_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=f"{text}: not "):
        parse_settings(METHODS["semantic+episodic"].settings, [text])


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_settings_are_the_same_after_they_were_stored(method: Any) -> None:
    settings = method.settings()
    assert method.settings(**json.loads(json.dumps(asdict(settings)))) == settings
