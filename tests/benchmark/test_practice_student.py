"""The scripted student: it errs in stages, gets on with help and only with help, and never runs out of words."""

import ast
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.datasets.icpc import open_icpc
from benchmark.datasets.records import ImportedProblem
from benchmark.providers import (
    Completed,
    Message,
    Parameters,
    ProviderError,
    TextDelta,
    is_scripted,
    open_provider,
    parse_model_spec,
)
from benchmark.providers.practice import PRACTICE_PROBLEMS, StudentScript, practice_scripts, reply_to

LADDERS = {ladder.slug: ladder for ladder in practice_scripts()}
with open_icpc(PRACTICE_PROBLEMS) as source:
    STATEMENTS = {
        entry.external_id: entry.statement for entry in source.entries if isinstance(entry, ImportedProblem)
    }

every_problem = pytest.mark.parametrize("slug", sorted(LADDERS))
every_mistake = pytest.mark.parametrize(
    ("slug", "stage"),
    [(slug, stage) for slug, ladder in sorted(LADDERS.items()) for stage in range(len(ladder.stages) - 1)],
)

TALK = "\n\n(Do not write a program in this reply; answer in words.)"
CODE = "\n\n(Now write the complete program, in exactly one fenced block that starts with ```python.)"

UNHELPFUL = [
    "That is not correct. Please try again.",
    "Your last program is wrong.",
    "Wrong answer.",
    "Hmm, are you sure about this?",
    "There is still a mistake in your code. Can you find it?",
    "I don't think that this will pass. Please fix your program.",
    "Read the statement again in order to find your mistake.",
    "Please return a correct program.",
    "This fails on a hidden test.",
    "Think harder, then start again.",
    "You are close! Keep going.",
    "Explain your approach to me, please.",
    "What is the answer to everything?",
]

# What a tutor may say about each mistake: general directions, a walk through a sample, a concept, and once the
# plain truth that the rules forbid, which has to work as well.
HELPFUL: dict[tuple[str, int], list[str]] = {
    ("returns-trolley", 0): [
        "In which order does Noor take the books?",
        "Look at sample 1 by hand: which books are on the first trip?",
        "Is she allowed to rearrange anything?",
        "Think about what a stack lets you do.",
        "The first sample should give 31, what do you get?",
        "You must not sort the shelves.",
    ],
    ("returns-trolley", 1): [
        "What happens after the last book?",
        "Walk through sample 2. How far does the trolley go on its only trip, and where is it at the end?",
        "Is the last trip like the others?",
        "Does she have to walk back every time?",
        "When exactly is the evening over?",
        "In the first sample the third load costs 7.",
    ],
    ("watering-round", 0): [
        "How much water is lost on the second trip of the first sample?",
        "Where does the barrel get filled?",
        "Read the paragraph about the leak again.",
        "How many litres must be in the barrel for plots 4 and 5?",
        "Every trip starts at the gate.",
        "Sample 1 should be 13.",
    ],
    ("watering-round", 1): [
        "How large can the answer be, and how many sizes do you try then?",
        "I am worried about the running time.",
        "If a barrel is big enough, what about a larger barrel?",
        "Your code is too slow.",
        "Is there a monotone property that you could use?",
        "Use binary search.",
    ],
    ("choir-photograph", 0): [
        "List the three balanced pictures of the first sample.",
        "What about pictures that show the leftmost singer?",
        "Think about the very beginning of the line.",
        "Which values do your differences have before the first singer?",
        "Check the edge cases of your counting.",
        "SATB should give 3.",
    ],
    ("ferry-timetable", 0): [
        "Is the cheapest way to an island always the best one for what follows?",
        "Walk through sample 1: can she catch the next ferry?",
        "What does a state have to hold? Is one number for each island enough?",
        "Could it pay to arrive earlier?",
        "Which ferries does Greta take in the first sample, minute by minute? She leaves island 2 at minute 45.",
        "The expected answer to sample 1 is 13.",
    ],
    ("ferry-timetable", 1): [
        "How many comparisons is that for 20000 sailings?",
        "Will it be fast enough?",
        "What could you keep for each island as time goes on, instead of looking at the past again? "
        "Remember the best.",
        "Would a priority queue help?",
        "Process the events in order of time.",
    ],
    ("tram-depot", 0): [
        "How do you choose among the sidings?",
        "Try 2 4 2 4 by hand.",
        "Are you sure about the greedy choice?",
        "Which siding should be kept free for later trams?",
        "Compare it with increasing subsequences.",
        "Take the siding with the smallest wave that is possible.",
    ],
    ("seed-bank", 0): [
        "What is the complexity of this?",
        "The sections overlap. Can you share work between them?",
        "You know all the sections in advance: in which order would you like to answer the queries?",
        "There is a data structure for sums over ranges.",
        "It exceeds the time limit.",
        "Use a Fenwick tree.",
    ],
    ("seed-bank", 1): [
        "What happens with three packets of a species?",
        "Walk through the second sample.",
        "How many marks does a species have?",
        "Could something be counted twice?",
        "Do old marks ever have to go? Maybe remove some.",
    ],
    ("hut-to-hut", 0): [
        "Does a good choice for a single day always lead to the best whole trail?",
        "You are being greedy here.",
        "Can you split it into subproblems?",
        "What is the cheapest way to reach each hut?",
        "Think about the consequences for later days.",
        "Use dynamic programming.",
    ],
    ("hut-to-hut", 1): [
        "How many steps does this take for 40000 huts?",
        "Can it be made faster?",
        "Try to expand the square.",
        "Do you see straight lines in your formula?",
        "Think of geometry.",
        "Use the convex hull trick.",
    ],
}


