"""The output validator of a problem package, read as data."""

from pathlib import Path

from judge.checking import OutputValidator
from judge.packages.files import PackageError, shown
from judge.records import MEBIBYTE, Limits
from judge.toolchains import LANGUAGES, UnknownLanguageError, is_header, language_of

_LARGEST_SOURCE = MEBIBYTE
_SCRIPTS = ("build", "run")


class UnusableValidatorError(Exception):
    """An output validator that this judge cannot run; the message is the reason."""


def find_validator(package: Path, *, legacy: bool) -> Path | None:
    """Return the output validator, a file or a folder of files, or None if the package has none.

    Raises UnusableValidatorError for several validators, all of which would have to accept.
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
        raise UnusableValidatorError(
            f"it has several output validators: {', '.join(shown(path.name) for path in programs)}"
        )
    return folder


def _programs(folder: Path) -> list[Path]:
    """Return the folder's entries that may belong to a validator: no notes, hidden files or caches."""
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
) -> OutputValidator:
    """Return the validator in this file or folder. `limits` are those of one run of it.

    Raises UnusableValidatorError, and PackageError where its files cannot be read.
    """
    files = _programs(path) if path.is_dir() else [path]
    if scripts := [file.name for file in files if file.name in _SCRIPTS]:
        raise UnusableValidatorError(f"its output validator has a build or run script ({', '.join(scripts)})")
    languages: set[str] = set()
    sources: dict[str, str] = {}
    for file in files:
        if not file.is_file() or not file.name.isprintable():
            raise UnusableValidatorError(
                f"its output validator contains more than files with printable names: {shown(file.name)}"
            )
        if not is_header(file):
            try:
                languages.add(language_of(file))
            except UnknownLanguageError:
                raise UnusableValidatorError(
                    f"its output validator is in a language that this judge does not have: {shown(file.name)}"
                ) from None
        sources[file.name] = _text(file)
    if len(languages) != 1:
        found = " and ".join(sorted(LANGUAGES[name].title for name in languages)) or "no language"
        raise UnusableValidatorError(f"its output validator is written in {found}")
    return OutputValidator(
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
        raise PackageError(f"{shown(file)} is not text: it contains NUL bytes")
    return content.decode("utf-8-sig", "replace")
