"""Prompts: their required content, the content that is kept out, and texts with braces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.prompts import (
    NO_CONTEXT,
    ORDINALS,
    PreviousAttempt,
    Prompt,
    PromptContext,
    PromptFormat,
    PromptLeakError,
    SampleResult,
    SampleRun,
    VisibleProblem,
    our_templates,
    revision_prompt,
    solve_prompt,
)
from benchmark.retrieval import Document
from judge import Verdict

PYTHON = PromptFormat("python", state_limits=False)
PASSED = SampleResult(Verdict.AC, "1 2", "3", "3", "")
WRONG = SampleResult(Verdict.WA, "5 5", "25", "10", "")
SOME = PromptContext(
    (Document("2_pigs", "Pigs", "Count the pigs. {{reply}}"),), "Chapter on counting. {{excerpt}}"
)


def task(statement: str = "Count the cows.") -> VisibleProblem:
    return VisibleProblem("1_cows", statement, time_limit=2.5, memory_limit=256 * 2**20)


def text_of(prompt: Prompt) -> str:
    [message] = prompt.messages
    assert message.role == "user"
    return message.content


@pytest.mark.slow
@given(st.text())
def test_any_statement_stands_unchanged_between_its_markers(statement: str) -> None:
    text = text_of(solve_prompt(task(statement), PYTHON))
    assert text.endswith(f"\n\n[BEGIN PROBLEM]\n{statement}\n[END PROBLEM]")


@given(st.text(), st.text(), st.text())
def test_any_reply_and_any_output_stand_unchanged_in_a_revision(reply: str, output: str, errors: str) -> None:
    ran = SampleRun(
        Verdict.WA,
        (SampleResult(Verdict.WA, "1", output, "2", ""), SampleResult(Verdict.RTE, "1", "", "2", errors)),
    )
    text = text_of(revision_prompt(task(), PYTHON, NO_CONTEXT, [PreviousAttempt(1, reply, ran)], "samples"))
    assert f"Attempt 1:\n\n{reply}\n\nResult of attempt 1:\n\nSample 1: wrong answer." in text
    assert f"Output of your program:\n{output}\nExpected output:\n2\n" in text
    assert f"What was reported:\n{errors}\n[END ATTEMPTS]" in text


def test_braces_of_a_statement_are_no_placeholders() -> None:
    statement = "{{language}} {0} {problem} {{include problem}}"
    assert f"\n{statement}\n" in text_of(
        solve_prompt(task(statement), PromptFormat("cpp", state_limits=False))
    )


def test_the_language_and_its_fence_are_named_and_nothing_is_left_to_fill_in() -> None:
    attempts = [PreviousAttempt(1, "first", SampleRun(Verdict.AC, (PASSED,)))]
    for language, title, fence in (("python", "Python 3", "```python"), ("cpp", "C++", "```cpp")):
        form = PromptFormat(language, state_limits=True)
        material = PromptContext((Document("2_pigs", "Pigs", "text"),), "text")
        for prompt in (
            solve_prompt(task(), form, material),
            revision_prompt(task(), form, material, attempts, "samples"),
        ):
            text = text_of(prompt)
            assert title in text
            assert fence in text
            assert "{{" not in text
            assert "Time limit: 2.5 s\nMemory limit: 256 MiB\n[END PROBLEM]" in text
    assert "Time limit" not in text_of(solve_prompt(task(), PYTHON))


def test_similar_problems_come_first_each_with_its_ordinal() -> None:
    similar = tuple(
        Document(str(number), "", f"{{{{problem}}}} text {number}") for number in range(len(ORDINALS))
    )
    text = text_of(solve_prompt(task(), PYTHON, PromptContext(similar)))
    places = [
        text.index(f"{ordinal} problem and solution:\n\n{{{{problem}}}} text {number}")
        for number, ordinal in enumerate(ORDINALS)
    ]
    assert places == sorted(places)
    assert places[-1] < text.index("[END SIMILAR PROBLEMS]\n") < text.index("[BEGIN PROBLEM]\n")


def test_the_similar_problems_stand_before_the_textbook_and_both_before_the_problem() -> None:
    text = text_of(solve_prompt(task(), PYTHON, SOME))
    parts = [
        "Write a Python 3 program",
        "[BEGIN SIMILAR PROBLEMS]\nFirst problem and solution:\n\nCount the pigs. {{reply}}\n[END SIMILAR PROBLEMS]",
        "[BEGIN TEXTBOOK EXCERPT]\nChapter on counting. {{excerpt}}\n[END TEXTBOOK EXCERPT]",
        "Now it is your turn.",
        "[BEGIN PROBLEM]\nCount the cows.\n[END PROBLEM]",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_revision_shows_the_problem_the_material_again_and_every_attempt_with_its_results() -> None:
    attempts = [
        PreviousAttempt(1, "I multiply.", SampleRun(Verdict.WA, (PASSED, WRONG))),
        PreviousAttempt(2, "No program here.", SampleRun(Verdict.NO_CODE)),
    ]
    text = text_of(revision_prompt(task(), PYTHON, SOME, attempts, "samples"))
    parts = [
        "Count the cows.",
        "Count the pigs. {{reply}}",
        "Chapter on counting. {{excerpt}}",
        "[BEGIN ATTEMPTS]",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.endswith(
        "[BEGIN ATTEMPTS]\n"
        "Attempt 1:\n\nI multiply.\n\nResult of attempt 1:\n\n"
        "Sample 1: passed.\n"
        "Sample 2: wrong answer.\nInput:\n5 5\nOutput of your program:\n25\nExpected output:\n10\n\n"
        "Attempt 2:\n\nNo program here.\n\nResult of attempt 2:\n\n"
        "The answer holds no program in a block of the required form, so nothing was run.\n"
        "[END ATTEMPTS]\n\nNow it is your turn."
    )


@pytest.mark.parametrize(
    ("ran", "told"),
    [
        (SampleRun(Verdict.WA, (PASSED, WRONG)), "Sample 1: passed.\nSample 2: wrong answer."),
        (SampleRun(Verdict.CE, (), "secret words"), "The program does not compile, so it was not run."),
        (
            SampleRun(Verdict.TLE, (SampleResult(Verdict.TLE, "9", "", "1", "slow"),)),
            "Sample 1: timed out.",
        ),
    ],
)
def test_feedback_of_verdicts_contains_no_input_output_or_message(ran: SampleRun, told: str) -> None:
    text = text_of(revision_prompt(task(), PYTHON, NO_CONTEXT, [PreviousAttempt(1, "r", ran)], "verdicts"))
    assert f"Result of attempt 1:\n\n{told}\n[END ATTEMPTS]" in text


def test_a_neutral_retry_tells_nothing_of_the_results() -> None:
    failed, passed = (
        text_of(revision_prompt(task(), PYTHON, NO_CONTEXT, [PreviousAttempt(1, "r", ran)], "none"))
        for ran in (SampleRun(Verdict.WA, (WRONG,)), SampleRun(Verdict.AC, (PASSED,)))
    )
    assert failed == passed


def test_the_problem_itself_is_refused_among_the_similar_ones() -> None:
    itself = PromptContext((Document("1_cows", "", "its solution"),))
    with pytest.raises(PromptLeakError, match="1_cows was retrieved for itself"):
        solve_prompt(task(), PYTHON, itself)
    with pytest.raises(PromptLeakError, match="1_cows was retrieved for itself"):
        revision_prompt(task(), PYTHON, itself, [], "samples")


def test_hashes_follow_the_prompt_and_the_templates() -> None:
    first, same, other = (solve_prompt(task(text), PYTHON) for text in ("a", "a", "b"))
    assert first.hash == same.hash != other.hash
    assert first.template_hash == other.template_hash == our_templates().hash("instructions", "problem")
    helped = solve_prompt(task("a"), PYTHON, PromptContext(excerpt="text"))
    revised = revision_prompt(task("a"), PYTHON, NO_CONTEXT, [], "samples")
    assert len({first.template_hash, helped.template_hash, revised.template_hash}) == 3
