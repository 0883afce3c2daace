"""The parameters of a method: dataclass fields with a type, a default, bounds and a line of help."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeVar, get_args, get_type_hints

from benchmark.models import Problem
from benchmark.prompts import MemoryUnit, PromptFormat, TemplateError, our_templates, templates_with
from benchmark.prompts.published import source_of
from benchmark.providers import Parameters
from judge import LANGUAGES, Policy


class SettingsError(ValueError):
    """A setting that the method does not have, or a value it cannot take; the message lists what there is."""


def option(
    help: str, *, choices: Sequence[str] = (), minimum: float | None = None, maximum: float | None = None
) -> dict[str, Any]:
    """The metadata of a dataclass field that `parse_settings` reads, checks and explains."""
    return {"help": help, "choices": tuple(choices), "minimum": minimum, "maximum": maximum}


@dataclass(frozen=True)
class MethodSettings:
    """What every method has: how the model is asked, how its program is judged, which problems are tested."""

    temperature: float | None = field(
        default=0.7,
        metadata=option("randomness of the replies; none leaves it to the provider", minimum=0, maximum=2),
    )
    top_p: float | None = field(
        default=None,
        metadata=option(
            "share of likely words to draw from; none leaves it to the provider", minimum=0, maximum=1
        ),
    )
    max_output_tokens: int | None = field(
        default=4096, metadata=option("longest reply; none leaves it to the provider", minimum=1)
    )
    seed: int | None = field(
        default=None, metadata=option("seed of the sampling, for providers that take one; none sends none")
    )
    language: str = field(
        default="python", metadata=option("language of the programs", choices=tuple(LANGUAGES))
    )
    policy: str = field(
        default=Policy.FAIR.value,
        metadata=option(
            "fair gives slow languages more time; compat applies the given limits",
            choices=tuple(policy.value for policy in Policy),
        ),
    )
    memory_unit: MemoryUnit = field(
        default="MiB",
        metadata=option(
            "how many bytes a megabyte of a memory limit is: MiB 2^20; MB 10^6, as the USACO code",
            choices=get_args(MemoryUnit),
        ),
    )
    tests: str = field(
        default="imported",
        metadata=option(
            "what attempts are judged by after the samples: the imported tests, or the newest released suite of each "
            "problem (build_suite, build_verifier)",
            choices=("imported", "suite"),
        ),
    )
    every_test: bool = field(
        default=False,
        metadata=option("judge attempts on the tests after a failure too, so that Tests@k is exact"),
    )
    state_limits: bool = field(
        default=True, metadata=option("end the problem with its time and memory limit")
    )
    extraction: str = field(
        default="default",
        metadata=option(
            "how the program is taken from a reply; usaco is the published code's way",
            choices=("default", "usaco"),
        ),
    )

    train: int | None = field(
        default=None,
        metadata=option(
            "problems set aside to search in, from every tier its share; the others are tested. none: leave-one-out, "
            "all are tested, each by searching in the others",
            minimum=1,
        ),
    )
    split_seed: int = field(
        default=123, metadata=option("which problems are set aside, with train", minimum=0)
    )
    prompts: str | None = field(
        default=None,
        metadata=option("folder with prompt templates that go before ours of the same names; none: ours"),
    )

    @property
    def parameters(self) -> Parameters:
        """The part that is sent to the provider."""
        return Parameters(self.temperature, self.top_p, self.max_output_tokens, self.seed)

    @property
    def shows_whole_output(self) -> bool:
        """Return whether prompts quote all that a program printed for a sample."""
        return False

    def memory_limit_of(self, problem: Problem) -> int | None:
        """Return the memory limit in bytes that overrides the problem's, or None."""
        return problem.memory_limit * 10**6 // 2**20 if self.memory_unit == "MB" else None

    @cached_property
    def form(self) -> PromptFormat:
        """The part that shapes the prompts, with the templates as they are now. Raises TemplateError."""
        templates = our_templates() if self.prompts is None else templates_with(self.prompts)
        return PromptFormat(self.language, self.state_limits, templates, self.memory_unit)

    @cached_property
    def prompts_source(self) -> dict[str, Any] | None:
        """Return where the templates of `prompts` were imported from, if they were. Raises TemplateError."""
        return None if self.prompts is None else source_of(self.prompts)


