"""Detectors: what each finds and ignores, on any text and in linear time."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutoring.rules import Detection, MessageContext
from tutoring.rules.detectors import all_detections, detect

STATEMENT = (
    "There are N barns in a row, and barn i holds a[i] cows. Print the minimum number of moves. "
    "Limit: N up to 54321."
)
ANALYSIS = (
    "We observe that moving every surplus cow to the right keeps the running balance equal to the flow between "
    "neighbouring barns, so the answer is the sum of absolute prefix balances.\n\n"
    "balance = 0\ntotal = 0\nfor cows in line:\n    balance += cows - average\n"
    "    total += abs(balance)\nprint(total)\n"
    "A greedy argument proves it."
)
PROGRAM = (
    "import sys\n\ndef count_moves(barns):\n    max_load = 0\n    ci = 0\n    for i in range(len(barns)):\n"
    "        max_load = max(max_load, barns[i] * ci - 1)\n    return max_load\n\nprint(count_moves([1]))\n"
)
REPLY = f"I use dynamic programming.\n\n```python\n{PROGRAM}```\n"
CONTEXT = MessageContext(
    statement=STATEMENT, analysis=ANALYSIS, replies=(REPLY,), programs=(PROGRAM,), tags=("greedy",)
)


def passages(text: str, context: MessageContext = CONTEXT) -> list[tuple[str, str, str]]:
    """Return detector, clause and passage of each detection."""
    return [
        (found.detector, found.clause, text[found.start : found.end])
        for found in all_detections(text, context)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Hint: every surplus cow to the right keeps the running balance equal, see?",
            ("reference-leak", "F1", "every surplus cow to the right keeps the running balance equal"),
        ),
        (
            "for x in row:\n    rest += x - mean\n    moves += abs(rest)\nprint(moves)",
            (
                "replacement-code",
                "F2",
                "for x in row:\n    rest += x - mean\n    moves += abs(rest)\nprint(moves)",
            ),
        ),
        ("Write `ci = ci + barns[i]` there.", ("replacement-code", "F2", "ci = ci + barns[i]")),
        ("You should use best = max(best, rest + i).", ("replacement-code", "F2", "best = max(best, rest + i)")),
        ("Look at line 7.", ("code-pointing", "F2", "line 7")),
        ("See lines 3-5 again", ("code-pointing", "F2", "lines 3-5")),
        ("The third line of your loop is odd.", ("code-pointing", "F2", "third line of your loop")),
        ("Is max_load right?", ("code-pointing", "F2", "max_load")),
        ("The mistake is in \"ci\".", ("code-pointing", "F2", "ci")),
        ("`max_load` must start at 1.", ("code-pointing", "F2", "max_load")),
        ("Try a greedy approach.", ("algorithm-naming", "F1", "greedy approach")),
        ("No; use best instead; try binary search.", ("algorithm-naming", "F1", "binary search")),
        (
            "I think you are currently misunderstanding the problem.",
            ("explanation", "F3", "you are currently misunderstanding"),
        ),
        ("Note that we want the minimum, not the maximum.", ("explanation", "F3", "minimum, not the maximum")),
        (
            "Let me suggest an alternative approach. Instead of keeping a load, try all possibilities.",
            ("approach-giving", "F1", "Instead of keeping a load, try"),
        ),
        ("The problem asks for moves of single cows.", ("explanation", "F3", "The problem asks")),
        ("It passes the first four test cases!", ("verdict-leak", "F5", "passes the first four test cases")),
        (
            "\u0130ZM\u0130R: IT PASSES THE FIRST FOUR TEST CASES!",  # a letter that has two in lower case
            ("verdict-leak", "F5", "PASSES THE FIRST FOUR TEST CASES"),
        ),
        ("Test 5: TLE", ("verdict-leak", "F5", "TLE")),
        ("It does not pass the second test.", ("verdict-leak", "F5", "pass the second test")),
        ("This solution still times out.", ("verdict-leak", "F5", "times out")),
        ("It gives an index error on that.", ("verdict-leak", "F5", "gives an index error")),
        ("Your program prints 7 there.", ("verdict-leak", "F5", "program prints 7")),
        ("With 987654 barns it must be 3.", ("hidden-data", "F4", "987654")),
    ],
)  # fmt: skip
def test_breach_is_found_with_its_passage(text: str, expected: tuple[str, str, str]):
    assert expected in passages(text)


@pytest.mark.parametrize(
    "text",
    [
        "This code is not correct. Do not generate code, let us talk first.",
        "This may run past the end of the list, and it may time out on large inputs.",
        "Does your program pass all the samples?",
        "In line 2 of the sample, barn 3 holds 4 cows.",
        "In the sample, N = 3 and a = [1, 2, 3]. After step 1 it should be 2 + 1 = 3.",
        "What did you misunderstand? Read what the problem asks again.",
        "A prefix sum, a heap or a graph could help.",
        "Is dynamic programming needed here?",
        "There is no need for a breadth-first search.",
        "```\n3\n1 2 3\n```",
        "What happens for N up to 54321, or for 100000 barns? Print it modulo 1,000,000,007.",
        "You get the sample by adding the moves. Check if it passes the samples.",
        "For each barn in the row: think of what goes in and out.",
        "You return to the first barn; is that right?",
        "We need to find a faster way.",
        "Yes. Counter, one pass. What you said.",
        "Instead of programming now, try to explain your plan first. Instead of a guess, you should describe it.",
        "I will give you a sample; tell me the answer.",
        'I\'m speaking of "ci": what is it?',
        "What is max(max_load, barns[i] * ci - 1) for?",
        "",
    ],
)
def test_no_expression_matches_an_allowed_message(text: str):
    assert [found for found in passages(text) if found[0] != "text-model"] == []


@pytest.mark.parametrize(
    "text",
    [
        "Have you thought about binary search on the answer?",
        "No. Use binary search on the answer, see the middle of your code.",
        "Keep two bounds and test the middle.",
        "The problem wants the minimum, not the maximum.",
        "Replace the maximum by a sum there.",
    ],
)
def test_no_words_of_the_student_silence_a_finding(text: str):
    context = MessageContext(statement=STATEMENT, analysis=ANALYSIS)
    silent, talking = (context.after_program(PROGRAM, "python", words) for words in ("", "Here it is:"))
    assert detect(text, silent)
    assert detect(text, talking) == detect(text, silent)


@pytest.mark.parametrize(
    "text",
    [
        "Could binary search work here?",
        "Is it solved by a binary search?",
        "It is like a binary search, in a way.",
    ],
)
def test_an_algorithm_of_the_official_solution_is_always_reported(text: str):
    official = replace(CONTEXT, analysis=f"{ANALYSIS} It is a binary search.")
    (named,) = (found for found in all_detections(text, official) if found.detector == "algorithm-naming")
    assert (named.clause, named.severity, named.certain) == ("F1", "notice", True)
    assert named in detect(text, official)
    student = replace(official, replies=("I have a binary search.", *CONTEXT.replies))
    assert "algorithm-naming" not in {found.detector for found in all_detections(text, student)}
    assert "algorithm-naming" not in {
        found.detector
        for found in all_detections("Could dynamic programming work here?", replace(official, replies=()))
    }


def test_words_of_statement_and_model_are_no_leak():
    words = "moving every surplus cow to the right keeps the running balance equal to the flow"
    said = replace(CONTEXT, replies=(*CONTEXT.replies, f"I think {words}."))
    assert passages(words, said) == []
    assert (
        passages("There are N barns in a row, and barn i holds cows; print the minimum number of moves.")
        == []
    )


def test_code_of_the_official_solution_is_found_under_other_names():
    text = "for x in row:\n    rest += x - mean\n    moves += abs(rest)\nprint(moves)"
    found = passages(f"```python\n{text}\n```")
    assert [clause for detector, clause, _ in found if detector == "reference-leak"] == ["F2"]


def test_names_are_found_only_where_the_model_has_written_a_program():
    assert passages("Is max_load right? Look at line 7.", MessageContext(statement=STATEMENT)) == []


def test_code_is_found_before_the_model_has_written_a_program():
    text = "Write this:\n```python\nprint(2 * int(input()))\n```"
    assert "F2" in {clause for _, clause, _ in passages(text, MessageContext(statement=STATEMENT))}


def test_an_algorithm_is_a_notice_whatever_the_official_solution_says():
    assert {found.severity for found in all_detections("Try greedy, or binary search.", CONTEXT)} == {
        "notice"
    }


@pytest.mark.parametrize(
    ("tutor_may_say", "found"),
    [
        ("nothing", {"is not correct", "passes the sample"}),
        ("right_or_wrong", {"passes the sample"}),
        ("samples", set()),
    ],
)
def test_the_protocol_decides_what_may_be_said_of_a_verdict(tutor_may_say, found: set[str]):
    context = replace(CONTEXT, tutor_may_say=tutor_may_say)
    assert {
        quote for _, _, quote in passages("It passes the sample. Yet it is not correct.", context)
    } == found


def test_a_draft_is_not_compared_with_hidden_tests_and_a_record_is():
    text = "Try 987654, then 123457, then abracadabraabracadabra."
    found = [one for one in all_detections(text, CONTEXT) if one.detector == "hidden-data"]
    assert [(one.weight, one.severity) for one in found] == [(0.4, "notice")] * 2
    recorded = replace(CONTEXT, hidden_tokens=frozenset({"987654", "abracadabraabracadabra", "54321"}))
    found = [one for one in detect(text, recorded) if one.detector == "hidden-data"]
    assert [text[one.start : one.end] for one in found] == ["987654", "abracadabraabracadabra"]
    assert all(one.blocking for one in found)
    assert detect("N is at most 54321.", recorded) == []


def test_a_passage_begins_with_its_first_word():
    text = "You read the input well. Change total += i to total += i + 1."
    context = MessageContext(
        STATEMENT, ANALYSIS, programs=("total = 0\nfor i in range(3):\n    total += i\n",)
    )
    passages = {text[one.start : one.end] for one in detect(text, context)}
    assert "Change total += i to total += i + 1." in passages


FRAGMENTS = st.sampled_from(
    ["`", "```", "```python\n", "\n", "max_load", "line 3", "(", ")", "=", " = ", "not the maximum", "minimum ",
     "passes ", "test ", "times out", "binary search ", "987654", "1,000,", ".", "?", "“", "”", "İ", "ß", "🐄",
     "\u2028", "'", "ci", "for "]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(FRAGMENTS, max_size=60).map("".join))


@pytest.mark.slow
@given(text=TEXTS, reply=TEXTS, analysis=TEXTS)
@settings(max_examples=60, deadline=None)
def test_passages_are_inside_any_text(text: str, reply: str, analysis: str):
    context = MessageContext(
        statement=STATEMENT,
        analysis=analysis + ANALYSIS,
        replies=(reply,),
        programs=(PROGRAM, reply),
        tutor_may_say="nothing",
        hidden_tokens=frozenset({"987654"}),
    )
    found = detect(text, context)
    assert found == detect(text, context)
    for one in found:
        assert 0 <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == text[one.start : one.end].strip()
        assert 0 < one.weight <= 1
        assert one.explanation
    assert found == sorted(found, key=_order)


def _order(found: Detection) -> tuple[int, int, str]:
    return found.start, found.end, found.clause


@pytest.mark.slow
@given(unit=st.one_of(st.text(min_size=1, max_size=20), st.lists(FRAGMENTS, min_size=1).map("".join)))
@settings(max_examples=6, deadline=None)
def test_a_check_of_100_000_characters_stays_within_time(unit: str):
    text = (unit * 100_000)[:100_000]
    start = time.process_time()
    detect(text, CONTEXT)
    assert time.process_time() - start < 50  # a quadratic one would take minutes


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "`",
        "```\n",
        "(",
        "x = f(",
        "a.b",
        "minimum ",
        "passes ",
        "may ",
        "you are ",
        "1,000",
        "max_load ",
        "a[",
        "'",
        "1 of times out",
        "测试",
    ],
)
def test_time_is_linear_in_the_length(unit: str):
    text = (unit * 40_000)[:40_000]
    start = time.process_time()
    detect(text, CONTEXT)
    assert time.process_time() - start < 20  # a quadratic one would take minutes


@pytest.mark.slow
def test_time_is_linear_in_the_length_of_a_reply():
    text = ("keep two bounds and test the middle and the " * 1_000)[:40_000]
    context = replace(CONTEXT, replies=("and the and the " * 24_000,))
    start = time.process_time()
    assert any(one.detector == "text-model" for one in detect(text, context))
    assert time.process_time() - start < 20  # a quadratic one takes longer
