"""Simulated students: their replies have exactly the stated probabilities."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

import judge
from benchmark.providers import Message, ModelSpec, draws_by_seed, is_scripted
from benchmark.providers.practice import PRACTICE_PROBLEMS
from benchmark.providers.simulated import reply_to
from benchmark.providers.worlds import (
    SHIPPED,
    WorldError,
    bug_of,
    expected_rate,
    hint_text,
    independent_rate,
    probability_right,
    read_world,
    world_names,
)
from judge.packages import read_package

OPENING = Message(
    "user", "[BEGIN PROBLEM]\nFrom Hut to Hut\n\nStatement.\n[END PROBLEM]\n\nWrite the program."
)
TRY_AGAIN = Message("user", "Please try again.")
SLUG = "hut-to-hut"
WORLD = read_world("guidance-60")
PROBLEM = WORLD.problems[SLUG]


def wrote(bug: str | None) -> Message:
    """Return a reply with the program that has this bug; None: the right one."""
    return Message("assistant", f"Here.\n\n```python\n{PROBLEM.program(SLUG, bug)}\n```")


def test_the_shipped_worlds_cover_the_practice_problems_and_say_that_they_are_scripted() -> None:
    assert set(world_names()) >= {"no-receptivity", "guidance-60", "leaky"}
    problems = {path.parent.name for path in PRACTICE_PROBLEMS.glob("*/problem.yaml")}
    for name in world_names():
        assert set(read_world(name).problems) == problems
    spec = ModelSpec("simulated", "leaky")
    assert is_scripted(spec)
    assert draws_by_seed(spec)
    assert not draws_by_seed(ModelSpec("practice", "student"))


def test_the_probability_follows_from_the_program_and_the_message() -> None:
    bug, other = list(PROBLEM.bugs)[:2]

    def after(program: str | None, *texts: str) -> float:
        said = [Message("user", text) for text in texts]
        return probability_right(WORLD, [OPENING, wrote(program), *said])

    assert probability_right(WORLD, [OPENING]) == PROBLEM.unaided
    assert after(bug, "Please try again.") == PROBLEM.retry
    for level in (1, 2, 3, 4):
        assert after(bug, hint_text(SLUG, bug, level)) == PROBLEM.bugs[bug].receptivity[level]
    # A marker works only for the bug of the program, at its own problem, and until the next program.
    assert after(bug, hint_text(SLUG, other, 4)) == PROBLEM.retry
    assert after(bug, hint_text("last-rolls", bug, 4)) == PROBLEM.retry
    assert probability_right(
        WORLD, [OPENING, wrote(bug), Message("user", hint_text(SLUG, bug, 4)), wrote(bug), TRY_AGAIN]
    ) == (PROBLEM.retry)
    assert after(None, "Please try again.") == PROBLEM.keep
    analysis = (PRACTICE_PROBLEMS / SLUG / "problem_statement" / "solution.en.tex").read_text()
    assert after(bug, analysis) == PROBLEM.leak.analysis
    assert after(bug, f"{analysis}\n{PROBLEM.program(SLUG, None)}") == PROBLEM.leak.program
    with pytest.raises(LookupError):
        probability_right(WORLD, [TRY_AGAIN])


@pytest.mark.slow
def test_draws_depend_on_the_seed_and_occur_as_often_as_stated() -> None:
    bug = next(iter(PROBLEM.bugs))
    messages = [OPENING, wrote(bug), Message("user", hint_text(SLUG, bug, 3))]
    replies = [reply_to(WORLD, messages, seed) for seed in range(4000)]
    assert replies[:10] == [reply_to(WORLD, messages, seed) for seed in range(10)]
    right = sum(bug_of(WORLD, SLUG, reply) == "" for reply in replies) / len(replies)
    assert right == pytest.approx(PROBLEM.bugs[bug].receptivity[3], abs=0.03)
    first = [bug_of(WORLD, SLUG, reply_to(WORLD, [OPENING], seed)) for seed in range(4000)]
    wrong = [name for name in first if name]
    for name, weight in PROBLEM.weights.items():
        assert wrong.count(name) / len(wrong) == pytest.approx(weight, abs=0.03)


def test_a_talk_message_gets_no_program_and_another_problem_none_at_all() -> None:
    talk = Message("user", "Why?\n\n(Do not write a program in this reply; answer in words.)")
    assert "```" not in reply_to(WORLD, [OPENING, wrote(None), talk], 1)
    assert "```" not in reply_to(WORLD, [Message("user", "Add two numbers.")], 1)


def test_guidance_solves_60_percent_of_what_neutral_messages_leave() -> None:
    for problem in WORLD.problems.values():
        neutral = expected_rate(problem, 5, "perfect")
        guided = expected_rate(problem, 5, "perfect", after_wrong=lambda bug: bug.receptivity[3])
        assert guided - neutral == pytest.approx(0.6 * (1 - neutral), abs=1e-4)
    for problem in read_world("no-receptivity").problems.values():
        for bug in problem.bugs.values():
            assert set(bug.receptivity.values()) == {problem.retry}


@pytest.mark.slow
def test_expected_rates_agree_with_simulated_sessions() -> None:
    def session(seed: int) -> list[str | None]:
        messages, programs = [OPENING], []
        for step in range(5):
            reply = reply_to(WORLD, messages, seed * 5 + step)
            programs.append(bug_of(WORLD, SLUG, reply))
            messages += [Message("assistant", reply), TRY_AGAIN]
        return programs

    def by_samples(programs: list[str | None]) -> bool:
        passing = [name for name in programs if not name or PROBLEM.bugs[name].passes_samples]
        return (passing or programs[-1:])[0] == ""

    sessions = [session(seed) for seed in range(1500)]
    count = len(sessions)
    assert sum("" in one for one in sessions) / count == pytest.approx(
        expected_rate(PROBLEM, 5, "perfect"), abs=0.03
    )
    assert sum(one[-1] == "" for one in sessions) / count == pytest.approx(
        expected_rate(PROBLEM, 5), abs=0.03
    )
    assert sum(map(by_samples, sessions)) / count == pytest.approx(
        expected_rate(PROBLEM, 5, "samples"), abs=0.03
    )
    independent = [
        [bug_of(WORLD, SLUG, reply_to(WORLD, [OPENING], seed * 5 + step)) for step in range(5)]
        for seed in range(1500)
    ]
    for stopping, solved in (
        ("perfect", [("" in one) for one in independent]),
        ("samples", [by_samples(one) for one in independent]),
        ("last", [one[-1] == "" for one in independent]),
    ):
        assert sum(solved) / count == pytest.approx(independent_rate(PROBLEM, 5, stopping), abs=0.035)  # type: ignore[arg-type]


def test_an_unknown_or_invalid_world_is_named(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(
        WorldError, match=r"no world 'nowhere'. There are: guidance-60, leaky, no-receptivity"
    ):
        read_world("nowhere")
    settings.SIMULATED_WORLDS = str(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        (SHIPPED / "leaky.yaml").read_text().replace("keep: 0.9", "keep: 1.9")
    )
    with pytest.raises(WorldError, match=r"mine\.yaml: .*keep"):
        read_world("mine")
    (tmp_path / "own.yaml").write_text(
        (SHIPPED / "leaky.yaml").read_text().replace("name: leaky", "name: own")
    )
    assert read_world("own").problems == read_world("leaky").problems
    (tmp_path / "gone.yaml").write_text(
        (SHIPPED / "leaky.yaml")
        .read_text()
        .replace("name: leaky", "name: gone")
        .replace("envelope.py", "no.py")
    )
    with pytest.raises(WorldError, match="hut-to-hut has no program"):
        read_world("gone")


def test_the_programs_pass_the_samples_as_the_worlds_say(sandbox: judge.SandboxStatus) -> None:
    for slug, problem in WORLD.problems.items():
        package = read_package(PRACTICE_PROBLEMS / slug)
        assert package.time_limit is not None
        samples = tuple(test for test in package.tests if test.sample)
        limits = judge.Limits(time=package.time_limit, memory=package.memory, output=package.output)
        for name, bug in problem.bugs.items():
            submission = judge.Submission(problem.program(slug, name), "python")
            verdict = judge.grade(submission, judge.Problem(samples, limits, judge.Checker())).verdict
            assert (verdict is judge.Verdict.AC) == bug.passes_samples, (slug, name)