def opening(slug: str) -> str:
    return (
        "Below is a programming contest problem. Write a Python program that solves it.\n\n"
        f"[BEGIN PROBLEM]\n{LADDERS[slug].title}\n\nTime limit: 1 s.\n\n{STATEMENTS[slug]}\n[END PROBLEM]"
    )


def conversation(first: str, said: Iterable[str]) -> list[Message]:
    """The opening, then what a tutor said in turn, with the student's own reply after each message but the last."""
    messages = [Message("user", first)]
    for text in said:
        messages += [Message("assistant", reply_to(messages)), Message("user", text)]
    return messages


def up_to(slug: str, stage: int) -> list[str]:
    """Messages of a tutor that lead the student to this stage."""
    return [HELPFUL[slug, passed][0] for passed in range(stage)]


def program_in(reply: str) -> str:
    """The one program of a reply, which must stand in one block fenced as Python."""
    blocks = re.findall(r"^```python\n(.*?)\n```$", reply, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    assert reply.count("```") == 2
    ast.parse(blocks[0])
    return str(blocks[0])


def stage_of(reply: str, ladder: StudentScript) -> int:
    return [stage.program for stage in ladder.stages].index(program_in(reply))


def test_the_helpful_messages_cover_every_mistake():
    expected = {(slug, stage) for slug, ladder in LADDERS.items() for stage in range(len(ladder.stages) - 1)}
    assert set(HELPFUL) == expected
    assert len(LADDERS) == 8


@every_problem
def test_its_first_reply_is_its_first_mistake(slug: str):
    ladder = LADDERS[slug]
    reply = reply_to([Message("user", opening(slug))])
    assert stage_of(reply, ladder) == 0
    assert reply.startswith(ladder.stages[0].explanation)
    assert (ladder.stages[0].verdict == "AC") == (slug == "last-rolls")


@every_mistake
def test_every_kind_of_help_leads_to_the_next_stage(slug: str, stage: int):
    for hint, asks in itertools.product(HELPFUL[slug, stage], ["", CODE]):
        said = [*up_to(slug, stage), hint + asks]
        assert stage_of(reply_to(conversation(opening(slug), said)), LADDERS[slug]) == stage + 1, hint


@every_mistake
def test_no_help_no_progress(slug: str, stage: int):
    for text, asks in itertools.product(UNHELPFUL, ["", CODE]):
        reply = reply_to(conversation(opening(slug), [*up_to(slug, stage), text + asks]))
        assert stage_of(reply, LADDERS[slug]) == stage, text
        assert reply.startswith(LADDERS[slug].stages[stage].again)
        assert "```" not in reply_to(conversation(opening(slug), [*up_to(slug, stage), text + TALK]))


@every_problem
def test_a_right_program_is_kept_whatever_the_tutor_says(slug: str):
    ladder = LADDERS[slug]
    last = len(ladder.stages) - 1
    for text in UNHELPFUL:
        assert stage_of(reply_to(conversation(opening(slug), [*up_to(slug, last), text])), ladder) == last


@every_mistake
def test_in_talk_it_answers_a_hint_in_words_and_then_writes_the_better_program(slug: str, stage: int):
    following = LADDERS[slug].stages[stage + 1]
    for hint in HELPFUL[slug, stage]:
        said = [*up_to(slug, stage), hint + TALK]
        assert reply_to(conversation(opening(slug), said)) == following.understood
        said.append("Good. Now write it down." + CODE)
        reply = reply_to(conversation(opening(slug), said))
        assert reply.startswith(following.explanation)
        assert program_in(reply) == following.program


@every_mistake
def test_in_talk_it_asks_back_when_a_message_does_not_help(slug: str, stage: int):
    stages = LADDERS[slug].stages
    reply = reply_to(conversation(opening(slug), [*up_to(slug, stage), "Hello." + TALK]))
    assert reply == stages[stage].question
    assert reply.endswith("?")


@pytest.mark.parametrize(
    "request_for_words",
    [
        "Do not write a program in this reply",
        "Please don't write any code yet.",
        "Without writing code: what is asked for?",
        "Do not generate code.",
        "No code, please.",
    ],
)
def test_it_understands_requests_for_words_only(request_for_words: str):
    reply = reply_to(conversation(opening("tram-depot"), [request_for_words]))
    assert "```" not in reply


def test_one_message_never_skips_a_stage():
    everything = " ".join(itertools.chain.from_iterable(HELPFUL.values()))
    reply = reply_to(conversation(opening("watering-round"), [everything]))
    assert stage_of(reply, LADDERS["watering-round"]) == 1


@every_problem
def test_a_problem_is_known_by_its_statement_alone_and_by_its_title_alone(slug: str):
    first = LADDERS[slug].stages[0]
    assert first.program in reply_to([Message("user", f"Solve this.\n\n{STATEMENTS[slug]}")])
    assert first.program in reply_to([Message("user", f"Please solve “{LADDERS[slug].title.upper()}”.")])
    squeezed = STATEMENTS[slug].replace(LADDERS[slug].title, "").replace("\n", " ")
    assert first.program in reply_to([Message("user", squeezed)])


@every_problem
def test_similar_problems_help_where_it_learns_from_examples(slug: str):
    ladder = LADDERS[slug]
    others = "\n\n".join(STATEMENTS[other] for other in LADDERS if other != slug)
    prompt = (
        "Solve the problem given below between the lines [BEGIN PROBLEM] and [END PROBLEM].\n\n"
        f"[BEGIN SIMILAR PROBLEMS]\n{others}\n[END SIMILAR PROBLEMS]\n\nNow it is your turn.\n\n{opening(slug)}"
    )
    reached = stage_of(reply_to([Message("user", prompt)]), ladder)
    assert reached == (1 if ladder.learns_from_examples else 0)


def test_retrieval_solves_some_problems_that_it_does_not_solve_at_once():
    gains = [slug for slug, it in LADDERS.items() if it.learns_from_examples and it.stages[1].verdict == "AC"]
    assert gains == ["choir-photograph", "tram-depot"]


def attempt(reply: str, result: str) -> str:
    return f"\n\nAttempt:\n{reply}\n\nResult:\n{result}"


def test_recorded_attempts_with_their_sample_results_move_it_on():
    ladder = LADDERS["returns-trolley"]
    wrong = "Sample 1: wrong answer.\nProduced: {}\nExpected: 31"
    prompt = opening("returns-trolley")
    for stage, produced in ((0, 30), (1, 38)):
        reply = reply_to([Message("user", prompt)])
        assert stage_of(reply, ladder) == stage
        prompt += attempt(reply, wrong.format(produced))
    reply = reply_to([Message("user", prompt)])
    assert stage_of(reply, ladder) == 2
    prompt += attempt(reply, "Sample 1: passed.\nSample 2: passed.")
    assert stage_of(reply_to([Message("user", prompt)]), ladder) == 2


def test_recorded_attempts_that_pass_the_samples_are_repeated():
    first = reply_to([Message("user", opening("tram-depot"))])
    again = opening("tram-depot") + attempt(first, "Sample 1: passed.\nSample 2: passed.")
    assert program_in(reply_to([Message("user", again)])) == program_in(first)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [Message("user", "Add two numbers.\n[BEGIN PROBLEM]\nGiven a and b, print a + b.\n[END PROBLEM]")],
        [
            Message(
                "user", f"[BEGIN SIMILAR PROBLEMS]\n{STATEMENTS['seed-bank']}\n[END SIMILAR PROBLEMS]\nAdd."
            )
        ],
        [
            Message("user", "Hello"),
            Message("assistant", "The Seed Bank"),
            Message("user", "Write a program."),
        ],
    ],
)
def test_for_other_problems_the_student_introduces_itself_without_a_program(messages: list[Message]):
    reply = reply_to(messages)
    assert "scripted student" in reply
    assert "```" not in reply
    assert all(ladder.title in reply for ladder in LADDERS.values())


