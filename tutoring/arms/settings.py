"""The settings of session arms, and what a run of them fixes when it starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic.dataclasses import dataclass

from benchmark.methods import Example, MethodSettings, PlannedRun, Preparation, SettingsError
from benchmark.methods.settings import OneOf, Text, option
from benchmark.providers.worlds import WorldError, read_world
from judge import LANGUAGES
from tutoring.arms.policy import Policy
from tutoring.arms.privileged import REFERENCES, reference_keys
from tutoring.arms.recorded_starts import SESSIONS_LEFT_OUT, STARTS, plan_starts
from tutoring.arms.sham_hints import HINTS, TEXTS, draw_hints
from tutoring.arms.transcript import PROTOCOL
from tutoring.models import Protocol
from tutoring.protocols import PRESETS, Rules, rules_of

OF_PROTOCOL = "protocol"
"""The value of the setting `language` that stands for the language of the protocol."""


@dataclass(frozen=True)
class SessionSettings(MethodSettings):
    """Settings of the protocol of the sessions. The default sampling is that of sessions of people: the provider's."""

    temperature: float | None = option(
        None, "randomness of the replies; none leaves it to the provider", ge=0, le=2
    )
    max_output_tokens: int | None = option(None, "longest reply; none leaves it to the provider", ge=1)
    language: Annotated[str, OneOf((*LANGUAGES, OF_PROTOCOL))] = option(
        OF_PROTOCOL, "language of the programs; it is always that of the protocol"
    )
    every_test: bool = option(True, "run all tests after a failure too; arms always do")
    protocol: Text = option(
        "usaco-2024",
        "frozen protocol whose budgets and texts the sessions have: NAME, or NAME@VERSION for an older version",
    )
    from_first: Text | None = option(
        None,
        "sessions of people: each gives one chain, which begins with the session's first program at no cost and has as "
        "many generations; all, or conditions such as attempt=first,model=openai:gpt-4o. none: chains of their own",
    )
    yoked_chains: int | None = option(
        None,
        "with from_first: chains at a problem at most, from the sessions opened first; none: one for each session",
        ge=1,
    )


def find_protocol(text: str) -> Protocol:
    """Return the protocol NAME (the newest version) or NAME@VERSION. Raises SettingsError."""
    name, at, version = text.partition("@")
    versions = {str(one.version): one for one in Protocol.objects.filter(name=name).order_by("version")}
    if not versions:
        names = ", ".join(Protocol.objects.order_by("name").values_list("name", flat=True).distinct())
        raise SettingsError(f"There is no protocol {name!r}. There are: {names or 'none'}.")
    if at and version not in versions:
        raise SettingsError(f"The protocol {name} has no version {version!r}. It has: {', '.join(versions)}.")
    return versions[version] if at else [*versions.values()][-1]


def prepare_sessions(policy: Policy, planned: PlannedRun) -> Preparation:
    """Fix the protocol's version and what the policy needs. Raises SettingsError before anything is paid for."""
    settings: SessionSettings = planned.settings
    if planned.spec.provider == "simulated":
        check_world(planned.spec.model)
    protocol = find_protocol(settings.protocol)
    rules = rules_of(protocol)
    _check(settings, protocol, rules, planned)
    fixed = replace(settings, protocol=f"{protocol.name}@{protocol.version}", language=rules.language)
    record: dict[str, Any] = {"policy": policy.name, PROTOCOL: protocol_record(protocol, rules)}
    left_out: dict[str, str] = {}
    reason = "it asks for a method in Python, and the protocol is for another language"
    left_out |= {one.external_id: reason for one in planned.problems if not rules.suits(one)}
    if "references" in policy.knows:
        keys = reference_keys(planned.dataset.pk, rules.language)
        record[REFERENCES] = {
            one.external_id: keys[one.external_id] for one in planned.problems if one.external_id in keys
        }
        reason = f"it has no reference program in {rules.language}"
        left_out |= {one.external_id: reason for one in planned.problems if one.external_id not in keys}
    chains: dict[str, int] | None = None
    if settings.from_first is not None:
        record[STARTS], without, sessions = plan_starts(
            planned, protocol, settings.from_first, settings.yoked_chains
        )
        record[SESSIONS_LEFT_OUT] = sessions
        left_out |= without
        chains = {name: len(starts) for name, starts in record[STARTS].items()}
    if policy.name == "sham":
        most = max(chains.values()) if chains else planned.attempts * planned.epochs
        record[HINTS] = draw_hints(planned, most, rules.code_generations - 1)
    return Preparation(fixed, left_out, record, chains)


def check_world(name: str) -> None:
    """Raise SettingsError if there is no valid world of this name."""
    try:
        read_world(name)
    except WorldError as error:
        raise SettingsError(str(error)) from None


def _check(settings: SessionSettings, protocol: Protocol, rules: Rules, planned: PlannedRun) -> None:
    if settings.language not in (OF_PROTOCOL, rules.language):
        raise SettingsError(
            f"language={settings.language}: the language of the protocol {protocol.name} is {rules.language}. Leave "
            "the setting out, or choose another protocol."
        )
    if not rules.code_generations or not rules.executions:
        raise SettingsError(
            f"The protocol {protocol} allows {rules.code_generations} generations of code and {rules.executions} "
            "executions; an arm needs at least one of each."
        )
    if settings.prompts is not None:
        raise SettingsError(
            "prompts: the prompts of sessions are those of the tutors' pages. Leave the setting out."
        )
    if not settings.every_test:
        raise SettingsError("every_test=false: arms judge every program on all tests. Leave the setting out.")
    if settings.yoked_chains is not None and settings.from_first is None:
        raise SettingsError(
            "yoked_chains: without from_first no chain begins with a session. Use --attempts for the number of chains."
        )
    if settings.from_first is not None:
        if planned.states_chains:
            raise SettingsError(
                "from_first: the sessions of people determine the number of chains. Leave --attempts and --epochs out."
            )
    elif planned.attempts > rules.sessions:
        raise SettingsError(
            f"The protocol {protocol} allows {rules.sessions} sessions on a problem, so --attempts is at most "
            f"{rules.sessions}. For more chains add --epochs N: each epoch has as many sessions again."
        )


def protocol_record(protocol: Protocol, rules: Rules) -> dict[str, Any]:
    """Return the protocol for the record of a run. The consent text, which only people accept, is left out."""
    return {
        "name": protocol.name,
        "version": protocol.version,
        "content_hash": protocol.content_hash,
        "rules": rules.to_json() | {"consent": ""},
    }


def example() -> Example:
    """Return an example of a run with the default settings on a problem "0", without a database."""
    name, rules = "usaco-2024", PRESETS["usaco-2024"]
    protocol = protocol_record(Protocol(name=name, version=1, content_hash=""), rules)
    drawn = [[0] * (rules.code_generations - 1)]
    record = {PROTOCOL: protocol, REFERENCES: {"0": [0]}, HINTS: {"0": drawn}}
    return Example(record, {REFERENCES: {0: "program"}, TEXTS: {0: "hint"}})
