"""Generators of a problem package that take the size of the input: `growth/growth.yaml` names their commands.

The file is Hintbench's addition to the package format. It maps the name of each size to `command`, with the
placeholders `{size}` and `{seed}`, and `largest`, the bound of the statement. The programs are in the same folder.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from benchmark.datasets.icpc_programs import ProgramFileError, read_program
from benchmark.datasets.records import SizedGeneratorRecord
from judge.packages import shown

FOLDER = "growth"


class _Size(BaseModel):
    model_config = ConfigDict(extra="forbid")

    command: str = Field(pattern=r"\{size\}")
    largest: int = Field(ge=32, le=10**15)


class _Sizes(RootModel[dict[str, _Size]]):
    """The content of growth.yaml."""


def sized_generators(package: Path) -> tuple[tuple[SizedGeneratorRecord, ...], Sequence[str]]:
    """Return the generators that take a size, and notes on those that cannot be used."""
    path = package / FOLDER / "growth.yaml"
    if not path.is_file():
        return (), ()
    try:
        sizes = _Sizes.model_validate(yaml.safe_load(path.read_text("utf-8"))).root
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        return (), [f"growth.yaml is not used: {shown(' '.join(str(error).split()))}"]
    notes: list[str] = []
    return tuple(_records(package / FOLDER, sizes, notes)), notes


def _records(folder: Path, sizes: dict[str, _Size], notes: list[str]) -> Iterator[SizedGeneratorRecord]:
    for parameter, size in sizes.items():
        name, _, arguments = size.command.partition(" ")
        program = folder / name
        try:
            if not program.resolve().is_relative_to(folder.resolve()) or not program.is_file():
                raise ProgramFileError(f"there is no file {shown(name)} in {FOLDER}/")
            language, files = read_program(program)
        except ProgramFileError as reason:
            notes.append(f"the size {shown(parameter)} is not used: {reason}")
            continue
        if language == "python":
            files = {"main.py": next(iter(files.values()))}
        yield SizedGeneratorRecord(parameter[:40], name, language, files, arguments, size.largest)