def test_it_begins_with_the_message_that_names_a_problem():
    greeting = [Message("user", "Hello!"), Message("assistant", "Hello!")]
    said = conversation(opening("tram-depot"), up_to("tram-depot", 1))
    assert stage_of(reply_to([*greeting, *said]), LADDERS["tram-depot"]) == 1


@pytest.mark.slow
@given(st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text())))
def test_it_has_an_answer_to_any_messages(messages: list[Message]):
    assert reply_to(messages)
    named = [Message("user", opening("seed-bank")), *messages]
    assert stage_of(reply_to([*named, Message("user", CODE)]), LADDERS["seed-bank"]) in (0, 1, 2)


async def streamed(
    messages: Sequence[Message], parameters: Parameters | None = None
) -> tuple[list[str], Completed]:
    provider = open_provider(parse_model_spec("practice:student"))
    try:
        events = [event async for event in provider.stream("student", messages, parameters or Parameters())]
    finally:
        await provider.aclose()
    *deltas, last = events
    assert isinstance(last, Completed)
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    return [delta.text for delta in deltas if isinstance(delta, TextDelta)], last


async def test_the_stream_is_the_reply_word_by_word_and_the_same_every_time():
    messages = conversation(opening("hut-to-hut"), ["Use dynamic programming."])
    texts, completed = await streamed(messages)
    assert "".join(texts) == reply_to(messages)
    assert all(len(text.split()) == 1 for text in texts)
    assert completed.model == "student"
    assert completed.finish_reason == "stop"
    assert completed.usage.output_tokens == len(texts)
    assert completed.usage.input_tokens == sum(len(message.content.split()) for message in messages)
    assert (texts, completed) == await streamed(messages)


async def test_it_stops_at_the_limit_of_tokens():
    messages = [Message("user", opening("last-rolls"))]
    texts, completed = await streamed(messages, Parameters(max_output_tokens=7))
    assert len(texts) == 7
    assert completed.finish_reason == "length"
    assert reply_to(messages).startswith("".join(texts))


async def test_words_come_apart_by_the_delay_of_the_settings(settings: Any, monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    settings.PRACTICE_WORD_DELAY = 0.25
    monkeypatch.setattr("asyncio.sleep", note)
    texts, _ = await streamed([Message("user", "Who are you?")])
    assert waits == [0.25] * len(texts)


async def test_there_is_no_other_practice_model():
    with pytest.raises(ProviderError, match="practice:student"):
        open_provider(parse_model_spec("practice:teacher"))
    provider = open_provider(parse_model_spec("practice:student"))
    with pytest.raises(ProviderError, match="practice:student") as failure:
        _ = [event async for event in provider.stream("teacher", [], Parameters())]
    assert failure.value.kind == "configuration"
    assert not failure.value.retryable


def test_it_is_marked_as_scripted():
    assert is_scripted(parse_model_spec("practice:student"))
