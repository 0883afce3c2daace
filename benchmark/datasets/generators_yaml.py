"""Parser of `generators/generators.yaml`: the tests that a package lists, and how they are generated.

Sources: the ICPC problem package formats 2023-07 and 2025-09, and BAPCtools for numbers and seeds (docs/spec.md 10.6).
The parser runs no program and opens no other file. Every entry that the parser does not support becomes a fault with
its path in the file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from judge.packages import PackageError, quoted, read_mapping, repeated_keys, shown

_MAXIMUM_DEPTH = 20
_MAXIMUM_TESTS = 10_000
_MAXIMUM_COUNT = 100
_MAXIMUM_INLINE = 64 * 2**20  # characters: aliases may repeat one text without limit
_RANGE = re.compile(r"(-?\d{1,9})\.\.=(-?\d{1,9})")
_SEED = re.compile(r"\{seed(?::[0-9]+)?\}")

_INLINE = ("in", "ans")
_STATEMENT_ONLY = ("in.statement", "in.download")
_UNUSED_OF_TESTS = ("out", "desc", "hint", "ans.statement", "ans.download", "out.statement", "out.download",
                    "interaction", "match", "visualizer", "retries", *_STATEMENT_ONLY)  # fmt: skip
"""Ignored keys of tests: other outputs, texts and figures for people, and checks for the package's author."""

_TEST_KEYS = frozenset(
    {"generate", "copy", "count", "args", "files", "yaml", *_INLINE, *_UNUSED_OF_TESTS}
    - {"visualizer", "retries"}
)
"""A mapping with one of these keys is a test; any other mapping is a folder."""

_GROUP_FILES = ("testdata.yaml", "test_group.yaml")
_UNUSED_OF_FOLDERS = ("visualizer", "retries", "type", "reserved")
_UNUSED_OF_THE_ROOT = ("gitignore_generated", "parallel", "version", "generators")
_SUITE_FOLDERS = ("sample", "secret")
_OTHER_FOLDERS = (
    "invalid_output", "invalid_outputs", "invalid_answer", "invalid_answers", "invalid_input", "invalid_inputs",
    "bad", "valid_output", "valid_outputs", "testing_tool_test", "fuzz",
)  # fmt: skip
"""Folders of `data/` whose inputs test validators and tools, not submissions."""


@dataclass(frozen=True)
class ListingEntry:
    """A listed test. Without command, copy and input, its files are in `data/` under its name.

    `name` is the path below `data/` with numbers; `key` is the same path as in the file. In `command`, `{count}` and
    `{name}` are replaced and `{seed}` is not. The seed is a hash of `salt` and `command`. `copy` is a path relative to
    `generators/`, without suffix. `solution` is a path relative to the package, empty if the file names none.
    """

    name: str
    key: str
    command: str = ""
    salt: str = ""
    copy: str = ""
    input: str | None = None
    answer: str | None = None
    solution: str = ""


@dataclass(frozen=True)
class Fault:
    """An unsupported part of the file: its path and the reason."""

    name: str
    reason: str


