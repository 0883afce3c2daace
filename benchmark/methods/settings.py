"""The settings of a method: pydantic dataclass fields with a type, a default, bounds and a line of help."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args, get_origin

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from benchmark.models import Problem
from benchmark.prompts import MemoryUnit, PromptFormat, TemplateError, our_templates, templates_with
from benchmark.prompts.published import source_of
from benchmark.providers import EFFORTS, Parameters
from judge import LANGUAGES, Policy

Text = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""


class SettingsError(ValueError):
    """An unknown setting or an invalid value; the message lists the settings of the method."""


class OneOf:
    """Annotation of a text that must be one of the choices, for choices that are not known to the type checker."""

    def __init__(self, choices: Iterable[str]) -> None:
        self.choices = tuple(choices)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema([*self.choices])


def option(default: Any, help: str, *, ge: float | None = None, le: float | None = None) -> Any:
    """Return a settings field with its default, its line of help and the inclusive bounds of its value."""
    return Field(default, description=help, ge=ge, le=le)


@dataclass(frozen=True)
class MethodSettings:
    """The settings that every method has: sampling, judging, and the choice of test problems."""

    __pydantic_config__: ClassVar = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    temperature: float | None = option(
        0.7, "randomness of the replies; none uses the provider's default", ge=0, le=2
    )
    top_p: float | None = option(
        None, "share of likely words to draw from; none uses the provider's default", ge=0, le=1
    )
    max_output_tokens: int | None = option(4096, "longest reply; none uses the provider's default", ge=1)
    reasoning: Annotated[str, OneOf(EFFORTS)] | Annotated[int, Field(ge=1)] | None = option(
        None, "reasoning effort, or for some providers a number of tokens; none uses the provider's default"
    )
    seed: int | None = option(None, "seed of the sampling, for providers that accept one; none sends none")
    language: Annotated[str, OneOf(LANGUAGES)] = option("python", "language of the programs")
    policy: Annotated[str, OneOf(policy.value for policy in Policy)] = option(
        Policy.FAIR.value,
        "time limits: fair, scaled limits (slow languages get more time); compat, the published limits",
    )
    memory_unit: MemoryUnit = option(
        "MiB", "bytes in a megabyte of a memory limit: MiB, 2^20; MB, 10^6 as in the USACO code"
    )
    tests: Literal["imported", "suite"] = option(
        "imported",
        "tests after the samples: the imported tests, or the newest released suite of each problem (build_suite, "
        "build_verifier)",
    )
    every_test: bool = option(False, "run all tests after a failure too, which makes Tests@k exact")
    state_limits: bool = option(True, "end the problem statement with its time and memory limit")
    extraction: Literal["default", "usaco", "icpc-eval"] = option(
        "default", "how a program is extracted from a reply; usaco and icpc-eval follow the published code"
    )
    train: int | None = option(
        None,
        "problems set aside for retrieval, in proportion from every tier; the others are tested. none: leave-one-out, "
        "all are tested, and each is a retrieval candidate for the others",
        ge=1,
    )
    split_seed: int = option(123, "seed that selects the problems set aside by train", ge=0)
    prompts: Text | None = option(
        None,
        "folder with prompt templates that override the default templates of the same names; none: defaults",
    )

    @property
    def parameters(self) -> Parameters:
        """The sampling parameters that are sent to the provider."""
        return Parameters(self.temperature, self.top_p, self.max_output_tokens, self.seed, self.reasoning)

    def to_json(self) -> dict[str, Any]:
        """Return the settings in their stored form, without `reasoning` if it is none, as in older runs."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("reasoning", None)}

    @property
    def shows_whole_output(self) -> bool:
        """Whether prompts quote the complete output of a program on a sample."""
        return False

    def memory_limit_of(self, problem: Problem) -> int | None:
        """Return the memory limit in bytes that overrides the problem's, or None."""
        return problem.memory_limit * 10**6 // 2**20 if self.memory_unit == "MB" else None

    @cached_property
    def form(self) -> PromptFormat:
        """The format of the prompts, with the templates as they are now. Raises TemplateError."""
        templates = our_templates() if self.prompts is None else templates_with(self.prompts)
        return PromptFormat(self.language, self.state_limits, templates, self.memory_unit)

    @cached_property
    def prompts_source(self) -> dict[str, Any] | None:
        """The source from which the templates of `prompts` were imported, or None. Raises TemplateError."""
        return None if self.prompts is None else source_of(self.prompts)


S = TypeVar("S", bound=MethodSettings)


def combine_settings(name: str, classes: Sequence[type[MethodSettings]]) -> type[MethodSettings]:
    """Return a settings class of this name with the fields of all classes, or a single class unchanged."""
    if len(classes) == 1:
        return classes[0]
    # Without the module name pydantic resolves annotations in the module of `type`.
    plain: type[MethodSettings] = type(name, (*classes,), {"__module__": __name__})
    return cast("type[MethodSettings]", dataclass(frozen=True)(plain))


