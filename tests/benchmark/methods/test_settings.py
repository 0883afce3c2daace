"""Settings of methods as people write them."""

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
