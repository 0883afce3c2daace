"""Checkers as data, and comparisons of outputs with answers. Comparisons work on bytes, outside the sandbox.

Output validators run in the sandbox (`judge.checking.validators`).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest
from typing import Any, Literal, get_args

from judge.records import MEBIBYTE, Limits

_BLANK = b" \t\n\r\x0b\f"  # what C's isspace accepts in the "C" locale, and bytes.split() too
_TOKEN_OR_BLANK = re.compile(b"[" + _BLANK + b"]+|[^" + _BLANK + b"]+")
_CHUNK = 2**16
_SHOWN = 40

_A_BLANK = re.compile(b"[" + _BLANK + b"]")

# Numbers as glibc's scanf("%lf") reads them to the end of a token. Python's float() differs for "1_0", hexadecimal
# numbers and incomplete exponents ("1e", "0x1p+"), which scanf ignores: the group is the number.
# Tokens are untrusted and may be megabytes long: digits are never tried twice ("++"), so the time is linear.
_DECIMAL = re.compile(
    rb"([+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?|inf|infinity|nan))(?:(?<=[\d.])e[+-]?)?",
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(
    rb"([+-]?)0x(?:((?:[0-9a-f]++(?:\.[0-9a-f]*+)?|\.[0-9a-f]++)(?:p[+-]?\d++)?)(?:p[+-]?)?|\.)",
    re.IGNORECASE,
)


VALIDATION_LIMITS = Limits(time=60.0, memory=2048 * MEBIBYTE, output=8 * MEBIBYTE)
"""Default limits of one run of an output validator in the problem package format."""

Kind = Literal["exact", "tokens", "validator", "special"]


@dataclass(frozen=True)
class OutputValidator:
    """A problem's own program that checks outputs.

    `sources` are the names and texts of its files, all in one folder. `flags` are its last arguments. An
    `interactive` validator talks with the submission's program while both run. `passes` is the maximal number of
    the program's runs on one test; the validator writes the input of each run after the first. `limits` are those of
    one run of the validator.

    Raises ValueError for invalid settings.
    """

    language: str
    sources: Mapping[str, str]
    flags: tuple[str, ...] = ()
    interactive: bool = False
    passes: int = 1
    limits: Limits = VALIDATION_LIMITS

    def __post_init__(self) -> None:
        object.__setattr__(self, "flags", tuple(self.flags))
        if not self.sources or not all(_is_file_name(name) for name in self.sources):
            raise ValueError("an output validator consists of at least one file, all in one folder")
        if self.passes < 1:
            raise ValueError(f"the number of passes must be at least 1, not {self.passes}")


def _is_file_name(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


@dataclass(frozen=True)
class Checker:
    """The rule by which a program's output is accepted.

    kind "exact": the texts must be equal except for white space at both ends and the style of line ends, as in
    the USACO benchmark. kind "tokens": the default output validator of ICPC problem packages with its flags;
    None stands for an unset tolerance, and of two tolerances one suffices. kind "validator": an output validator of a
    problem package; kind "special": a special judge of ICPC-Eval (docs/spec.md 5.1). Both run `program`;
    `judge.checking.validators` describes their protocols.

    Raises ValueError for an unknown kind, for a tolerance that is not a finite number of at least 0, and for a
    program with a kind that has none or a missing program.
    """

    kind: Kind = "tokens"
    case_sensitive: bool = False
    space_change_sensitive: bool = False
    float_absolute: float | None = None
    float_relative: float | None = None
    program: OutputValidator | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"unknown kind of checker {self.kind!r}; there are: {', '.join(get_args(Kind))}")
        for tolerance in (self.float_absolute, self.float_relative):
            if tolerance is not None and not (math.isfinite(tolerance) and tolerance >= 0):
                raise ValueError(f"a tolerance must be a number of at least 0, not {tolerance!r}")
        if (self.program is not None) != (self.kind in ("validator", "special")):
            raise ValueError(
                f"a checker of kind {self.kind} {'has no' if self.program else 'needs a'} program"
            )
        if self.kind == "special" and self.program and (self.program.interactive or self.program.passes > 1):
            raise ValueError(
                "a special judge reads one finished output: it is neither interactive nor multi-pass"
            )

    @classmethod
    def from_flags(cls, flags: list[str]) -> "Checker":
        """Return the token checker with the flags of a problem package, for example ["float_tolerance", "1e-6"].

        Raises ValueError for a flag that the default output validator does not have.
        """
        settings: dict[str, Any] = {}
        remaining = iter(flags)
        for flag in remaining:
            match flag:
                case "case_sensitive" | "space_change_sensitive":
                    settings[flag] = True
                case "float_tolerance":
                    settings["float_absolute"] = settings["float_relative"] = _tolerance(flag, remaining)
                case "float_absolute_tolerance" | "float_relative_tolerance":
                    settings[flag.removesuffix("_tolerance")] = _tolerance(flag, remaining)
                case _:
                    raise ValueError(f"the default output validator has no flag {flag!r}")
        return cls("tokens", **settings)

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name, as `from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Checker":
        """Return the checker that `to_json` wrote, with defaults for absent fields. Raises ValueError."""
        _refuse_unknown("checker", data, cls)
        program = data.get("program")
        if program is None:
            return cls(**data)
        _refuse_unknown("validator", program, OutputValidator)
        limits = Limits(**program["limits"])
        return cls(**data | {"program": OutputValidator(**program | {"limits": limits})})


def _refuse_unknown(what: str, data: Mapping[str, Any], kind: type[Checker | OutputValidator]) -> None:
    if unknown := data.keys() - {field.name for field in fields(kind)}:
        raise ValueError(f"a {what} has no {', '.join(sorted(unknown))}")


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: whether the output is accepted, and a message, which may quote the answer."""

    accepted: bool
    message: str