def parse_settings(cls: type[S], assignments: Sequence[str], profile: Sequence[str] = ()) -> S:
    """Return the settings with the `name=value` texts applied, those of the profile first.

    Profile settings that the method does not have are skipped; of two with the same name the later one counts.
    Raises SettingsError for every other text that is not a valid setting.
    """
    known = settings_fields(cls)
    texts = dict(_split(cls, text) for text in profile if text.partition("=")[0] in known)
    given: dict[str, str] = {}
    for assignment in assignments:
        name, text = _split(cls, assignment)
        if name in given:
            raise SettingsError(f"The setting {name!r} is given twice.")
        given[name] = text
    texts |= given
    try:
        settings = cls(**{name: _read(text, known[name]) for name, text in texts.items()})
    except ValidationError as error:
        wrong = [str(one["loc"][0]) for one in error.errors()]
        faults = [
            f"{name}={texts[name]}: {_fault(texts[name], known[name])}." for name in dict.fromkeys(wrong)
        ]
        raise SettingsError("\n".join([*faults, describe_settings(cls)])) from None
    try:
        # Read now: an invalid folder must be reported before any call is paid for.
        _ = settings.form, settings.prompts_source
    except TemplateError as error:
        raise SettingsError(f"prompts={settings.prompts}: {error}") from None
    return settings


def settings_fields(cls: type[MethodSettings]) -> dict[str, FieldInfo]:
    """Return the fields of a settings class by name."""
    fields: dict[str, FieldInfo] = cls.__pydantic_fields__  # type: ignore[attr-defined]
    return fields


def describe_settings(cls: type[MethodSettings]) -> str:
    """Return one line for each setting: name, default, valid values and help."""
    lines = ["Settings (--set name=value):"]
    for name, field in settings_fields(cls).items():
        lines.append(f"  {name}={format_value(field.default)}  ({_valid_values(field)}) {field.description}")
    return "\n".join(lines)


def format_value(value: object) -> str:
    """Return the value in the form that `--set` accepts."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _split(cls: type[MethodSettings], assignment: str) -> tuple[str, str]:
    """Return the name and the value of a `name=value` text. Raises SettingsError."""
    name, equals, text = assignment.partition("=")
    known = settings_fields(cls)
    if not equals:
        raise SettingsError(f"{assignment!r} is not a setting: write name=value.\n{describe_settings(cls)}")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise SettingsError(f"There is no setting {name!r}.{hint}\n{describe_settings(cls)}")
    return name, text.strip()


def _read(text: str, field: FieldInfo) -> Any:
    """Return the text as a value of one of the field's types, or the text itself, which validation then rejects."""
    types = _types(field)
    if type(None) in types and text.lower() == "none":
        return None
    if bool in types:
        return {"true": True, "false": False}.get(text.lower(), text)
    for number in (int, float):
        if number in types:
            with suppress(ValueError):
                return number(text)
    return text


def _fault(text: str, field: FieldInfo) -> str:
    choices = _choices(field)
    if not choices:
        return f"not a {_valid_values(field)}" if bool not in _types(field) else "not true or false"
    near = get_close_matches(text, choices, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"not one of {', '.join([*choices, *_numbers_beside_choices(field)])}{hint}"


def _types(field: FieldInfo) -> tuple[Any, ...]:
    """Return the types of a field's value: one, or one and NoneType."""
    types = get_args(field.annotation) or (field.annotation,)
    return tuple(get_args(one)[0] if get_origin(one) is Annotated else one for one in types)


def _choices(field: FieldInfo) -> tuple[str, ...]:
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)
    members = [field, *(FieldInfo.from_annotation(one) for one in get_args(field.annotation))]
    known = (one for member in members for one in member.metadata if isinstance(one, OneOf))
    return next((one.choices for one in known), ())


def _numbers_beside_choices(field: FieldInfo) -> list[str]:
    """Return the other valid values of a field with choices: a whole number if it may be one, and none."""
    types = _types(field)
    return [*(["a whole number from 1"] if int in types else []), *(["none"] if type(None) in types else [])]


def _valid_values(field: FieldInfo) -> str:
    """Return the valid values in words, for example "number from 0 to 2 or none"."""
    if choices := _choices(field):
        return " | ".join([*choices, *_numbers_beside_choices(field)])
    types = _types(field)
    if bool in types:
        return "true | false"
    bounds = {
        name: getattr(one, name) for one in field.metadata for name in ("ge", "le") if hasattr(one, name)
    }
    text = "text" if str in types else "whole number" if int in types else "number"
    text += f" from {bounds['ge']}" if "ge" in bounds else ""
    text += f" to {bounds['le']}" if "le" in bounds else ""
    return text + (" or none" if type(None) in types else "")
