"""A slow program of a practice package is shown to be slow, and an accepted one is not.

`python -m benchmarks.growth` measures all of them.
"""

from judge import SandboxStatus
from tests.benchmark.growth.practice import ACCEPTED, SLOW, growth, looks_slow


def test_every_practice_problem_has_a_slow_program():
    assert {path.parents[2] for path in SLOW} == {path.parents[2] for path in ACCEPTED}
    assert len(SLOW) >= 8


def test_a_slow_program_is_shown_to_be_slow_and_an_accepted_one_is_not(sandbox: SandboxStatus):
    slow, accepted = (
        next(path for path in paths if "tram-depot" in path.parts) for paths in (SLOW, ACCEPTED)
    )
    assert looks_slow(growth(slow))
    assert not looks_slow(growth(accepted))
