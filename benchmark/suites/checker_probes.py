"""Trying a problem's checker with outputs whose verdict is plain: nothing, half of the answer, the answer itself.

A checker that accepts an empty output on every test lets a program pass that prints nothing; one published
special judge does (docs/spec.md 5.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import judge

KINDS = ("empty", "truncated", "reference")


@dataclass(frozen=True)
class CheckerProbe:
    """On how many tests the checker accepted one kind of output."""

    kind: str
    accepted: int
    total: int

    @property
    def valid(self) -> bool:
        """Whether a program printing this could not pass, or, for the reference, could not fail."""
        if not self.total:
            return True
        return self.accepted == self.total if self.kind == "reference" else self.accepted < self.total

    def to_json(self) -> dict[str, object]:
        """All of it by name."""
        return {"kind": self.kind, "accepted": self.accepted, "total": self.total, "sound": self.valid}


def probe_checker(
    checker: judge.Checker, tests: Sequence[judge.Test], limits: judge.Limits
) -> list[CheckerProbe]:
    """What the checker makes of each kind of output on the tests; nothing for an interactive one.

    An answer without words is neither empty nor truncated, one of a single character not truncated. Raises
    CheckerFault and SandboxFault.
    """
    if checker.program is not None and checker.program.interactive:
        return []
    accepted = dict.fromkeys(KINDS, 0)
    total = dict.fromkeys(KINDS, 0)
    with judge.open_checker(checker, limits) as ask:
        for test in tests:
            for kind, output in _outputs(test.answer.read_bytes()).items():
                total[kind] += 1
                accepted[kind] += ask(test, output).accepted
    return [CheckerProbe(kind, accepted[kind], total[kind]) for kind in KINDS]


def _outputs(answer: bytes) -> dict[str, bytes]:
    outputs = {"reference": answer}
    words = answer.split()
    if words:
        outputs["empty"] = b""
    if len(words) > 1:
        outputs["truncated"] = b" ".join(words[: len(words) // 2]) + b"\n"
    elif words and len(words[0]) > 1:
        outputs["truncated"] = words[0][: len(words[0]) // 2] + b"\n"
    return outputs
