"""Reading the files of a problem package, which may come from anybody: regular files inside of it, and sane YAML."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_LARGEST_TEXT = 2**17  # more takes the YAML reader many seconds
_QUOTED = 80
_MOST_VALUES = 50_000
_BAD_VALUES = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""What PyYAML lets through from the conversion of single values, beside its own errors: `!!int ""`, 2020-99-99."""


class PackageError(Exception):
    """The folder is not a problem package that can be judged; the message says where and why."""


def shown(text: object) -> str:
    """The text on one line: names of files in packages may hold line ends and bytes that are no text."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in str(text)
    )


def quoted(value: object) -> str:
    """The value as a message quotes it, however large it is."""
    try:
        text = repr(value)
    except ValueError:  # a whole number with thousands of digits
        return "a number with too many digits"
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def refuse_links_outside(package: Path, part: str = "") -> None:
    """Raise PackageError for a link that leads out of the package, in this part of it or anywhere.

    It could make any file of this machine a test, a program or a statement.
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
    except (OSError, RuntimeError):  # it leads to itself
        return False


def files_below(folder: Path) -> Iterator[Path]:
    """Everything below the folder that is no folder, whatever it is; linked folders count, each real one once."""
    seen = {os.path.realpath(folder)}
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = {name: os.path.realpath(Path(parent, name)) for name in folders}
        folders[:] = [name for name in folders if real[name] not in seen]
        seen.update(real.values())
        yield from (Path(parent, name) for name in files)


def read_mapping(file: Path, *, required: bool = False) -> dict[str, Any]:
    """The mapping in a YAML file; an empty one where the file is empty or, unless it is required, missing.

    Raises PackageError, also for a document that unfolds to more than it seems (aliases of aliases).
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
        raise PackageError(f"{shown(file)} must hold a mapping, not a {type(content).__name__}")
    return {str(key): value for key, value in content.items()}


def repeated_keys(file: Path) -> list[str]:
    """Return the keys that stand twice in a mapping of a YAML file that `read_mapping` accepts, with their lines."""
    node = yaml.compose(_small(file).decode("utf-8-sig"), yaml.SafeLoader) if file.is_file() else None
    found, seen, waiting = [], set(), [node] if node else []
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            values = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            found += [
                f"{shown(key.value)} (line {key.start_mark.line + 1})"
                for place, (key, _) in enumerate(node.value)
                if isinstance(key, yaml.ScalarNode) and key.value in values[:place]
            ]
            waiting += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return sorted(found)


def read_text(file: Path) -> str | None:
    """The text of a small file, or None where there is none. Raises PackageError."""
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
        if _unfolded(node, {}) > _MOST_VALUES:
            raise ValueError(f"it unfolds to more than {_MOST_VALUES} values")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _unfolded(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values the node stands for, every alias counted as what it refers to."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = _MOST_VALUES + 1  # for an alias in the node itself, which has no end
    children = node.value if isinstance(node, yaml.CollectionNode) else ()
    total = 1
    for child in children:
        total += sum(_unfolded(one, known) for one in (child if isinstance(child, tuple) else (child,)))
    known[id(node)] = total
    return total
