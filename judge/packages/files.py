"""Files of an untrusted problem package: only regular files inside it, and YAML of limited size."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_LARGEST_TEXT = 2**17  # bytes; larger files take the YAML reader many seconds
_QUOTED = 80
_MAXIMUM_VALUES = 50_000
_BAD_VALUES = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""Errors that PyYAML raises besides its own for single values such as `!!int ""` and 2020-99-99."""


class PackageError(Exception):
    """A folder that is not a valid problem package; the message names the file and the reason."""


def shown(text: object) -> str:
    """Return the text on one line: names of files in packages may contain line ends and undecodable bytes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in str(text)
    )


def quoted(value: object) -> str:
    """Return the value as a message quotes it, shortened if it is large."""
    try:
        text = repr(value)
    except ValueError:  # an integer with thousands of digits
        return "a number with too many digits"
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def refuse_links_outside(package: Path, part: str = "") -> None:
    """Raise PackageError for a link in this part of the package (default: anywhere) whose target is outside.

    Such a link could turn any file of this machine into a test, a program or a statement.
    """
    root = package.resolve()
    paths = (
        Path(parent, name) for parent, *names in os.walk(package / part) for name in (*names[0], *names[1])
    )
    for path in (package / part, *paths):
        if path.is_symlink() and path != package and not _inside(path, root):
            raise PackageError(f"{shown(path)} is a link that leads out of the package")


def _inside(link: Path, root: Path) -> bool:
    try:
        return link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # the link leads to itself
        return False


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the paths below the folder that are not folders. Links to folders are followed once for each target."""
    seen = {os.path.realpath(folder)}
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = {name: os.path.realpath(Path(parent, name)) for name in folders}
        folders[:] = [name for name in folders if real[name] not in seen]
        seen.update(real.values())
        yield from (Path(parent, name) for name in files)


def read_mapping(file: Path, *, required: bool = False) -> dict[str, Any]:
    """Return the mapping in a YAML file, or an empty one if the file is empty or, unless required, missing.

    Raises PackageError, also for a document whose aliases expand to too many values.
    """
    if not file.is_file():
        if file.exists():
            raise PackageError(f"{shown(file)} is not a regular file")
        if required:
            raise PackageError(f"{shown(file.parent)} is not a problem package: it has no {file.name}")
        return {}
    try:
        content = _load(_small(file).decode("utf-8-sig"))
    except (yaml.YAMLError, RecursionError, *_BAD_VALUES) as error:
        raise PackageError(
            f"{shown(file)} is not valid YAML: {shown(' '.join(str(error).split()))[:500]}"
        ) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise PackageError(f"{shown(file)} must contain a mapping, not a {type(content).__name__}")
    return {str(key): value for key, value in content.items()}


def repeated_keys(file: Path) -> list[str]:
    """Return the repeated keys in the mappings of a YAML file that `read_mapping` accepts, with their lines."""
    node = yaml.compose(_small(file).decode("utf-8-sig"), yaml.SafeLoader) if file.is_file() else None
    found: list[str] = []
    seen: set[int] = set()
    pending = [node] if node else []
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            found += _repeated(node)
            pending += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            pending += node.value
    return sorted(found)


def _repeated(mapping: yaml.MappingNode) -> Iterator[str]:
    seen: set[str] = set()
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                yield f"{shown(key.value)} (line {key.start_mark.line + 1})"
            seen.add(key.value)


def read_text(file: Path) -> str | None:
    """Return the text of a small file, or None if the file is missing. Raises PackageError."""
    return _small(file).decode("utf-8", "replace") if file.is_file() else None


def _small(file: Path) -> bytes:
    if file.stat().st_size > _LARGEST_TEXT:
        raise PackageError(f"{shown(file)} is larger than {_LARGEST_TEXT} bytes")
    return file.read_bytes()


def _load(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _expanded_size(node, {}) > _MAXIMUM_VALUES:
            raise ValueError(f"it expands to more than {_MAXIMUM_VALUES} values")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _expanded_size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values in the node, with every alias expanded."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = _MAXIMUM_VALUES + 1  # an alias inside its own node has no end
    children = node.value if isinstance(node, yaml.CollectionNode) else ()
    total = 1
    for child in children:
        total += sum(_expanded_size(one, known) for one in (child if isinstance(child, tuple) else (child,)))
    known[id(node)] = total
    return total
