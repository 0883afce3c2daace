"""`submissions.yaml`: what the authors of a package say about its submissions beside the folders they lie in.

Source: the section "Example submissions" of the problem package format, 2025-09.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from judge.judgement import TestResult
from judge.package_files import PackageError, quoted, read_mapping, shown
from judge.verdicts import Verdict

_ANY = frozenset({Verdict.AC, Verdict.WA, Verdict.TLE, Verdict.RTE})
_CRASHES = (Verdict.RTE, Verdict.MLE, Verdict.OLE)
"""The format has one word for them: RTE."""

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
_MOST_PATTERNS = 1000


@dataclass(frozen=True)
class Rule:
    """What must hold for the tests that a pattern names; the pattern "" names all.

    Each of them must get a verdict in `permitted`, at least one of them one in `required`, and `message` must occur in
    what the checker says about at least one.
    """

    tests: str = ""
    permitted: frozenset[Verdict] = _ANY
    required: frozenset[Verdict] = _ANY
    message: str = ""

    def broken_by(self, results: Sequence[TestResult]) -> str:
        """Why the rule does not hold for these results of all tests, or "" where it does."""
        chosen = [result for result in results if not self.tests or matches(self.tests, result.name)]
        verdicts = [Verdict.RTE if result.verdict in _CRASHES else result.verdict for result in chosen]
        for result, verdict in zip(chosen, verdicts, strict=True):
            if verdict not in self.permitted:
                return f"{result.verdict} on test {result.name} is not permitted ({_words(self.permitted)})"
        where = f" matching {self.tests}" if self.tests else ""
        if self.required != _ANY and not self.required.intersection(verdicts):
            return f"no test{where} got the required {_words(self.required)}"
        if self.message and not any(self.message in result.message for result in chosen):
            return f"the checker said {quoted(self.message)} about no test{where}"
        return ""

    @property
    def first_failures(self) -> frozenset[Verdict]:
        """The verdicts that the first failing of all tests may have; AC stands for none that fails."""
        allowed = self.permitted if Verdict.AC in self.required else self.permitted - {Verdict.AC}
        return allowed | set(_CRASHES) if Verdict.RTE in allowed else allowed


@dataclass(frozen=True)
class SubmissionSettings:
    """What `submissions.yaml` says about one submission.

    `replaces_folder`: its rules stand in place of what the folder's name means. `sets_time_limit` is None where the
    file does not say whether a missing time limit follows from it, `language` is the format's word for one or "".
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

    def about(self, folder: str, name: str) -> SubmissionSettings:
        """What the file says about the submission of that name in the folder. Raises PackageError."""
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
    """Whether the pattern names the path or a folder it lies in. `*` stays within one name, `{a,b}` is either.

    Raises PackageError for a pattern that stands for too many.
    """
    names = path.split("/")
    return any(
        len(parts) <= len(names)
        and all(fnmatchcase(name, part) for name, part in zip(names, parts, strict=False))
        for parts in (one.strip("/").split("/") for one in _without_braces(pattern))
    )


def _without_braces(pattern: str) -> list[str]:
    """The patterns it stands for; characters special to fnmatch, but not to the format, stand for themselves."""
    waiting, done = [pattern.replace("[", "[[]").replace("?", "[?]")], []
    while waiting:
        one = waiting.pop()
        before, opening, rest = one.rpartition("{")
        inside, closing, after = rest.partition("}")
        if opening and closing:
            waiting += [f"{before}{choice}{after}" for choice in inside.split(",")]
        else:
            done.append(one)
        if len(waiting) + len(done) > _MOST_PATTERNS:
            raise PackageError(f"the pattern {quoted(pattern)} stands for more than {_MOST_PATTERNS} names")
    return done


def _words(verdicts: frozenset[Verdict]) -> str:
    return ", ".join(sorted(verdicts))