@dataclass
class Listing:
    """The content of a file. `elsewhere` counts tests in folders on which no submission is judged."""

    tests: list[ListingEntry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    elsewhere: int = 0


@dataclass(frozen=True)
class _Context:
    """The folder being read: its two paths, and the settings that its tests inherit."""

    name: str
    key: str
    depth: int
    salt: str = ""
    solution: str = ""

    def child(self, name: str, key: str) -> "_Context":
        if self.depth >= _MAXIMUM_DEPTH:
            raise PackageError("generators.yaml: its folders are nested too deeply")
        joined = (f"{path}/{last}" if path else last for path, last in ((self.name, name), (self.key, key)))
        return replace(self, name=next(joined), key=next(joined), depth=self.depth + 1)


def read_listing(file: Path) -> Listing:
    """Return the listing of the file, empty without a file.

    Raises PackageError for an unreadable file, and for more tests or nested folders than the maximum.
    """
    listing = _Reader(read_mapping(file)).listing
    for key in repeated_keys(file):
        listing.faults.append(Fault(key, "this key occurs twice in one mapping; only the last one is used"))
    return listing


class _Reader:
    """A parser of one file. Tests in lists are numbered across the file, folders within their list."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.listing = Listing()
        self._keys: set[str] = set()
        self._inline = 0
        self._numbers = count(1)
        self._width = len(str(_numbered_tests(content, 0)))
        self._read_aliases(content.get("generators"))
        root = self._configured(_Context("", "", 0), content)
        known = (*_UNUSED_OF_FOLDERS, *_GROUP_FILES, *_UNUSED_OF_THE_ROOT, "data", "solution", "random_salt")
        self._refuse_unknown_keys("", content, known)
        self._read_root(root, content.get("data"))

    def _fault(self, name: str, reason: str) -> None:
        self.listing.faults.append(Fault(shown(name) or "generators.yaml", reason))

    def _read_aliases(self, generators: Any) -> None:
        if generators is not None and not isinstance(generators, dict):
            self._fault("generators", f"must map names to lists of files, not {quoted(generators)}")
            return
        for name, files in (generators or {}).items():
            if isinstance(files, list) and files and all(isinstance(file, str) for file in files):
                self.listing.aliases[str(name)] = tuple(files)
            else:
                self._fault(f"generators/{name}", f"must be a list of files, not {quoted(files)}")

    def _read_root(self, root: _Context, data: Any) -> None:
        if data is not None and not isinstance(data, dict):
            self._fault("data", f"must map the folders of data/ to their tests, not {quoted(data)}")
            return
        folders = {str(key): value for key, value in (data or {}).items()}
        for name in (*_SUITE_FOLDERS, *_OTHER_FOLDERS):
            if folders.get(name) is not None:
                self._read_folder(root.child(name, name), folders[name])
        for name in folders.keys() - {*_SUITE_FOLDERS, *_OTHER_FOLDERS}:
            self._fault(name, "data/ has no folder of that name whose tests could be judged")
        inside = [one for one in self.listing.tests if one.name.partition("/")[0] in _SUITE_FOLDERS]
        self.listing.elsewhere = len(self.listing.tests) - len(inside)
        self.listing.tests = inside

    def _read_folder(self, context: _Context, folder: Any) -> None:
        if not _is_folder(folder):
            self._fault(context.name, f"must be a folder with data, not {quoted(folder)}")
            return
        context = self._configured(context, folder)
        known = (*_UNUSED_OF_FOLDERS, *_GROUP_FILES, "data", "include", "solution", "random_salt")
        self._refuse_unknown_keys(context.name, folder, known)
        for name in _GROUP_FILES:
            self._refuse_flags(context.name, name, folder.get(name))
        self._check_included(context, folder.get("include"))
        data = folder.get("data")
        if isinstance(data, list):
            self._read_list(context, data)
        elif isinstance(data, dict):
            self._read_mapping(context, {str(key): value for key, value in data.items()})
        elif data is not None:
            self._fault(context.name, f"its data must be a mapping or a list, not {quoted(data)}")
        self._keys.add(context.key.rpartition("/")[2])

    def _read_mapping(self, context: _Context, children: Mapping[str, Any]) -> None:
        """Number the children sorted by name, as BAPCtools does, and list them in the order of the file."""
        first, read = len(self.listing.tests), {}
        for key in sorted(children):
            before = len(self.listing.tests)
            self._read_named(context, key, children[key])
            read[key] = self.listing.tests[before:]
        self.listing.tests[first:] = [entry for key in children for entry in read[key]]

    def _read_named(self, context: _Context, key: str, value: Any) -> None:
        if not key:
            self._fault(f"{context.name}/", "a test outside a list needs a name")
        elif _is_folder(value):
            self._read_folder(context.child(key, key), value)
        else:
            self._read_test(context, key, value, numbered=False)

    def _read_list(self, context: _Context, items: list[Any]) -> None:
        folders = sum(
            _is_folder(value) for item in items if isinstance(item, dict) for value in item.values()
        )
        numbers, width = count(1), len(str(folders))
        for position, item in enumerate(items, 1):
            if not isinstance(item, dict) or len(item) != 1:
                keys = ", ".join(map(shown, item)) if isinstance(item, dict) else quoted(item)
                self._fault(
                    f"{context.name}[{position}]", f"an item of a list must contain one test, not {keys}"
                )
                continue
            [(given, value)] = item.items()
            key = "" if given is None else str(given)
            if _is_folder(value):
                name = _numbered(next(numbers), width, key)
                self._read_folder(context.child(name, key), value)
            else:
                self._read_test(context, key, value, numbered=True)

    def _read_test(self, context: _Context, key: str, value: Any, *, numbered: bool) -> None:
        """Read an entry, which `count` may turn into several tests."""
        path = f"{context.name}/{key}"
        try:
            given = _test_mapping(value)
            counts, width = _counts(given.get("count"))
        except ListingError as reason:
            if numbered:
                next(self._numbers)
            self._fault(path, str(reason))
            return
        for number in counts:
            name = _numbered(next(self._numbers), self._width, key) if numbered else key
            if "count" in given:
                name += f"-{number:0{width}}"
            self._add(context.child(name, key), given, number)

    def _add(self, context: _Context, given: Mapping[str, Any], number: int) -> None:
        try:
            entry = _entry(self._configured(context, given), given, number)
        except ListingError as reason:
            self._fault(context.name, str(reason))
            return
        if entry is None:
            return
        if len(self.listing.tests) >= _MAXIMUM_TESTS:
            raise PackageError(f"generators.yaml lists more than {_MAXIMUM_TESTS} tests")
        self._inline += len(entry.input or "") + len(entry.answer or "")
        if self._inline > _MAXIMUM_INLINE:
            raise PackageError(
                f"the inline tests of generators.yaml are larger than {_MAXIMUM_INLINE} characters"
            )
        self.listing.tests.append(entry)
        self._keys.add(context.key.rpartition("/")[2])

    def _check_included(self, context: _Context, names: Any) -> None:
        """Check that included tests exist. They repeat earlier tests, so the suite does not contain them twice."""
        for name in names if isinstance(names, list) else [] if names is None else [names]:
            if not isinstance(name, str) or name not in self._keys:
                self._fault(context.name, f"includes {quoted(name)}, which names no earlier test or folder")

    def _configured(self, context: _Context, given: Mapping[str, Any]) -> _Context:
        """Return the context with the settings of this mapping."""
        salt, solution = given.get("random_salt"), given.get("solution", context.solution)
        for key, value in (("random_salt", salt), ("solution", solution)):
            if value is not None and not isinstance(value, str):
                self._fault(context.name, f"its {key} must be a text, not {quoted(value)}")
                return context
        return replace(context, salt=context.salt if salt is None else salt, solution=solution or "")

    def _refuse_flags(self, path: str, file: str, content: Any) -> None:
        """Report flags of a group: they would change the checker or validator and are not supported."""
        flags = [
            str(key)
            for key, value in (content.items() if isinstance(content, dict) else ())
            if str(key).endswith(("_flags", "_args")) and value
        ]
        if flags:
            self._fault(path, f"its {file} gives {', '.join(map(shown, flags))}, which are not supported")

    def _refuse_unknown_keys(self, path: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in given:
            if str(key) not in known:
                self._fault(f"{path}/{key}".lstrip("/"), "this key is not known")


class ListingError(Exception):
    """An entry that is not supported; the message is the reason."""


def _is_folder(value: Any) -> bool:
    return isinstance(value, dict) and not _TEST_KEYS & {str(key) for key in value}


def _test_mapping(value: Any) -> Mapping[str, Any]:
    """Return the entry in its long form."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"copy": value.removesuffix(".in")} if value.endswith(".in") else {"generate": value}
    if not isinstance(value, dict):
        raise ListingError(f"must be a command or a mapping, not {quoted(value)}")
    given = {str(key): one for key, one in value.items()}
    known = {"generate", "copy", "count", "solution", "random_salt", "args", "files", "yaml",
             *_INLINE, *_UNUSED_OF_TESTS}  # fmt: skip
    if unknown := sorted(given.keys() - known):
        raise ListingError(f"its key {', '.join(map(shown, unknown))} is not known")
    return given


def _counts(value: Any) -> tuple[list[int], int]:
    """Return the numbers of an entry's `count`, and their number of digits in names."""
    match value:
        case None:
            return [1], 0
        case bool():
            pass
        case int() if 1 <= value <= _MAXIMUM_COUNT:
            return list(range(1, value + 1)), len(str(value))
        case [_, *_] if len(value) <= _MAXIMUM_COUNT and all(type(one) is int for one in value):
            if len(set(value)) == len(value):
                consecutive = max(value) - min(value) == len(value) - 1
                return list(value), max(len(str(one)) for one in value) if consecutive else 0
        case str() if found := _RANGE.fullmatch(value):
            first, last = int(found[1]), int(found[2])
            if first <= last < first + _MAXIMUM_COUNT:
                numbers = list(range(first, last + 1))
                return numbers, max(len(str(one)) for one in numbers)
    raise ListingError(
        f"its count must be 1 to {_MAXIMUM_COUNT}, a list of different whole numbers or a range such as "
        f"-4..=5, not {quoted(value)}"
    )


def _entry(context: _Context, given: Mapping[str, Any], number: int) -> ListingEntry | None:
    """Return the test; None for an example that only the statement shows. Raises ListingError."""
    _refuse_unsupported_values(given)
    command, copy = (given.get("generate") or "").strip(), given.get("copy") or ""
    if "generate" in given and not command:
        raise ListingError("its command is empty")
    if given.get("in") is None and not command and not copy:
        if given.keys() & set(_STATEMENT_ONLY):
            return None
        if given:
            raise ListingError("its input is missing: it has neither in, copy nor generate")
    if copy.startswith("/"):
        raise ListingError(f"its copy {quoted(copy)} must be relative to generators/")
    command, salt = _filled(command, context, given, number)
    return ListingEntry(
        context.name,
        context.key,
        command=command,
        salt=salt,
        copy=copy.removesuffix(".in"),
        input=_text(given.get("in")),
        answer=_text(given.get("ans")),
        solution=context.solution,
    )


def _refuse_unsupported_values(given: Mapping[str, Any]) -> None:
    """Raise ListingError for a value of another type, and for arguments, files and flags."""
    for key in ("generate", "copy", *_INLINE):
        if given.get(key) is not None and not isinstance(given[key], str):
            raise ListingError(f"its {key} must be a text in quotes, not {quoted(given[key])}")
    for key in ("args", "files"):
        if given.get(key):
            raise ListingError(f"its {key} are not supported")
    if isinstance(settings := given.get("yaml"), dict):
        flags = [str(key) for key in settings if str(key).endswith(("_flags", "_args"))]
        if flags:
            raise ListingError(f"its yaml gives {', '.join(map(shown, flags))}, which are not supported")


def _filled(command: str, context: _Context, given: Mapping[str, Any], number: int) -> tuple[str, str]:
    """Return the command for this number of `count`, and the salt that gives equal commands different seeds."""
    if "{count}" in command:
        if "count" not in given:
            raise ListingError("its command contains {count}, but the entry has no count")
        command = command.replace("{count}", str(number))
    if len(_SEED.findall(command)) > 1:
        raise ListingError("its command contains {seed} more than once")
    name = context.name.rpartition("/")[2]
    return command.replace("{name}", name), context.salt + (f":{number - 1}" if number != 1 else "")


def _text(value: str | None) -> str | None:
    """Return an inline file with a final newline."""
    return value + "\n" if value and not value.endswith("\n") else value


def _numbered(number: int, width: int, key: str) -> str:
    return f"{number:0{width}}-{key}" if key else f"{number:0{width}}"


def _numbered_tests(folder: Mapping[Any, Any], depth: int) -> int:
    """Return the number of tests in lists anywhere below this folder."""
    if depth > _MAXIMUM_DEPTH:
        raise PackageError("generators.yaml: its folders are nested too deeply")
    data = folder.get("data")
    items = data if isinstance(data, list) else [data]
    total = 0
    for value in (value for item in items if isinstance(item, dict) for value in item.values()):
        if _is_folder(value):
            total += _numbered_tests(value, depth + 1)
        elif isinstance(data, list):
            total += _count_of(value)
    return total


def _count_of(value: Any) -> int:
    try:
        return len(_counts(value.get("count"))[0]) if isinstance(value, dict) else 1
    except ListingError:
        return 1