def check(checker: Checker, output: bytes, answer: bytes) -> CheckResult:
    """Compare a program's output with the answer. Raises ValueError for a checker with a program."""
    if checker.program is not None:
        raise ValueError(f"a checker of kind {checker.kind} runs a program: use open_checker")
    if checker.kind == "exact":
        return _check_exact(output, answer)
    return _check_tokens(checker, output, answer)


def _check_exact(output: bytes, answer: bytes) -> CheckResult:
    found, expected = _text(output), _text(answer)
    if found == expected:
        return CheckResult(True, "")
    pairs = zip_longest(_lines(found), _lines(expected))
    for number, (found_line, expected_line) in enumerate(pairs, 1):
        if found_line != expected_line:
            return CheckResult(False, f"line {number}: {_difference(expected_line, found_line)}")
    raise AssertionError("texts that differ have a line that differs")


def _lines(text: str) -> Iterator[str]:
    """Yield the lines, one at a time: a list of all would take many times the text's size."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n").strip()


def _check_tokens(checker: Checker, output: bytes, answer: bytes) -> CheckResult:
    floats = checker.float_absolute is not None or checker.float_relative is not None
    if output == answer and not floats:
        return CheckResult(True, "")
    split = _tokens_and_blanks if checker.space_change_sensitive else _tokens
    for number, (found, expected) in enumerate(zip_longest(split(output), split(answer)), 1):
        if found == expected and (not floats or _is_plain(expected)):
            continue
        if found is None or expected is None or not _same(checker, floats, found, expected):
            what = "token or blank" if checker.space_change_sensitive else "token"
            shown = (None if one is None else one.decode("utf-8", "replace") for one in (expected, found))
            return CheckResult(False, f"{what} {number}: {_difference(*shown)}")
    return CheckResult(True, "")


def _same(checker: Checker, floats: bool, found: bytes, expected: bytes) -> bool:
    if floats and (expected_number := parse_number(expected)) is not None:
        found_number = parse_number(found)
        if found_number is None:
            return False
        difference = abs(
            expected_number - found_number
        )  # NaN for equal infinities, which the default validator rejects too
        absolute, relative = checker.float_absolute, checker.float_relative
        return (absolute is not None and difference <= absolute) or (
            relative is not None and difference <= relative * abs(expected_number)
        )
    if checker.case_sensitive:
        return found == expected
    return found.lower() == expected.lower()


def _is_plain(token: bytes) -> bool:
    """Return True for tokens that are certainly finite numbers, which equal themselves at any tolerance."""
    return len(token) < 300 and token.translate(None, b"+-.").isdigit()


def parse_number(token: bytes) -> float | None:
    """Return the number that C's scanf("%lf") reads from the whole token, or None if it is not a number."""
    if match := _DECIMAL.fullmatch(token):
        return float(match[1])
    if match := _HEXADECIMAL.fullmatch(token):
        try:
            number = float.fromhex("0x" + (match[2] or b"0").decode())
        except OverflowError:
            number = math.inf
        return -number if match[1] == b"-" else number
    return None


def _tokens(text: bytes) -> Iterator[bytes]:
    """Yield tokens, splitting one chunk at a time: a list of all would take many times the text's size."""
    start = 0
    while start < len(text):
        blank = _A_BLANK.search(text, start + _CHUNK)
        end = blank.start() if blank else len(text)
        yield from text[start:end].split()
        start = end


def _tokens_and_blanks(text: bytes) -> Iterator[bytes]:
    return (match.group() for match in _TOKEN_OR_BLANK.finditer(text))


def _tolerance(flag: str, remaining: Iterator[str]) -> float:
    number = parse_number(next(remaining, "").encode())
    if number is None:
        raise ValueError(f"the flag {flag} needs a number after it")
    return number


def _difference(expected: str | None, found: str | None) -> str:
    if found is None:
        return f"the output ends here, expected {_quote(expected or '')}"
    if expected is None:
        return f"the answer ends here, got {_quote(found)}"
    return f"expected {_quote(expected)}, got {_quote(found)}"


def _quote(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
