"""A streamed reply in a browser. The model is a fake provider that pauses in the middle of a reply."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.workspace import ask_for_code, at_end, message, replies, start_session, stream
from tests.fake_providers import FakeProviders, Hold, Script, pieces_of
from tests.stack import Stack

pytestmark = pytest.mark.browser

PROGRAM = "\n".join(f"print({number})" for number in range(40))
REPLY = pieces_of(f"I would begin like this. Then I would print.\n\n```python\n{PROGRAM}\n```\n")

# Scroll to the top after text has arrived and before the page renders it.
KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...words) { super(...words); sockets.push(this); }
};
"""
GO_UP_AS_TEXT_ARRIVES = """(box) => {
  const goUp = ({ data, target }) => {
    if (!JSON.parse(data).text) return;
    target.removeEventListener("message", goUp, { capture: true });
    window.wasAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 8;
    box.scrollTop = 0;
  };
  sockets.at(-1).addEventListener("message", goUp, { capture: true });
}"""

SMALL_AND_AT_END = """() => {
  const box = document.getElementById("conversation");
  return box.clientHeight <= 60 && box.scrollHeight - box.scrollTop - box.clientHeight < 8;
}"""

NOTE_CONNECTION = """() => {
  window.notices = [];
  const line = document.getElementById("connection");
  new MutationObserver(() => notices.push(line.textContent)).observe(line, { childList: true });
}"""


@pytest.fixture(scope="module")
def site(fake_provider_stack: Stack) -> Stack:
    return fake_provider_stack


@pytest.fixture
def hold(fake_providers: FakeProviders) -> Hold:
    """Pause the next reply after five words until `release()`."""
    hold = Hold(after=5)
    fake_providers.script(Script(REPLY, delay=0.005, hold=hold))
    return hold


def ask_and_meet(page: Page) -> None:
    """Ask for code and wait until the reply is paused and the page shows everything received."""
    page.get_by_role("button", name="Ask for code").click()
    expect(stream(page)).to_have_text("I would begin like this.")
    expect(page.get_by_role("button", name="Stop reply")).to_be_visible()  # the last message of the socket


def test_reload_in_the_middle_of_a_reply_shows_all_of_it_once(open_page: OpenPage, hold: Hold) -> None:
    page = open_page("demo-tutor")
    start_session(page, "choir-photograph")
    ask_and_meet(page)
    page.reload()
    expect(stream(page)).to_have_text("I would begin like this.")
    hold.release()
    expect(replies(page)).to_have_count(1)
    expect(replies(page)).to_contain_text("generation 1")
    expect(replies(page)).to_contain_text("print(39)")
    expect(page.locator("#budget")).to_contain_text("4 of 5 left")
    expect(page.locator("#active-reply")).to_be_hidden()


def test_escape_stops_a_reply(open_page: OpenPage, hold: Hold) -> None:
    page = open_page("demo-tutor")
    start_session(page, "last-rolls")
    ask_and_meet(page)
    expect(page.get_by_role("button", name="Stop reply")).to_be_visible()
    page.keyboard.press("Escape")
    expect(replies(page)).to_contain_text("stopped by you")
    expect(replies(page)).to_contain_text("I would begin like this.")
    expect(message(page)).to_be_enabled()


def test_page_comes_back_by_itself_when_the_web_server_is_killed(
    open_page: OpenPage, hold: Hold, site: Stack
) -> None:
    page = open_page("demo-tutor")
    start_session(page, "tram-depot")
    ask_and_meet(page)
    page.evaluate(NOTE_CONNECTION)
    site.kill("web")
    hold.release()
    expect(replies(page)).to_have_count(1)
    expect(page.locator("#connection")).to_be_hidden()
    assert "reconnecting" in page.evaluate("notices[0]")
    expect(page.locator("#active-reply")).to_be_hidden()
    expect(page.locator("#budget")).to_contain_text("4 of 5 left")
    written = replies(page).inner_text()
    page.reload()
    expect(replies(page)).to_have_count(1)
    assert replies(page).inner_text() == written


def test_scroll_position_stays_while_reading_and_moves_to_the_end_on_sending(
    open_page: OpenPage, fake_providers: FakeProviders
) -> None:
    page = open_page("demo-tutor", viewport={"width": 1280, "height": 500})
    page.add_init_script(KEEP_SOCKETS)
    fake_providers.script(Script(REPLY), Script(REPLY, delay=0.005))
    start_session(page, "returns-trolley")
    ask_for_code(page)
    box = page.locator("#conversation")
    jump = page.get_by_role("button", name="Jump to latest")
    assert at_end(page)
    expect(jump).to_be_hidden()
    box.evaluate("box => box.scrollTop = 0")
    expect(jump).to_be_visible()

    def answer_late(route: Route) -> None:
        answer = route.fetch()
        page.wait_for_function("() => window.wasAtEnd !== undefined")
        route.fulfill(response=answer)

    page.route("**/send/", answer_late)
    box.evaluate(GO_UP_AS_TEXT_ARRIVES)
    message(page).fill("What about the pile?")
    page.keyboard.press("Control+Enter")
    expect(replies(page)).to_have_count(2)
    expect(message(page)).to_have_value("")
    assert page.evaluate("wasAtEnd"), "who sends wants to see the answer"
    assert box.evaluate("box => box.scrollTop") == 0
    jump.click()
    expect(jump).to_be_hidden()
    assert at_end(page)


def test_page_still_follows_after_a_notice_took_some_of_its_room(open_page: OpenPage, hold: Hold) -> None:
    page = open_page("demo-tutor", viewport={"width": 1280, "height": 500})
    start_session(page, "hut-to-hut")
    ask_and_meet(page)
    page.locator("#conversation").evaluate("box => box.style.flexBasis = box.style.maxHeight = '60px'")
    page.wait_for_function(SMALL_AND_AT_END)
    hold.release()
    expect(replies(page)).to_have_count(1)
    assert at_end(page)
    for width, height in ((1100, 470), (400, 800), (1280, 500)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.locator("#conversation").bounding_box(), "forces a layout before any event"
        page.wait_for_function(SMALL_AND_AT_END)
    expect(page.get_by_role("button", name="Jump to latest")).to_be_hidden()
