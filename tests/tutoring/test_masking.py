"""Names of models in replies, which protocols may hide from tutors."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from benchmark.models import Problem
from tests.tutoring.dialogues import SessionUnderTest, start
from tutoring.models import Event, Protocol
from tutoring.models.payloads import ReplyFinished
from tutoring.protocols import freeze, rules_of
from tutoring.replies.pieces import Delta, append_deltas
from tutoring.sessions.conversation import tutor_view
from tutoring.sessions.masking import MASK, Names, StreamMask, mask

NAMES = Names(statement="Farmer Claude counts his cows.", model="lab-7b-chat")

PIECES = st.sampled_from(
    ["GPT-4o", "mini", "`", "``", "\n", "```\n", "```python\n", "~~~\n", " ", "I'm ", "Cla", "ude", "as ", "o3",
     "-mini", "word ", "made by ", "Goog", "le", "Qwen2.5", "Coder", ".", "(", "llama ", "3", "lab-",
     "7b-chat", "x", "\r", "\u2028", "words " * 25, "trained by the large language model ", "y" * 150, "`" + "-" * 450,
     "\u2011", "4o", "As ", "GPT", ",", " from ", "Meta", " AI"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("As GPT-4o mini, I think so.", f"As {MASK}, I think so."),
        ("I am a large language model by Google.", f"I am a large language model by {MASK}."),
        ("I'm lab-7b-chat, trained by DeepSeek.", f"I'm {MASK}, trained by {MASK}."),
        ("Farmer Claude has cows.", "Farmer Claude has cows."),
        ("I am Claude.", f"I am {MASK}."),
        ("GPT\u20114o mini and GPT 4 write kimi-k2.", f"{MASK} and {MASK} write {MASK}."),
        ("As GPT, I know it as gpt, by name.", f"As {MASK}, I know it as gpt, by name."),
        (
            "I'm Opus 4. Llama 3.1 from Meta, Phi-4 by Microsoft.",
            f"I'm {MASK}. {MASK} from {MASK}, {MASK} by {MASK}.",
        ),
        ("In my training at Google, meta data; Meta AI.", f"In my training at {MASK}, meta data; {MASK}."),
        ("Let o1 be the first object; google maps.", "Let o1 be the first object; google maps."),
        ("`GPT-4` is a variable", "`GPT-4` is a variable"),
        ("```python\ngemini = 1\n```\nSo says Gemini.", f"```python\ngemini = 1\n```\nSo says {MASK}."),
    ],
)
def test_names_are_masked_in_prose_and_never_in_code(text: str, shown: str):
    assert mask(text, NAMES.spans(text)) == shown


@pytest.mark.slow
@given(pieces=st.lists(PIECES, max_size=25), cuts=st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_stream_shows_beginnings_of_the_masked_text(pieces: list[str], cuts: list[int]):
    text = "".join(pieces)
    whole = mask(text, NAMES.spans(text))
    stream, shown, position, number = StreamMask(NAMES), "", 0, 0
    while position < len(text):
        size = cuts[number % len(cuts)]
        shown += stream.feed(text[position : position + size])
        position, number = position + size, number + 1
        assert whole.startswith(shown)
    assert shown + stream.feed("\n") == mask(f"{text}\n", NAMES.spans(f"{text}\n"))


@pytest.mark.parametrize(
    "words", ["12.5 cows are here. ", "I'm Claude 3.5 sonnet, ", "牛站成一排，", "use `x` "]
)
def test_stream_keeps_little_of_a_long_line(words: str):
    stream = StreamMask(NAMES)
    for _ in range(1000):
        stream.feed(words)
        assert len(stream.line) < 500


def test_stream_shows_ordinary_words_at_once():
    stream = StreamMask(NAMES)
    assert [stream.feed(word) for word in ("The sum", " is", " 12 here")] == ["The sum", " is", " 12 here"]
    assert [stream.feed(word) for word in (" Gem", "ini", " says")] == [" ", "", ""]
    assert stream.feed(" so").startswith(MASK)


@pytest.mark.parametrize("hides", [True, False])
def test_tutor_reads_no_model_name_and_the_record_keeps_it(
    alice: User, doubling: Problem, protocol: Protocol, hides: bool
):
    other = freeze("other", rules_of(protocol).with_settings(hide_model=hides))
    session = SessionUnderTest(start(alice, doubling, other, "openai:hidden-model-name"), alice)
    text = "I'm Claude by Anthropic.\n\n```python\n# Claude\nprint(2 * int(input()))\n```\n"
    client = Client()
    client.force_login(alice)
    session.say("Try it.", mode="code")
    claimed = session.claim()
    chunks = [
        Delta(claimed.pk, claimed.attempt, 1, text[:8]),
        Delta(claimed.pk, claimed.attempt, 2, text[8:12]),
    ]
    append_deltas(chunks, [(claimed.pk, claimed.attempt)])
    active = tutor_view(session.refresh()).active_reply
    assert active is not None
    assert active.text == ("I'm " if hides else "I'm Claude b")
    session.row.replies.all().delete()
    session.ask_and_get(text)
    page = client.get(f"/sessions/{session.pk}/").content.decode()
    assert ("by Anthropic" in page) != hides
    assert (MASK in page) == hides
    assert ("name hidden</span>" in page) == hides
    [event] = session.events(Event.Kind.REPLY)
    reply = event.payload_as(ReplyFinished)
    assert reply.text == text
    assert [text[one.start : one.end] for one in reply.masked] == (["Claude", "Anthropic"] if hides else [])
    assert reply.code is not None
    assert "# Claude" in reply.code
