"""A walk over the session page with the keyboard alone: everything is reached, seen, left and closed."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import OpenPage
from tests.browser.workspace import ask_for_code, message, replies, start_session

pytestmark = pytest.mark.browser

# Number the elements that the Tab key must reach, and return their descriptions.
REACHABLE = """() => {
  const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  return [...document.querySelectorAll(controls)]
    .filter((element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility())
    .map((element, number) => {
      element.dataset.walk = number;
      return element.getAttribute("aria-label") || element.id || element.textContent.trim() || element.tagName;
    });
}"""

FOCUSED = """() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { width, height } = element.getBoundingClientRect();
  return {
    number: element.dataset.walk ?? null,
    seen: outlineStyle === "solid" && parseFloat(outlineWidth) >= 2 && width > 0 && height > 0,
    html: element.outerHTML.slice(0, 120),
  };
}"""

NAME_OF_FOCUSED = """() => {
  const element = document.activeElement;
  if (element === document.body) return "";
  return element.getAttribute("aria-label") || (element.labels?.[0] ?? element).textContent.trim();
}"""

DIALOGS = (
    ("All shortcuts ?", "Keyboard shortcuts"),
    ("Something is wrong…", "Something is wrong"),
    ("Submit for judging…", "Submit the latest program for judging?"),
    ("Close session…", "Close the session without judging?"),
)


def walk(page: Page, key: str) -> set[int]:
    """Press the key until the focus leaves the page; return the numbers of the elements that had it."""
    visited: set[int] = set()
    for _ in range(200):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        if focused is None:
            return visited
        assert focused["seen"], f"the focus is not visible: {focused['html']}"
        if focused["number"] is not None:
            visited.add(int(focused["number"]))
    pytest.fail(f"{key} does not leave the page")


@pytest.mark.parametrize("width", [1280, 390])
def test_tab_reaches_everything_in_both_directions_and_leaves(open_page: OpenPage, width: int) -> None:
    page = open_page("demo-tutor", viewport={"width": width, "height": 844})
    start_session(page, "watering-round")
    ask_for_code(page)
    page.reload()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    names = page.evaluate(REACHABLE)
    assert {"send", "ask-for-code", "message", "Close session…", "Something is wrong…", "theme"} <= set(names)
    for key in ("Tab", "Shift+Tab"):
        missed = set(range(len(names))) - walk(page, key)
        assert not missed, f"{key} does not reach {[names[number] for number in missed]}"


def test_tabs_dialogs_and_fields_open_and_close_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "returns-trolley")
    ask_for_code(page)
    tabs = page.get_by_role("tab").all()
    tabs[0].focus()
    for tab in [*tabs[1:], tabs[0]]:
        page.keyboard.press("ArrowRight")
        expect(tab).to_be_focused()
        expect(tab).to_have_attribute("aria-selected", "true")
    for name, title in DIALOGS:
        button = page.get_by_role("button", name=name).filter(visible=True)
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name=title)
        expect(dialog).to_be_visible()
        assert dialog.evaluate("dialog => dialog.contains(document.activeElement)"), name
        controls = dialog.locator("button, select, textarea, input:not([type=hidden])").count()
        focused = set()
        for _ in range(controls + 2):  # the focus may pass through the browser's own controls
            focused.add(page.evaluate("document.activeElement.outerHTML"))
            page.keyboard.press("Tab")
            outside = "dialog => document.activeElement !== document.body && !dialog.contains(document.activeElement)"
            assert not dialog.evaluate(outside), "a dialog keeps the focus while it is open"
        assert len(focused - {page.evaluate("document.body.outerHTML")}) >= controls, name
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(button).to_be_focused()
    rules = page.locator("details.rules")
    rules.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(rules).to_have_attribute("open", "")
    message(page).focus()
    page.keyboard.type("A draft")
    page.keyboard.press("Escape")
    expect(page.locator("#conversation")).to_be_focused()
    expect(message(page)).to_have_value("A draft")


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with this name or text has the focus."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(NAME_OF_FOCUSED).startswith(name):
            return
    pytest.fail(f"Tab does not reach {name!r} on {page.url}")


def test_message_sent_before_the_status_of_the_last_reply_arrives_is_sent_with_it(
    open_page: OpenPage,
) -> None:
    page = open_page("demo-tutor")
    held: list[tuple[WebSocketRoute, str]] = []
    replied = released = False

    def forward(socket: WebSocketRoute) -> None:
        def pass_on(received: str | bytes) -> None:
            nonlocal replied
            news = json.loads(received)
            replied |= any(event["kind"] == "reply" for event in news.get("events", ()))
            if replied and not released and news["type"] == "status":
                held.append((socket, str(received)))
            else:
                socket.send(received)

        socket.connect_to_server().on_message(pass_on)

    start_session(page, "returns-trolley")
    page.route_web_socket(re.compile("/ws/sessions/"), forward)
    page.reload()
    message(page).fill("What does the first sample show?")
    page.keyboard.press("Control+Enter")
    expect(replies(page)).to_have_count(1)
    message(page).fill("Trace it by hand.")
    page.keyboard.press("Control+Enter")
    expect(message(page)).to_have_value("Trace it by hand.")
    released = True
    for socket, text in held:
        socket.send(text)
    expect(replies(page)).to_have_count(2)
    expect(message(page)).to_have_value("")


def test_session_is_held_and_ended_by_keyboard_alone(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "choir-photograph")  # consent is tested elsewhere
    tab_to(page, "Your message")
    page.keyboard.type("What does the first sample show?")
    tab_to(page, "Ask for code")
    page.keyboard.press("Enter")
    expect(replies(page)).to_have_count(1)
    expect(message(page)).to_be_focused()
    page.keyboard.type("Trace it by hand.")
    page.keyboard.press("Control+Enter")
    expect(replies(page)).to_have_count(2)
    tab_to(page, "Close session…")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason", exact=True)).to_be_focused()
    page.keyboard.type("another")
    tab_to(page, "Explanation")
    page.keyboard.type("Enough.")
    tab_to(page, "Close session")
    page.keyboard.press("Enter")
    expect(page.locator("#composer-state")).to_contain_text("This session is closed")
    expect(page.locator("#conversation")).to_be_focused()
    tab_to(page, "Back to the problem")


def test_single_keys_can_be_switched_off(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "watering-round")
    ask_for_code(page)
    dialog = page.get_by_role("dialog", name="Close the session without judging?")
    switch = page.get_by_label("Single keys are shortcuts")
    page.locator("#conversation").focus()
    page.keyboard.press("x")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    switch.uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.locator("#conversation").focus()
    for key in ("x", "?"):
        page.keyboard.press(key)
    expect(page.locator("dialog[open]")).to_have_count(0)
    message(page).fill("Trace it.")
    page.keyboard.press("Control+Enter")
    expect(replies(page)).to_have_count(2)
    page.get_by_role("button", name="All shortcuts ?").click()
    switch.check()
    page.keyboard.press("Escape")
    page.locator("#conversation").focus()
    page.keyboard.press("x")
    expect(dialog).to_be_visible()
