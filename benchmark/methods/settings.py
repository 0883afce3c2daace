"""The parameters of a method: dataclass fields with a type, a default, bounds and a line of help."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, get_args, get_type_hints

from benchmark.providers import Parameters
from judge import LANGUAGES, Policy


class SettingsError(ValueError):
    """A setting that the method does not have, or a value it cannot take; the message lists what there is."""


def takes(
    help: str, *, choices: Sequence[str] = (), minimum: float | None = None, maximum: float | None = None
) -> dict[str, Any]:
    """The metadata of a dataclass field that `parse_settings` reads, checks and explains."""
    return {"help": help, "choices": tuple(choices), "minimum": minimum, "maximum": maximum}


@dataclass(frozen=True)
class Sampling:
    """What every method has: how the model is asked and how its program is judged."""

    temperature: float | None = field(
        default=0.7,
        metadata=takes("randomness of the replies; none leaves it to the provider", minimum=0, maximum=2),
    )
    max_output_tokens: int | None = field(
        default=4096, metadata=takes("longest reply; none leaves it to the provider", minimum=1)
    )
    language: str = field(
        default="python", metadata=takes("language of the programs", choices=tuple(LANGUAGES))
    )
    policy: str = field(
        default=Policy.FAIR.value,
        metadata=takes(
            "fair gives slow languages more time; compat applies the given limits",
            choices=tuple(policy.value for policy in Policy),
        ),
    )
    state_limits: bool = field(default=True, metadata=takes("end the problem with its time and memory limit"))

    @property
    def parameters(self) -> Parameters:
        """The part that is sent to the provider."""
        return Parameters(temperature=self.temperature, max_output_tokens=self.max_output_tokens)


S = TypeVar("S", bound=Sampling)


def parse_settings(cls: type[S], assignments: Sequence[str]) -> S:
    """The settings with the `name=value` texts applied. Raises SettingsError."""
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise SettingsError(
                f"{assignment!r} is not a setting: write name=value.\n{describe_settings(cls)}"
            )
        if name not in known:
            raise SettingsError(f"There is no setting {name!r}.\n{describe_settings(cls)}")
        if name in values:
            raise SettingsError(f"The setting {name!r} is given twice.")
        try:
            values[name] = _read(text.strip(), hints[name], known[name].metadata)
        except ValueError as error:
            raise SettingsError(f"{name}={text}: {error}.\n{describe_settings(cls)}") from None
    return cls(**values)


def describe_settings(cls: type[Sampling]) -> str:
    """One line a setting: its name, default, what it takes and what it does."""
    hints = get_type_hints(cls)
    lines = ["Settings (--set name=value):"]
    for f in fields(cls):
        takes = _takes(hints[f.name], f.metadata)
        lines.append(f"  {f.name}={_written(f.default)}  ({takes}) {f.metadata['help']}")
    return "\n".join(lines)


def _written(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _takes(hint: Any, metadata: Any) -> str:
    if metadata["choices"]:
        return " | ".join(metadata["choices"])
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        return "true | false"
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
            raise ValueError(f"not one of {', '.join(metadata['choices'])}")
        return text
    if type(None) in kinds and text.lower() == "none":
        return None
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
