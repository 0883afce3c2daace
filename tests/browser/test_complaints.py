"""What tutors complain about in chat tools, each as a test of the session page.

The complaints, most frequent first, and the modules with their tests:

1. a reload or another page loses the stream: here, `test_live_reply`
2. typed text is lost: `test_main_job`, `test_workspace`
3. the page scrolls against the reader's will: here, `test_live_reply`
4. formulas are shown as source, and prices as formulas: here
5. a stop does not stop the model: here, `test_live_reply`
6. an endless wait without an error, such as a provider that hangs: here
7. text appears twice after a reconnection: here
8. times and tokens are missing; a blind page hides them, the record has them: here
9. a blind page gives the model away, or the model is swapped: here
10. differences between programs are unreadable without colours: here, `test_workspace`
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.test_layout import assert_readable
from tests.browser.test_live_reply import KEEP_SOCKETS
from tests.browser.workspace import at_end, message, replies, start_session, stream
from tests.fake_providers import FakeProviders, Hold, Script, failure, pieces_of
from tests.stack import Stack

pytestmark = pytest.mark.browser

FINISHED = r"""Let \(s_n = \sum_{i \le n} i\) be the sum.

| n | sum |
| - | --- |
| 1 | 1 |
| 2 | 3 |

$$
s_n = \frac{n (n + 1)}{2}
$$

