"""Profiles: the settings of published evaluations, for every method and every model."""

from dataclasses import asdict
from typing import Any

import pytest

from benchmark.methods import METHODS, PROFILES, SettingsError, parse_settings
from benchmark.methods.settings import combine_settings, describe_settings
from benchmark.models import Run
from benchmark.reports.formatting import non_default_settings

EVERYTHING: Any = combine_settings(
    "Everything",
    [METHODS[name].settings for name in ("semantic+episodic+reflexion", "refine", "verifier", "algo-tags")],
)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_setting_of_a_profile_is_one_of_some_method(profile) -> None:
    parse_settings(EVERYTHING, profile.settings)
    for texts in profile.models.values():
        parse_settings(EVERYTHING, texts)
    assert profile.attempts.keys() <= METHODS.keys()
    assert profile.summary
    assert profile.assumed
    for method in METHODS.values():
        parse_settings(method.settings, [], profile.settings_for("gpt-4o"))


def test_the_paper_and_its_code_differ_where_they_are_known_to() -> None:
    paper, code, icpc = (
        parse_settings(EVERYTHING, [], PROFILES[name].settings_for("gpt-4-1106-preview"))
        for name in ("usaco-paper", "usaco-code", "icpc-b")
    )
    assert (paper.i, paper.p, paper.run_all, paper.temperature, paper.extraction) == (
        3,
        2,
        False,
        0.7,
        "default",
    )
    assert (code.i, code.p, code.run_all, code.temperature, code.extraction) == (2, 2, True, None, "usaco")
    assert (code.draft, code.feedback, code.memory_unit) == ("shared", "usaco-code", "MB")
    assert (paper.draft, paper.feedback, paper.memory_unit) == ("own", "samples", "MiB")
    assert (icpc.i, icpc.p, icpc.feedback, icpc.language) == (2, 2, "verdicts", "cpp")
    assert (paper.policy, code.policy, icpc.policy) == ("compat", "compat", "fair")
    small = parse_settings(EVERYTHING, [], PROFILES["usaco-code"].settings_for("gpt-3.5-turbo-1106"))
    assert (small.semantic_max_chars, code.semantic_max_chars) == (7000, None)
    claude = parse_settings(EVERYTHING, [], PROFILES["usaco-code"].settings_for("claude-3-sonnet-20240229"))
    assert (claude.max_output_tokens, code.max_output_tokens) == (3000, None)
    assert PROFILES["usaco-paper"].attempts["zero-shot"] == 10


def test_options_override_the_profile() -> None:
    profile = PROFILES["usaco-code"].settings_for("gpt-3.5-turbo")
    settings = parse_settings(EVERYTHING, ["i=5", "semantic_max_chars=none"], profile)
    assert (settings.i, settings.semantic_max_chars, settings.run_all) == (5, None, True)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_an_unknown_setting_is_refused_with_all_that_the_method_knows(method) -> None:
    with pytest.raises(SettingsError) as raised:
        parse_settings(method.settings, ["reflections=3"])
    assert "There is no setting 'reflections'" in str(raised.value)
    assert describe_settings(method.settings) in str(raised.value)
    has = {name: f"  {name}=" in str(raised.value) for name in ("i", "p", "semantic_max_chars", "query")}
    assert has == {
        "i": "reflexion" in method.name or "retry" in method.name,
        "p": any(search in method.name for search in ("episodic", "random", "matched")),
        "semantic_max_chars": "semantic" in method.name,
        "query": "semantic" in method.name or "episodic" in method.name,
    }


def test_a_run_of_a_profiles_former_version_is_told_apart() -> None:
    def named(profile: str, method: str, manifest: dict[str, Any], **changes: object) -> str:
        texts = PROFILES[profile].settings_for("gpt-4o", method)
        parameters = asdict(parse_settings(METHODS[method].settings, [], texts)) | changes
        run = Run(
            method=method, model_spec="openai:gpt-4o", parameters=parameters, manifest={"profile": manifest}
        )
        return non_default_settings(run)

    for name in ("usaco-paper", "usaco-code", "icpc-b"):
        now = PROFILES[name].record
        assert named(name, "episodic+reflexion", now) == f"profile {name}"
        former = {"name": name, "assumed": now["assumed"]}
        assert named(name, "episodic+reflexion", former) == f"profile {name} (version 1)"
    shown = named("usaco-paper", "episodic+reflexion", {"name": "usaco-paper"}, buffer="all")
    assert shown == "profile usaco-paper (version 1), buffer=all"


def test_the_papers_figure_for_reflexion_after_retrieval_is_followed_only_there() -> None:
    for method, buffer in (
        ("reflexion", "all"),
        ("semantic+reflexion", "last"),
        ("episodic+reflexion", "last"),
    ):
        texts = PROFILES["usaco-paper"].settings_for("gpt-4o", method)
        assert asdict(parse_settings(METHODS[method].settings, [], texts))["buffer"] == buffer
