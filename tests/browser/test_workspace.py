"""The session page: program changes, keyboard shortcuts, two tabs, a lost connection or login, the debrief."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from accounts.demo_accounts import DEMO_PASSWORD
from tests.browser.conftest import OpenPage
from tests.browser.test_layout import assert_readable
from tests.browser.workspace import ask_for_code, close_session, message, replies, start_session, talk

pytestmark = pytest.mark.browser


def test_programs_are_compared_and_everything_has_a_key(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", permissions=["clipboard-read", "clipboard-write"])
    start_session(page, "tram-depot")
    ask_for_code(page)
    talk(page, "What does sample 1 say?")
    ask_for_code(page, "Now write it down.")
    ask_for_code(page, "Again.")
    expect(message(page)).to_be_focused()
    page.keyboard.type("? j 1")
    expect(message(page)).to_have_value("? j 1")  # shortcuts are off while typing
    message(page).fill("")
    page.keyboard.press("Escape")
    expect(message(page)).not_to_be_focused()

    page.keyboard.press("p")
    panel = page.get_by_role("tabpanel", name="Program")
    expect(panel).to_contain_text("The program of generation 3 of 5")
    unchanged = panel.get_by_text(re.compile("Unchanged since generation 2"))
    changes = panel.locator("figure.diff .mark").filter(has_text=re.compile("[+−]"))
    expect(unchanged.or_(changes.first)).to_be_visible()
    page.keyboard.press("c")
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == panel.locator("#program-text pre").inner_text().strip()

    page.keyboard.press("1")
    expect(page.get_by_role("tab", name="Statement")).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#events > li").last).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#events > li").nth(-2)).to_be_focused()
    page.keyboard.press("l")
    expect(page.locator("#conversation")).to_be_focused()
    page.keyboard.press("r")
    expect(page.get_by_text("You may tell the model whether a program is right")).to_be_visible()
    for key, title in (
        ("?", "Keyboard shortcuts"),
        ("e", "Submit the latest program for judging?"),
        ("x", "Close the session without judging?"),
    ):
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=title)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="All shortcuts").click()
    assert_readable(page)
    page.get_by_role("button", name="Close", exact=True).click()
    page.keyboard.press("m")
    expect(message(page)).to_be_focused()


def test_after_the_end_the_model_is_asked_what_it_learned(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "returns-trolley")
    ask_for_code(page)
    close_session(page, "I want to hear what it learned.")
    expect(page.locator("#composer-state")).to_contain_text("This session is closed. abandoned")
    expect(message(page)).to_be_hidden()
    page.get_by_role("link", name="Debrief").click()
    talk(page, "What did you learn?")
    expect(replies(page).last).to_contain_text("debrief")
    expect(page.locator("#composer-state")).to_contain_text("They do not count")
    expect(page.get_by_role("button", name="Something is wrong…").filter(visible=True)).to_have_count(1)
    expect(page.locator("#shortcuts")).not_to_contain_text("ask for code")
    for control in ("Ask for code", "Submit for judging…", "Close session…"):
        expect(page.get_by_role("button", name=control)).to_be_hidden()
    assert_readable(page)
    page.reload()
    expect(message(page)).to_be_visible()


def test_second_tab_follows_and_takes_over_with_every_word(open_page: OpenPage) -> None:
    first = open_page("demo-tutor")
    start_session(first, "hut-to-hut")
    message(first).press_sequentially("Half a tho")
    second = first.context.new_page()
    saved_by_second: list[Request] = []
    second.on("request", lambda one: saved_by_second.append(one) if one.url.endswith("/draft/") else None)
    second.goto(first.url)
    expect(second.get_by_text("Another tab has this session open")).to_be_visible()
    expect(message(second)).to_be_hidden()
    second.keyboard.press("x")
    expect(second.get_by_role("dialog")).to_be_hidden()
    talk(first, "Half a thought")
    expect(replies(second)).to_have_count(1)  # the second tab updates

    saving: list[Route] = []
    revision = first.locator("#send-form [name=draft]")
    # Playwright cannot mark a built-in method as a handler.
    first.route("**/draft/", lambda route: saving.append(route))  # noqa: PLW0108
    with first.expect_request("**/draft/"):
        message(first).press_sequentially("And one mo")

    def save_after_the_page_was_made(script: Route) -> None:
        before = revision.input_value()
        saving.pop().continue_()
        expect(revision).not_to_have_value(before)
        script.continue_()

    assert saved_by_second == [], "a read-only tab saves no draft"
    second.route("**/js/session.*.js", save_after_the_page_was_made, times=1)
    first.get_by_role("button", name="Close session…").click()
    expect(first.get_by_role("dialog")).to_be_visible()
    second.get_by_role("button", name="Write here instead").click()
    expect(message(second)).to_have_value("And one mo")
    expect(first.get_by_text("Another tab has this session open")).to_be_visible()
    expect(message(first)).to_be_hidden()
    expect(first.get_by_role("dialog")).to_be_hidden()
    talk(second, "And one more")
    expect(replies(first)).to_have_count(2)
    second.reload()
    expect(message(second)).to_be_visible()  # the writing tab stays the writer


def log_in(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    page.get_by_label("User name").fill("demo-tutor")
    page.get_by_label("Password").fill(DEMO_PASSWORD)
    page.get_by_role("button", name="Log in").click()
    return page


def test_words_outlive_a_lost_connection_and_an_expired_login(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", failures_expected=True)
    start_session(page, "ferry-timetable")
    context = page.context
    talk(page, "Hello")
    expect(replies(page)).to_have_count(1)  # the page is connected
    expect(page.get_by_role("button", name="Send")).to_be_enabled()  # and has received the end of the reply
    context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("reconnecting")
    message(page).press_sequentially("Typed without a net")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Nothing is lost")
    expect(page.locator("#draft-notice")).to_contain_text("kept in this browser only")
    context.set_offline(False)
    expect(page.locator("#connection")).to_be_hidden()
    expect(page.locator("#draft-notice")).to_be_hidden()  # saved automatically
    page.keyboard.press("Control+Enter")
    expect(replies(page)).to_have_count(2)
    expect(page.locator(".message-event")).to_have_count(2)

    context.clear_cookies(name="sessionid")
    message(page).press_sequentially("In mid-sente")
    logged_out = page.get_by_text("You are logged out")
    expect(logged_out).to_have_count(1)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Your text is kept")
    expect(logged_out).to_have_count(1)
    expect(message(page)).to_have_value("In mid-sente")
    log_in(context, "/sessions/").close()
    page.reload()
    expect(message(page)).to_have_value("In mid-sente")
    talk(page, "In mid-sentence")
    expect(page.locator(".message-event").last).to_contain_text("In mid-sentence")

    page.route_web_socket(re.compile("/ws/sessions/"), lambda socket: socket.close(code=4404))
    page.reload()
    expect(page.locator("#connection")).to_contain_text("belongs to another tutor")
    context.set_offline(True)
    page.wait_for_function("!navigator.onLine")
    expect(page.locator("#connection")).to_contain_text("belongs to another tutor")
