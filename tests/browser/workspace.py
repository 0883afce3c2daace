"""Steps on the session page that the browser tests share."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def start_session(page: Page, problem: str, protocol: str = "") -> None:
    """Start a session on a practice problem and wait for its page. `protocol` is the beginning of a title.

    Closes a session on this problem that another test has left open.
    """
    page.goto(f"/problems/practice/{problem}/")
    if page.get_by_role("link", name="Continue the session").count():
        page.get_by_role("link", name="Continue the session").click()
        close_session(page, "Another test begins.")
        expect(page.locator("#composer-state")).to_contain_text("This session is closed")
        page.goto(f"/problems/practice/{problem}/")
    if protocol:
        page.get_by_role("radio", name=re.compile(f"^{protocol}")).check()
    page.get_by_role("button", name="Start a session").click()
    consent_if_asked(page)
    page.wait_for_url(re.compile(r"/sessions/[0-9a-f-]{36}/"))


def consent_if_asked(page: Page) -> None:
    """Give consent if the consent page appears, which happens before the first session only."""
    agree = page.get_by_role("button", name="I agree: start the session")
    expect(agree.or_(page.locator("main.workspace"))).to_be_visible()
    if agree.count():
        expect(page.get_by_role("heading", level=1)).to_have_text("Before your first session")
        agree.click()


def close_session(page: Page, reason: str) -> None:
    """Close the session with an explanation."""
    page.get_by_role("button", name="Close session…").click()
    page.get_by_label("Reason", exact=True).select_option("other")
    page.get_by_label("Explanation").fill(reason)
    page.get_by_role("button", name="Close session", exact=True).click()


def message(page: Page) -> Locator:
    return page.get_by_label("Your message")


def replies(page: Page) -> Locator:
    """Return the complete replies."""
    return page.locator("#events .reply-event")


def stream(page: Page) -> Locator:
    """Return the text of the active reply."""
    return page.locator("#active-reply:not([hidden]) .stream")


def at_end(page: Page) -> bool:
    """Return whether the end of the conversation is in view."""
    box = page.locator("#conversation")
    return bool(box.evaluate("box => box.scrollHeight - box.scrollTop - box.clientHeight < 8"))


def ask_for_code(page: Page, hint: str = "") -> None:
    """Send a message that asks for a program and wait for the reply."""
    before = replies(page).count()
    message(page).fill(hint)
    page.get_by_role("button", name="Ask for code").click()
    expect(replies(page)).to_have_count(before + 1)


def talk(page: Page, text: str) -> None:
    """Send a message without asking for code, and wait for the reply."""
    before = replies(page).count()
    message(page).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(replies(page)).to_have_count(before + 1)


def execute(page: Page) -> None:
    """Submit the latest program for judging, and confirm."""
    page.get_by_role("button", name="Submit for judging…").click()
    page.get_by_role("button", name="Submit and end the session").click()