S = TypeVar("S", bound=MethodSettings)


def parse_settings(cls: type[S], assignments: Sequence[str], profile: Sequence[str] = ()) -> S:
    """The settings with the `name=value` texts applied, those of the profile first.

    The profile's are passed over where the method has no such setting, and the later of two counts. Raises
    SettingsError for any other text that cannot be applied.
    """
    names = {f.name for f in fields(cls)}
    values: dict[str, Any] = {}
    for assignment in profile:
        if assignment.partition("=")[0] in names:
            values |= [_parse(cls, assignment)]
    given: dict[str, Any] = {}
    for assignment in assignments:
        name, value = _parse(cls, assignment)
        if name in given:
            raise SettingsError(f"The setting {name!r} is given twice.")
        given[name] = value
    settings = cls(**values | given)
    try:
        # Read now, so that a wrong folder is named before anything is paid for.
        _ = settings.form, settings.prompts_source
    except TemplateError as error:
        raise SettingsError(f"prompts={settings.prompts}: {error}") from None
    return settings


def _parse(cls: type[MethodSettings], assignment: str) -> tuple[str, Any]:
    name, equals, text = assignment.partition("=")
    known = {f.name: f for f in fields(cls)}
    if not equals:
        raise SettingsError(f"{assignment!r} is not a setting: write name=value.\n{describe_settings(cls)}")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise SettingsError(f"There is no setting {name!r}.{hint}\n{describe_settings(cls)}")
    try:
        return name, _read(text.strip(), get_type_hints(cls)[name], known[name].metadata)
    except ValueError as error:
        raise SettingsError(f"{name}={text}: {error}.\n{describe_settings(cls)}") from None


def describe_settings(cls: type[MethodSettings]) -> str:
    """One line a setting: its name, default, what it takes and what it does."""
    hints = get_type_hints(cls)
    lines = ["Settings (--set name=value):"]
    for f in fields(cls):
        option = _takes(hints[f.name], f.metadata)
        lines.append(f"  {f.name}={format_value(f.default)}  ({option}) {f.metadata['help']}")
    return "\n".join(lines)


def format_value(value: object) -> str:
    """The value as `--set` takes it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _takes(hint: Any, metadata: Any) -> str:
    if metadata["choices"]:
        return " | ".join(metadata["choices"])
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        return "true | false"
    if str in kinds:
        return "text or none" if type(None) in kinds else "text"
    text = "whole number" if int in kinds else "number"
    if metadata["minimum"] is not None and metadata["maximum"] is not None:
        text += f" from {metadata['minimum']} to {metadata['maximum']}"
    elif metadata["minimum"] is not None:
        text += f" from {metadata['minimum']}"
    return text + (" or none" if type(None) in kinds else "")


def _read(text: str, hint: Any, metadata: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    if metadata["choices"]:
        if text not in metadata["choices"]:
            near = get_close_matches(text, metadata["choices"], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"not one of {', '.join(metadata['choices'])}{hint}")
        return text
    if type(None) in kinds and text.lower() == "none":
        return None
    if str in kinds:
        if not text:
            raise ValueError("not a text")
        return text
    if bool in kinds:
        if text.lower() not in {"true", "false"}:
            raise ValueError("not true or false")
        return text.lower() == "true"
    try:
        number: float = int(text) if int in kinds else float(text)
    except ValueError:
        raise ValueError(f"not a {_takes(hint, metadata)}") from None
    minimum, maximum = metadata["minimum"], metadata["maximum"]
    if not math.isfinite(number) or (minimum is not None and number < minimum):
        raise ValueError(f"not a {_takes(hint, metadata)}")
    if maximum is not None and number > maximum:
        raise ValueError(f"not a {_takes(hint, metadata)}")
    return number
