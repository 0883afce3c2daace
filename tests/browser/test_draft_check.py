"""The draft check: possible violations are underlined and explained, and sending is not blocked."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.workspace import message, replies, start_session, talk
from tests.stack import Stack

pytestmark = pytest.mark.browser


def findings(page: Page) -> Locator:
    return page.get_by_role("list", name="Possible rule violations").get_by_role("listitem")


def underlined(page: Page) -> list[str]:
    return page.locator(".draft-underlines mark").all_text_contents()


def enter(page: Page) -> None:
    """Enter the message field, and wait until the server has loaded what a check needs: a page waits for 5 s only."""
    with page.expect_response(re.compile("/check/$")):
        message(page).focus()


def test_draft_is_underlined_explained_and_selectable_by_keyboard(open_page: OpenPage):
    page = open_page("demo-tutor")
    start_session(page, "seed-bank")
    enter(page)
    message(page).fill("It is wrong 🐄. It passes the first two tests and times out.")
    expect(findings(page)).to_have_count(2)
    expect(page.get_by_role("status").filter(has_text="2 warnings")).to_be_visible()
    assert underlined(page) == ["passes the first two tests", "times out"]
    page.get_by_role("button", name="Select “times out”").press("Enter")
    selected = message(page).evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)")
    assert selected == "times out"
    message(page).fill("It is wrong.")
    expect(page.get_by_role("status").filter(has_text="No rule violation found.")).to_be_visible()
    expect(page.locator("#draft-check")).to_contain_text("no finding does not mean that a message is allowed")
    assert underlined(page) == []
    message(page).fill("")
    expect(page.locator("#draft-check")).to_be_hidden()


def test_message_is_sent_at_once_whether_or_not_the_check_answers(open_page: OpenPage):
    page = open_page("demo-tutor", failures_expected=True)
    start_session(page, "watering-round")
    waiting: list[Route] = []
    # The check does not respond. Playwright cannot mark a built-in method as a handler.
    page.route(re.compile("/check/$"), lambda route: waiting.append(route))  # noqa: PLW0108
    talk(page, "It times out on the third test.")
    expect(page.locator(".message-event")).to_contain_text("It times out")
    assert underlined(page) == []
    page.unroute(re.compile("/check/$"))
    page.route(re.compile("/check/$"), lambda route: route.fulfill(status=500))
    with page.expect_response(re.compile("/check/$")):
        message(page).fill("It times out again.")
    expect(page.locator("#draft-check")).to_be_hidden()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(replies(page)).to_have_count(2)


def test_findings_of_a_checker_model_are_added_and_marked(open_page: OpenPage, site: Stack) -> None:
    checker = "--set=checker_model=simulated-checker:inventive"
    site.change_rows("freeze_protocol", "checked", "--title=Checked", checker)
    page = open_page("demo-tutor")
    start_session(page, "seed-bank", "Checked")
    enter(page)
    message(page).fill("It passes the first two tests. Consider who is left out.")
    expect(findings(page)).to_have_count(2)
    expect(findings(page).first).not_to_contain_text("language model")
    expect(findings(page).last).to_contain_text("warning F3 language model “Consider who is left out”")
    assert underlined(page) == ["passes the first two tests", "Consider who is left out"]
