"""Probes of a problem's checker with outputs of known verdict: empty, half of the answer, and the answer itself.

A checker that accepts an empty output on every test accepts a program without output. A published special judge does
(docs/spec.md 5.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import judge

KINDS = ("empty", "truncated", "reference")


@dataclass(frozen=True)
class CheckerProbe:
    """The number of tests on which the checker accepted one kind of output."""

    kind: str
    accepted: int
    total: int

    @property
    def valid(self) -> bool:
        """Whether this output fails some test or, for the reference answer, passes all tests."""
        if not self.total:
            return True
        return self.accepted == self.total if self.kind == "reference" else self.accepted < self.total

    def to_json(self) -> dict[str, object]:
        """Return the probe as a JSON object."""
        return {"kind": self.kind, "accepted": self.accepted, "total": self.total, "sound": self.valid}


def probe_checker(
    checker: judge.Checker, tests: Sequence[judge.Test], limits: judge.Limits
) -> list[CheckerProbe]:
    """Return one probe per kind of output; none for an interactive checker.

    Answers without words are not probed as empty or truncated, answers of one character not as truncated. Raises
    ValidatorFaultError and SandboxFaultError.
    """
    if checker.program is not None and checker.program.interactive:
        return []
    accepted = dict.fromkeys(KINDS, 0)
    total = dict.fromkeys(KINDS, 0)
    with judge.open_checker(checker, limits) as check:
        for test in tests:
            for kind, output in _outputs(test.answer.read_bytes()).items():
                total[kind] += 1
                accepted[kind] += check(test, output).accepted
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
