"""What is taken out of a model's reply, and which replies count as a generation of code."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmark.extraction import Extraction, contains_program, extract_program, without_blocks

PROGRAM = "n = int(input())\nprint(n + 1)\n"
CPP = "#include <iostream>\nint main() {\n  std::cout << 1;\n}\n"


def fenced(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"


@pytest.mark.parametrize(
    "opening",
    [
        "```python",
        "```Python",
        "```py",
        "```python3",
        "```{.python}",
        "``` python title=a.py",
        "~~~python",
        "````python",
    ],
)
def test_a_fence_of_any_spelling_is_read(opening):
    closing = opening[0] * (len(opening) - len(opening.lstrip(opening[0])))
    reply = f"Here it is.\n{opening}\n{PROGRAM}{closing}\nDone."
    assert extract_program(reply, "python").code == PROGRAM
    assert extract_program(reply, "python").rule == "tagged"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (f"Here:\n{fenced(PROGRAM)}Done.", "Here:\n\n\n*(left out)*\n\nDone."),
        (f"Use `x`: {fenced(PROGRAM)}", "Use `x`: \n\n*(left out)*\n\n"),
        (f"{fenced(PROGRAM, fence='~~~~')}\n```\n{PROGRAM}", "\n\n*(left out)*\n\n\n\n\n*(left out)*\n\n"),
        ("- So:\n  ```\n  a\n  ```\n", "- So:\n  \n\n  *(left out)*\n\n"),
        ("Only `words`.", "Only `words`."),
    ],
)
def test_a_reply_without_its_blocks_has_its_words_and_no_fence(reply, words):
    assert without_blocks(reply) == words


def test_windows_line_ends_are_normalised_and_the_span_keeps_them():
    reply = fenced(PROGRAM).replace("\n", "\r\n")
    found = extract_program(reply, "python")
    assert found.code == PROGRAM
    assert reply[found.start : found.end] == PROGRAM.replace("\n", "\r\n")


def test_the_indentation_of_a_fence_in_a_list_is_taken_off():
    code = "for i in range(3):\n    print(i)\n"
    reply = "1. So:\n" + "".join(f"    {line}\n" for line in fenced(code).splitlines())
    assert extract_program(reply, "python").code == code


def test_a_missing_final_fence_is_forgiven():
    assert extract_program("```python\n" + PROGRAM, "python").code == PROGRAM


def test_a_fence_behind_other_words_opens_a_block_when_it_names_a_language():
    assert extract_program(f"The code: ```python\n{PROGRAM}```\n", "python").code == PROGRAM
    assert extract_program("Wrap it in '```python' and '```', please.", "python").code is None


def test_the_last_block_that_parses_wins():
    reply = fenced("print('draft')\n") + fenced("print('final')\n") + fenced("print('broken'\n")
    assert extract_program(reply, "python") == Extraction(
        "print('final')\n", reply.index("print('final"), reply.index("print('final") + 15, "tagged", 3
    )


def test_the_last_block_is_taken_when_none_parses():
    found = extract_program(fenced("a b\n") + fenced("c d\n"), "python")
    assert (found.code, found.rule, found.candidates) == ("c d\n", "tagged-unparsed", 2)


@pytest.mark.parametrize(
    ("language", "tag", "program"),
    [
        ("pypy", "python", PROGRAM),
        ("cpp17", "cpp", CPP),
        ("cpp23", "c++", CPP),
        ("java", "java", "class A { public static void main(String[] a) { } }\n"),
        ("kotlin", "kt", "fun main() { println(1) }\n"),
    ],
)
def test_every_language_is_known_by_what_models_call_it(language: str, tag: str, program: str):
    reply = fenced(program, tag) + fenced("3 4\n", "")
    assert extract_program(reply, language).code == program
    assert contains_program(reply, language)
    assert contains_program(fenced(program, ""), language)


def test_cpp_needs_a_main():
    reply = fenced(CPP, "c++") + fenced("int helper() { return 1; }\n", "cpp")
    assert extract_program(reply, "cpp").code == CPP


@pytest.mark.parametrize(
    ("reply", "code", "rule"),
    [
        (fenced("a = 1\n") + fenced("b = 2\n", "") + fenced("c = 3\n", "text"), "a = 1\n", "tagged"),
        (fenced("b = 2\n", "") + fenced("c = 3\n", "text"), "b = 2\n", "untagged"),
        (fenced("c = 3\n", "text"), "c = 3\n", "other-tag"),
        ("No code today, `print(1)` apart.", None, "no-block"),
        ("", None, "no-block"),
        (fenced("\n"), None, "no-block"),
    ],
)
def test_blocks_of_the_language_come_before_untagged_ones_and_those_before_others(reply, code, rule):
    found = extract_program(reply, "python")
    assert (found.code, found.rule) == (code, rule)


def test_excerpts_quoted_in_a_list_after_the_program_do_not_replace_it():
    reply = fenced(PROGRAM) + "1. We read it:\n    ```python\n    n = int(input())\n    ```\n"
    assert extract_program(reply, "python").code == PROGRAM


def test_a_block_nested_in_a_markdown_block_is_found():
    assert extract_program(f"```markdown\n# Title\n{fenced(PROGRAM)}```\n", "python").code == PROGRAM


@pytest.mark.parametrize(
    "reasoning",
    ["<think>\n" + fenced("print('thought')\n") + "</think>\n", fenced("print('thought')\n") + "</think>"],
)
def test_programs_in_the_reasoning_do_not_count(reasoning):
    assert extract_program(reasoning + "So no code.", "python").code is None
    assert not contains_program(reasoning + "So no code.", "python")
    found = extract_program(reasoning + fenced(PROGRAM), "python")
    assert found.code == PROGRAM
    assert (reasoning + fenced(PROGRAM))[found.start : found.end] == PROGRAM


def test_a_reply_that_ends_inside_its_reasoning_has_no_program():
    reply = "<think>\n" + fenced(PROGRAM)
    assert extract_program(reply, "python") == Extraction(None, 0, 0, "unclosed-reasoning", 0)
    assert not contains_program(reply, "python")


def test_usaco_mode_takes_the_first_python_fence_and_else_the_whole_reply():
    reply = "Text" + fenced("first\n") + fenced("second\n")
    assert extract_program(reply, "python", "usaco").code == "\nfirst\n"
    whole = extract_program("print(1)", "python", "usaco")
    assert (whole.code, whole.start, whole.end, whole.rule) == ("print(1)", 0, 8, "usaco-whole-reply")
    assert extract_program("a```python\nx", "python", "usaco").code == "\nx"


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'default' or 'usaco'"):
        extract_program("", "python", "guess")


@pytest.mark.parametrize(
    ("reply", "language", "counts"),
    [
        (fenced(PROGRAM), "python", True),
        (fenced("print(1\n"), "python", True),
        (fenced("15\n", ""), "python", False),
        (fenced(PROGRAM, ""), "python", True),
        (fenced("if x > 1 then stop\n", "text"), "python", False),
        ("```python\n" + PROGRAM, "python", True),
        ("```python\nn = int(input())\n", "python", False),
        ("```python\nn = int(input())\nprint(n +", "python", False),
        ("Think of a stack: `print(1)`.", "python", False),
        (fenced(CPP, "cpp"), "cpp", True),
        ("```cpp\n" + CPP[:-2], "cpp", False),
        ("```cpp\n" + CPP, "cpp", True),
        (fenced(CPP, "cpp"), "python", False),
    ],
)
def test_which_replies_count_as_a_generation(reply, language, counts):
    assert contains_program(reply, language) is counts


@pytest.mark.parametrize(
    ("name", "generations"),
    [
        ("bronze_postcutoff_palindromes_FAIL", 5),
        ("bronze_precutoff_air_cownditioning_correct1", 2),
        ("bronze_precutoff_lemonade_correct1", 2),
        ("silver_precutoff_loan_repayment_SUCCESS", 4),
        ("silver_precutoff_rest_stops_FAIL", 6),
        ("silver_precutoff_rest_stops_SUCCESS2", 3),
    ],
)
def test_published_trajectories_count_their_python_fenced_turns(shared_data: Path, name, generations):
    turns = json.loads((shared_data / "trajectories" / f"{name}.json").read_text(encoding="utf-8"))
    replies = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    assert sum("```python" in reply for reply in replies) == generations
    assert sum(contains_program(reply, "python") for reply in replies) == generations
    # Their programs all define functions; an excerpt of a few lines would not.
    codes = [extract_program(reply, "python").code for reply in replies]
    assert sum("def " in code for code in codes if code) == generations


hostile = st.lists(
    st.sampled_from(
        ["```", "~~~", "`", "python", "cpp", "\n", "\r\n", "\r", " ", "\t", "<think>", "</think>"]
    )
    | st.sampled_from(["print(1)", "int main() {}", "x = (", "\0", "\ud800", "\u2028", "é", "> ", "- "])
    | st.text(max_size=8),
    max_size=40,
).map("".join)


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@given(hostile, st.sampled_from(["python", "cpp", "java"]), st.sampled_from(["default", "usaco"]))
@example("```python\n" + "-" * 20_000 + "1\n```", "python", "default")
@example("```python\nx = '\\d'\n```", "python", "default")
def test_any_text_is_survived_and_the_span_holds_the_code(reply, language, mode):
    found = extract_program(reply, language, mode)
    if found.code is None:
        assert (found.start, found.end, found.candidates) == (0, 0, 0)
        assert not contains_program(reply, language)
    else:
        written = reply[found.start : found.end].replace("\r\n", "\n").split("\n")
        assert [line.lstrip(" \t") for line in written] == [
            line.lstrip(" \t") for line in found.code.replace("\r\n", "\n").split("\n")
        ]


code_lines = st.text(
    st.characters(exclude_characters="`~<>\r", exclude_categories=["Cs"]), min_size=1, max_size=40
)


@given(
    code_lines.filter(str.strip),
    st.sampled_from(["```", "~~~", "`````"]),
    st.sampled_from(["python", "", "go"]),
)
def test_whatever_is_fenced_comes_back(code, fence, tag):
    found = extract_program(f"Words.\n{fence}{tag}\n{code}\n{fence}\nWords.", "python")
    assert found.code == code + "\n"


@pytest.mark.parametrize(
    "reply",
    [
        "`" * 100_000,
        "```\n" * 25_000,
        "```python\n" * 10_000,
        "x```python " * 9_000,
        "</think>" * 12_500,
        "<think></think>" * 7_000,
        "```python\nx=\n```\n" * 6_000,
        "```python\n" + "(" * 100_000,
    ],
    ids=lambda reply: repr(reply[:12]),
)
def test_hostile_replies_cost_linear_time(reply):
    started = time.process_time()
    extract_program(reply, "python")
    contains_program(reply, "python")
    assert time.process_time() - started < 2
