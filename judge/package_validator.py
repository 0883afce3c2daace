"""The output validator a problem package brings: found, and read as data that a judge can keep and run."""

from pathlib import Path

from judge.checkers import CheckingProgram
from judge.languages import LANGUAGES, UnknownLanguage, language_of
from judge.limits import MEBIBYTE, Limits
from judge.package_files import PackageError, shown

_LARGEST_SOURCE = MEBIBYTE
_SCRIPTS = ("build", "run")
_TEXTS = (".h", ".hh", ".hpp", ".hxx")


class UnusableValidator(Exception):
    """The package has an output validator that cannot be run here; the message says why."""


def find_validator(package: Path, *, legacy: bool) -> Path | None:
    """The output validator: a file, or a folder of them. None where the package has none.

    Raises UnusableValidator where there are several, which all would have to accept.
    """
    places = (
        ["output_validators", "output_validator"] if legacy else ["output_validator", "output_validators"]
    )
    folder = next((package / place for place in places if _programs(package / place)), None)
    if folder is None:
        return None
    programs = _programs(folder)
    if len(programs) == 1:
        return programs[0]
    if any(path.is_dir() for path in programs):
        raise UnusableValidator(
            f"it has several output validators: {', '.join(shown(path.name) for path in programs)}"
        )
    return folder


def _programs(folder: Path) -> list[Path]:
    """What may be part of a validator in the folder, without notes and what editors and interpreters leave there."""
    if not folder.is_dir():
        return []
    unwanted = (".md", ".txt", ".pyc")
    return [
        path
        for path in sorted(folder.iterdir())
        if not path.name.startswith((".", "__pycache__", "README")) and path.suffix not in unwanted
    ]


def read_validator(
    path: Path, flags: tuple[str, ...], *, interactive: bool, passes: int, limits: Limits
) -> CheckingProgram:
    """The validator in this file or folder. `limits` are those of one run of it.

    Raises UnusableValidator, or PackageError where its files cannot be read.
    """
    files = _programs(path) if path.is_dir() else [path]
    if scripts := [file.name for file in files if file.name in _SCRIPTS]:
        raise UnusableValidator(f"its output validator comes with a script of its own ({', '.join(scripts)})")
    languages: set[str] = set()
    sources: dict[str, str] = {}
    for file in files:
        if not file.is_file() or not file.name.isprintable():
            raise UnusableValidator(
                f"its output validator holds more than files with printable names: {shown(file.name)}"
            )
        if file.suffix not in _TEXTS:
            try:
                languages.add(language_of(file))
            except UnknownLanguage:
                raise UnusableValidator(
                    f"its output validator is in no language there is here: {shown(file.name)}"
                ) from None
        sources[file.name] = _text(file)
    if len(languages) != 1:
        found = " and ".join(sorted(LANGUAGES[name].title for name in languages)) or "no language"
        raise UnusableValidator(f"its output validator is written in {found}")
    return CheckingProgram(
        language=languages.pop(),
        sources=sources,
        flags=flags,
        interactive=interactive,
        passes=passes,
        limits=limits,
    )


def _text(file: Path) -> str:
    if file.stat().st_size > _LARGEST_SOURCE:
        raise PackageError(f"{shown(file)} is larger than {_LARGEST_SOURCE} bytes")
    content = file.read_bytes()
    if b"\0" in content:
        raise PackageError(f"{shown(file)} is no text: it holds NUL bytes")
    return content.decode("utf-8-sig", "replace")