```python
print(n * (n + 1) // 2)
```
"""
UNFINISHED = "\nAnd the **rest"
LONG = "\n\n".join(f"Paragraph {number} of a long reply, which says little." for number in range(30))

NOTE_NAMES = """() => {
  window.namesSeen = [];
  const note = () => {
    if (/GPT-4o|Claude|OpenAI/i.test(document.body.innerText)) namesSeen.push(document.body.innerText);
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""

TOP_IN_BOX = """(element) =>
  element.getBoundingClientRect().top - document.getElementById("conversation").getBoundingClientRect().top"""

OTHER_MODEL = """
from benchmark.models import LanguageModel
from benchmark.model_calls import catalogue
LanguageModel.objects.filter(label="another").delete()
catalogue.add(LanguageModel(label="another", spec="openai:another-model", for_sessions={for_sessions}))
"""


@pytest.fixture(scope="module")
def site(fake_provider_stack: Stack) -> Stack:
    return fake_provider_stack


@pytest.fixture(scope="module", autouse=True)
def open_protocol(site: Stack) -> None:
    """Freeze a protocol that is not blind, under which the page shows calls and waits."""
    settings = ("hide_model=false", "seconds_to_first_word=none", "characters_per_second=none")
    site.change_rows("freeze_protocol", "open", "--title=Open", *(f"--set={setting}" for setting in settings))


@pytest.fixture
def reply_in_pieces(fake_providers: FakeProviders) -> Iterator[Hold]:
    """Make the next reply stop within its last paragraph until `release()`."""
    hold = Hold(after=len(pieces_of(FINISHED)) + len(pieces_of(UNFINISHED)))
    text = pieces_of(FINISHED) + pieces_of(UNFINISHED) + pieces_of("** follows.\n")
    fake_providers.script(Script(text, hold=hold))
    yield hold
    hold.release()


def start_open_session(page: Page, problem: str) -> None:
    """Start a session under the protocol that is not blind."""
    start_session(page, problem, "Open")


def ask(page: Page) -> None:
    page.get_by_role("button", name="Ask for code").click()


def waiting_line(page: Page) -> Locator:
    return page.locator("#reply-wait")


def test_finished_blocks_are_rendered_while_the_rest_arrives(
    open_page: OpenPage, reply_in_pieces: Hold
) -> None:
    page = open_page("demo-tutor")
    start_session(page, "choir-photograph")
    ask(page)
    text = stream(page)
    expect(text).to_contain_text("And the **rest")
    expect(text.locator("math")).to_have_count(2)
    expect(text.locator("table td")).to_have_count(4)
    expect(text.locator("figure.code").get_by_role("button", name="Copy")).to_be_visible()
    shown = text.inner_text()
    for source in ("\\(", "$$", "```", "| 1 |"):
        assert source not in shown
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert_readable(page)
    assert_accessible(page)
    page.evaluate("window.blocks = [...document.querySelectorAll('#stream > :not(#stream-rest)')]")
    reply_in_pieces.release()
    expect(replies(page)).to_contain_text("And the rest follows.")
    kept = page.evaluate("blocks.map((block) => document.getElementById('events').contains(block))")
    assert kept == [True] * 4, "what is rendered stays what it is"
    page.reload()
    expect(replies(page).locator("math")).to_have_count(2)


def test_formula_that_is_arriving_is_text_until_it_is_whole(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    hold = Hold(after=4)
    fake_providers.script(
        Script(("First.\n\n", "$$\n", "\\frac{1}", "{n", "^2}\n", "$$\n\nDone."), hold=hold)
    )
    page = open_page("demo-tutor")
    start_session(page, "last-rolls")
    ask(page)
    expect(stream(page).locator("p")).to_have_text("First.")
    expect(page.locator("#stream-rest")).to_contain_text("\\frac{1}{")
    expect(stream(page).locator("math")).to_have_count(0)
    hold.release()
    expect(replies(page).locator("mfrac")).to_have_count(1)
    expect(replies(page).locator("merror")).to_have_count(0)


def test_reader_keeps_the_place_when_the_reply_ends(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    hold = Hold(after=len(pieces_of(LONG)))
    text = pieces_of(LONG) + pieces_of("\n\n1. one\n2. **two**\n\n# Three\n\n" + LONG)
    fake_providers.script(Script(text, hold=hold))
    page = open_page("demo-tutor", viewport={"width": 1280, "height": 600})
    start_session(page, "tram-depot")
    ask(page)
    expect(stream(page)).to_contain_text("Paragraph 29")
    paragraph = stream(page).locator("p").nth(14)
    place = paragraph.element_handle()
    assert place is not None
    page.locator("#conversation").evaluate(
        f"(box, element) => box.scrollTop += ({TOP_IN_BOX})(element) + 7", place
    )
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    before = place.evaluate(TOP_IN_BOX)
    hold.release()
    expect(replies(page)).to_have_count(1)
    expect(page.locator("#active-reply")).to_be_hidden()
    assert place.evaluate("(element) => document.getElementById('events').contains(element)")
    assert abs(place.evaluate(TOP_IN_BOX) - before) <= 1
    assert not at_end(page)


def test_reconnected_page_shows_no_text_twice(open_page: OpenPage, reply_in_pieces: Hold) -> None:
    page = open_page("demo-tutor")
    page.add_init_script(KEEP_SOCKETS)
    start_session(page, "returns-trolley")
    ask(page)
    expect(stream(page)).to_contain_text("And the **rest")
    before = stream(page).inner_text()
    page.evaluate("window.kept = document.querySelector('#stream table')")
    for _ in range(2):
        page.evaluate("sockets.at(-1).close()")
        page.wait_for_function("() => sockets.at(-1).readyState === WebSocket.OPEN")
    expect(page.locator("#connection")).to_be_hidden()
    assert stream(page).inner_text() == before
    assert page.evaluate("kept.isConnected"), "a reconnection replaces nothing that is the same"
    reply_in_pieces.release()
    expect(replies(page)).to_have_count(1)
    assert replies(page).inner_text().count("And the rest follows.") == 1
    assert replies(page).locator("table").count() == 1


def test_hanging_provider_is_reported_with_attempt_and_time(
    open_page: OpenPage, fake_providers: FakeProviders, site: Stack
) -> None:
    fake_providers.script(failure(500), Script(ending="hang", after=0))
    page = open_page("demo-tutor")
    page.clock.install()
    start_open_session(page, "hut-to-hut")
    ask(page)
    expect(page.get_by_role("button", name="Stop reply")).to_be_visible()
    line = waiting_line(page)
    site.wait_for(lambda: len(fake_providers.requests) == 2)
    page.clock.fast_forward(6000)
    expect(line).to_contain_text("attempt 2 of 4")
    told = re.fullmatch(r"no answer yet, attempt 2 of 4, gives up in (\d+) s", line.inner_text())
    assert told is not None
    assert int(told[1]) <= 180
    page.clock.fast_forward(10_000)
    expect(line).to_contain_text(re.compile(r"gives up in \d+ s"))
    assert int(re.findall(r"\d+", line.inner_text())[-1]) <= int(told[1]) - 9
    assert_readable(page)
    assert_accessible(page)
    page.get_by_role("button", name="Stop reply").click()
    expect(replies(page)).to_contain_text("stopped by you")
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


def test_reply_that_hangs_in_its_middle_is_reported_too(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    fake_providers.script(Script(pieces_of("These words came. And these did not."), ending="hang", after=3))
    page = open_page("demo-tutor")
    page.clock.install()
    start_open_session(page, "ferry-timetable")
    ask(page)
    expect(stream(page)).to_contain_text("These words came.")
    page.clock.fast_forward(10_000)
    expect(waiting_line(page)).to_contain_text(
        re.compile(r"no new text, attempt 1 of 4, gives up in 1[67]\d s")
    )
    page.get_by_role("button", name="Stop reply").click()
    expect(replies(page)).to_contain_text("These words came.")


def test_empty_and_refused_replies_say_so(open_page: OpenPage, fake_providers: FakeProviders) -> None:
    fake_providers.script(
        Script(()), Script(("I cannot help with that.",), finish="refusal"), Script(("Hello.",))
    )
    page = open_page("demo-tutor")
    start_session(page, "watering-round")
    primary = page.locator(".composer button.primary:visible")
    expect(primary).to_have_text("Ask for code")
    ask(page)
    expect(replies(page)).to_contain_text("empty")
    expect(replies(page)).to_contain_text("without any text")
    expect(page.locator("#budget")).to_contain_text("5 of 5 left")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    page.get_by_role("button", name="Retry reply").click()
    expect(replies(page)).to_have_count(2)
    expect(replies(page).last).to_contain_text("refused")
    expect(page.get_by_role("button", name="Retry reply")).to_be_hidden()
    expect(primary).to_have_text("Send")
    message(page).fill("Please try.")
    page.get_by_role("button", name="Send").click()
    expect(replies(page).last).to_contain_text("Hello.")
    sent = fake_providers.requests[-1].body["messages"]
    assert [one["role"] for one in sent][-2:] == ["assistant", "user"], (
        "the empty reply is no part of the dialogue"
    )


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_only_an_operator_can_mend_is_no_retry(
    open_page: OpenPage, fake_providers: FakeProviders, status: int
) -> None:
    fake_providers.script(failure(status))
    page = open_page("demo-tutor")
    start_session(page, "seed-bank")
    ask(page)
    expect(page.locator("#composer-state")).to_contain_text("An operator must act")
    expect(page.get_by_role("button", name="Retry reply")).to_be_hidden()
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    expect(page.get_by_role("button", name="Something is wrong…").first).to_be_visible()
    assert len(fake_providers.requests) == 1
    assert_readable(page)


def test_model_never_gives_itself_away_and_is_never_swapped(
    open_page: OpenPage, fake_providers: FakeProviders, site: Stack
) -> None:
    """Names over the joins of chunks, and another model that an operator chooses during the session."""
    pieces = (
        "I am GP",
        "T-4",
        "o, not Cl",
        "au",
        "de. Open",
        "AI made me.\n\n",
        "As GPT",
        "-4o I think so.\n\nYes.",
    )
    fake_providers.script(Script(pieces, delay=0.06), Script(("Second.",)))
    page = open_page("demo-tutor")
    start_session(page, "choir-photograph")
    page.evaluate(NOTE_NAMES)
    ask(page)
    expect(replies(page)).to_contain_text("As [name hidden] I think so.")
    try:
        site.change_rows("shell", "--no-imports", "-v", "0", "-c", OTHER_MODEL.format(for_sessions=True))
        message(page).fill("Go on.")
        page.get_by_role("button", name="Send").click()
        expect(replies(page).last).to_contain_text("Second.")
    finally:
        site.change_rows("shell", "--no-imports", "-v", "0", "-c", OTHER_MODEL.format(for_sessions=False))
    assert [request.body["model"] for request in fake_providers.requests] == ["gpt-4o", "gpt-4o"]
    assert page.evaluate("namesSeen") == []


def test_reply_that_starts_again_replaces_its_first_text(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    first, second = "The first words.\n\nAnd then", "Other words.\n\nAnd an end."
    fake_providers.script(Script(pieces_of(first), ending="cut"), Script(pieces_of(second)))
    page = open_page("demo-tutor")
    start_session(page, "last-rolls")
    ask(page)
    expect(replies(page)).to_contain_text("And an end.")
    expect(page.locator("#conversation")).not_to_contain_text("The first words.")
    expect(replies(page)).to_have_count(1)


def test_stop_ends_the_call_of_the_model(
    open_page: OpenPage, fake_providers: FakeProviders, site: Stack
) -> None:
    fake_providers.script(Script(pieces_of(LONG), delay=0.1))
    page = open_page("demo-tutor")
    start_session(page, "tram-depot")
    ask(page)
    expect(stream(page)).to_contain_text("Paragraph 0")
    page.get_by_role("button", name="Stop reply").click()
    expect(replies(page)).to_contain_text("stopped by you")
    site.wait_for(lambda: fake_providers.requests[0].client_left)
    assert len(fake_providers.requests) == 1, "a stopped call is not repeated"


def test_reply_continues_while_the_tutor_reads_another_page(
    open_page: OpenPage, reply_in_pieces: Hold
) -> None:
    page = open_page("demo-tutor")
    start_session(page, "hut-to-hut")
    ask(page)
    expect(stream(page)).to_contain_text("And the **rest")
    page.goto("/problems/")
    page.go_back()
    expect(stream(page)).to_contain_text("And the **rest")
    page.goto("/codebook/")
    reply_in_pieces.release()
    page.go_back()
    expect(replies(page)).to_contain_text("And the rest follows.")
    expect(replies(page)).to_have_count(1)
    expect(page.locator("#active-reply")).to_be_hidden()


def test_prices_and_source_stay_text_beside_formulas(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    fake_providers.script(
        Script(("It costs $5 or $10. Write `\\(x\\)` for \\(x^2\\).\n\n```\nprice = '$1$'\n```\n",))
    )
    page = open_page("demo-tutor")
    start_session(page, "seed-bank")
    ask(page)
    reply = replies(page)
    expect(reply).to_contain_text("It costs $5 or $10. Write \\(x\\) for")
    expect(reply.locator("math")).to_have_count(1)
    expect(reply).to_contain_text("price = '$1$'")


def test_times_and_tokens_are_recorded_and_hidden_from_a_blind_page(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    fake_providers.script(Script(("Hello.",)))
    page = open_page("demo-tutor")
    start_session(page, "ferry-timetable")
    ask(page)
    expect(replies(page)).to_contain_text("Hello.")
    page.reload()
    assert not re.search(r"tokens|first token|total time|gpt-4o", page.locator("main").inner_html(), re.I)
    reader = open_page("demo-researcher")
    reader.goto(page.url.replace("/sessions/", "/trajectories/"))
    facts = reader.locator(".entry.reply .entry-facts")
    expect(facts).to_contain_text("11 in, 7 out")
    expect(facts).to_contain_text(re.compile(r"Time to first token\s*\d+\.\d\d"))


def test_difference_between_programs_is_readable_without_colours(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    fake_providers.script(
        *(Script((f"Here:\n\n```python\nn = {number}\nprint(n)\n```\n",)) for number in (1, 2))
    )
    page = open_page("demo-tutor")
    start_session(page, "watering-round")
    ask(page)
    expect(replies(page)).to_have_count(1)
    message(page).fill("Again, please.")
    ask(page)
    expect(replies(page)).to_have_count(2)
    page.get_by_role("tab", name="Program").click()
    changes = page.get_by_role("group", name="1 line added, 1 line removed")
    expect(changes.get_by_role("columnheader", name="Change")).to_have_count(1)
    for mark, text in (("−", "n = 1"), ("+", "n = 2")):
        expect(changes.get_by_role("row").filter(has_text=mark)).to_contain_text(text)
    assert_accessible(page)
