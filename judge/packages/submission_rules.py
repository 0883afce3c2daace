"""`submissions.yaml`: rules of a package's authors for its submissions, besides the folders' names.

Source: the section "Example submissions" of the problem package format, 2025-09.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from judge.packages.files import PackageError, quoted, read_mapping, shown
from judge.records import TestResult, Verdict

_ANY = frozenset({Verdict.AC, Verdict.WA, Verdict.TLE, Verdict.RTE})
_CRASHES = (Verdict.RTE, Verdict.MLE, Verdict.OLE)
"""Verdicts that the format calls RTE."""

_FOLDER_RULES = {
    "accepted": (frozenset({Verdict.AC}), _ANY),
    "rejected": (_ANY, _ANY - {Verdict.AC}),
    "wrong_answer": (frozenset({Verdict.AC, Verdict.WA}), frozenset({Verdict.WA})),
    "time_limit_exceeded": (frozenset({Verdict.AC, Verdict.TLE}), frozenset({Verdict.TLE})),
    "run_time_error": (frozenset({Verdict.AC, Verdict.RTE}), frozenset({Verdict.RTE})),
    "brute_force": (_ANY - {Verdict.WA}, frozenset({Verdict.RTE, Verdict.TLE})),
}
_KEYS = ("language", "entrypoint", "authors", "model_solution", "permitted", "required", "score", "message",
         "use_for_time_limit")  # fmt: skip
_MAXIMUM_PATTERNS = 1000


@dataclass(frozen=True)
class Rule:
    """A condition on the results of the tests that match a pattern; the pattern "" matches all.

    Each test must get a verdict in `permitted`, at least one test a verdict in `required`, and `message` must occur
    in the checker's message for at least one test.
    """

    tests: str = ""
    permitted: frozenset[Verdict] = _ANY
    required: frozenset[Verdict] = _ANY
    message: str = ""

    def broken_by(self, results: Sequence[TestResult]) -> str:
        """Return the reason why these results of all tests break the rule, or "" if they do not."""
        chosen = [result for result in results if not self.tests or matches(self.tests, result.name)]
        verdicts = [Verdict.RTE if result.verdict in _CRASHES else result.verdict for result in chosen]
        for result, verdict in zip(chosen, verdicts, strict=True):
            if verdict not in self.permitted:
                return f"{result.verdict} on test {result.name} is not permitted ({_words(self.permitted)})"
        where = f" matching {self.tests}" if self.tests else ""
        if self.required != _ANY and not self.required.intersection(verdicts):
            return f"no test{where} got the required {_words(self.required)}"
        if self.message and not any(self.message in result.message for result in chosen):
            return f"for no test{where} the checker's message contains {quoted(self.message)}"
        return ""

    @property
    def first_failures(self) -> frozenset[Verdict]:
        """The verdicts that the first failing test may have; AC stands for no failing test."""
        allowed = self.permitted if Verdict.AC in self.required else self.permitted - {Verdict.AC}
        return allowed | set(_CRASHES) if Verdict.RTE in allowed else allowed


@dataclass(frozen=True)
class SubmissionSettings:
    """The settings of one submission in `submissions.yaml`.

    With `replaces_folder` the rules replace the meaning of the folder's name. `sets_time_limit` is None if the
    file does not set it, `language` is the format's name of a language or "".
    """

    rules: tuple[Rule, ...] = ()
    replaces_folder: bool = False
    sets_time_limit: bool | None = None
    language: str = ""


class SubmissionsFile:
    """`submissions.yaml` of a package, or an empty one. Raises PackageError."""

    def __init__(self, submissions: Path) -> None:
        self._place = shown(submissions / "submissions.yaml")
        self._entries = read_mapping(submissions / "submissions.yaml")
        for pattern, settings in self._entries.items():
            if not isinstance(settings, dict):
                raise PackageError(
                    f"{self._place}: {shown(pattern)} must map to a mapping, not {quoted(settings)}"
                )

    def settings_of(self, folder: str, name: str) -> SubmissionSettings:
        """Return the settings of the submission of that name in the folder. Raises PackageError."""
        rules: list[Rule] = []
        replaces, sets_time_limit, language = False, None, ""
        for pattern, settings in self._entries.items():
            if not matches(pattern, f"{folder}/{name}"):
                continue
            own = pattern == folder and folder in _FOLDER_RULES
            default = Rule("", *_FOLDER_RULES[folder]) if own else Rule()
            found = list(self._rules(settings, default))
            replaces = replaces or (own and any(not rule.tests for rule in found))
            rules += found
            if (use := settings.get("use_for_time_limit")) is not None:
                sets_time_limit = use in ("lower", True)
            language = str(settings.get("language") or language)
        return SubmissionSettings(tuple(rules), replaces, sets_time_limit, language)

    def _rules(self, settings: Mapping[Any, Any], default: Rule) -> Iterator[Rule]:
        yield from self._rule("", settings, default)
        for key, value in settings.items():
            if key not in _KEYS:
                if not isinstance(value, dict):
                    raise PackageError(
                        f"{self._place}: there is no key {quoted(key)}, and tests of that name need a mapping"
                    )
                yield from self._rule(str(key), value, Rule())

    def _rule(self, tests: str, settings: Mapping[Any, Any], default: Rule) -> Iterator[Rule]:
        if not {"permitted", "required", "message"} & settings.keys():
            return
        permitted = self._verdicts(settings, "permitted", default.permitted)
        required = self._verdicts(settings, "required", default.required)
        yield Rule(tests, permitted, required, str(settings.get("message") or ""))

    def _verdicts(
        self, settings: Mapping[Any, Any], key: str, default: frozenset[Verdict]
    ) -> frozenset[Verdict]:
        if settings.get(key) is None:
            return default
        names = settings[key]
        if not isinstance(names, list) or not names or not all(name in tuple(_ANY) for name in names):
            raise PackageError(
                f"{self._place}: {key} must be a list of AC, WA, TLE, RTE, not {quoted(names)}"
            )
        return frozenset(map(Verdict, names))


def matches(pattern: str, path: str) -> bool:
    """Return whether the pattern matches the path or one of its folders. `*` matches within one name, `{a,b}` either.

    Raises PackageError for a pattern with too many alternatives.
    """
    names = path.split("/")
    return any(
        len(parts) <= len(names)
        and all(fnmatchcase(name, part) for name, part in zip(names, parts, strict=False))
        for parts in (one.strip("/").split("/") for one in _without_braces(pattern))
    )


def _without_braces(pattern: str) -> list[str]:
    """Return the alternatives of the pattern, with fnmatch's other special characters escaped."""
    pending, done = [pattern.replace("[", "[[]").replace("?", "[?]")], []
    while pending:
        one = pending.pop()
        before, opening, rest = one.rpartition("{")
        inside, closing, after = rest.partition("}")
        if opening and closing:
            pending += [f"{before}{choice}{after}" for choice in inside.split(",")]
        else:
            done.append(one)
        if len(pending) + len(done) > _MAXIMUM_PATTERNS:
            raise PackageError(
                f"the pattern {quoted(pattern)} has more than {_MAXIMUM_PATTERNS} alternatives"
            )
    return done


def _words(verdicts: frozenset[Verdict]) -> str:
    return ", ".join(sorted(verdicts))
