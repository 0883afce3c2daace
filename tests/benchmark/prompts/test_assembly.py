"""Prompts: what they must hold, what can never get in, and that nothing in a statement is taken for a template."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.prompts import (
    ORDINALS,
    Prompt,
    PromptLeak,
    Task,
    episodic_prompt,
    template_hash,
    zero_shot_prompt,
)
from benchmark.retrieval import Document


def task(statement: str = "Count the cows.") -> Task:
    return Task("1_cows", statement, time_limit=2.5, memory_limit=256 * 2**20)


def text_of(prompt: Prompt) -> str:
    [message] = prompt.messages
    assert message.role == "user"
    return message.content


@given(st.text())
def test_any_statement_stands_unchanged_between_its_markers(statement: str) -> None:
    text = text_of(zero_shot_prompt(task(statement), "python", state_limits=False))
    assert text.endswith(f"\n[BEGIN PROBLEM]\n{statement}\n[END PROBLEM]")


def test_braces_of_a_statement_are_no_placeholders() -> None:
    statement = "{{language}} {0} {problem} {{include zero_shot}}"
    assert f"\n{statement}\n" in text_of(zero_shot_prompt(task(statement), "cpp", state_limits=False))


def test_the_language_and_its_fence_are_named_and_nothing_is_left_to_fill_in() -> None:
    python, cpp = (text_of(zero_shot_prompt(task(), name, state_limits=True)) for name in ("python", "cpp"))
    assert "Python 3" in python
    assert "```python" in python
    assert "C++" in cpp
    assert "```cpp" in cpp
    assert "{{" not in python + cpp
    assert "Time limit: 2.5 s\nMemory limit: 256 MiB\n[END PROBLEM]" in python
    assert "Time limit" not in text_of(zero_shot_prompt(task(), "python", state_limits=False))


def test_similar_problems_come_first_each_with_its_ordinal() -> None:
    similar = [Document(str(number), "", f"{{{{problem}}}} text {number}") for number in range(len(ORDINALS))]
    text = text_of(episodic_prompt(task(), "python", similar, state_limits=False))
    places = [
        text.index(f"{ordinal} problem and solution:\n\n{{{{problem}}}} text {number}")
        for number, ordinal in enumerate(ORDINALS)
    ]
    assert places == sorted(places)
    assert places[-1] < text.index("[END SIMILAR PROBLEMS]\n") < text.index("[BEGIN PROBLEM]\n")


def test_the_problem_itself_is_refused_among_the_similar_ones() -> None:
    with pytest.raises(PromptLeak, match="1_cows was retrieved for itself"):
        episodic_prompt(task(), "python", [Document("1_cows", "", "its solution")], state_limits=False)


def test_hashes_follow_the_prompt_and_the_template() -> None:
    first, same, other = (
        zero_shot_prompt(task(text), "python", state_limits=False) for text in ("a", "a", "b")
    )
    assert first.hash == same.hash != other.hash
    assert first.template_hash == other.template_hash == template_hash("zero_shot")
    assert template_hash("zero_shot") != template_hash("episodic")
