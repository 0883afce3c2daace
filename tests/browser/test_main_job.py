"""The main workflow in a browser: a tutor guides a model to a verdict, a reviewer reads the trajectory."""

from __future__ import annotations

import json
import re
import time

import pytest
from playwright.sync_api import Response, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.workspace import (
    ask_for_code,
    close_session,
    consent_if_asked,
    execute,
    message,
    replies,
    start_session,
    talk,
)
from tests.stack import HANG

pytestmark = pytest.mark.browser

HINT = "Which balanced pictures are there in sample 1? Please name the first singer of each."


def test_tutor_guides_the_student_to_a_solution_and_a_reviewer_exports_how(open_page: OpenPage) -> None:
    tutor = open_page("demo-tutor")
    tutor.goto("/")
    tutor.get_by_role("radio", name=re.compile("^Gold")).check()
    expect(tutor.get_by_role("status").filter(has_text=re.compile("^[1-7] of 8 problems"))).to_be_visible()
    tutor.get_by_role("group", name="Tier").get_by_label("All").check()
    expect(tutor.get_by_role("status").filter(has_text=re.compile("^8 problems"))).to_be_visible()
    tutor.get_by_role("searchbox").fill("choir")
    expect(tutor.get_by_role("status").filter(has_text="1 of 8 problems")).to_be_visible()
    searches: list[str] = []
    tutor.on(
        "request", lambda request: searches.append(request.url) if request.resource_type == "xhr" else None
    )
    tutor.get_by_role("searchbox").blur()
    tutor.get_by_role("link", name="The Choir Photograph", exact=True).click()
    expect(tutor.get_by_role("heading", level=1)).to_have_text("The Choir Photograph")
    assert searches == [], "leaving the field must not replace the links during a click"
    tutor.get_by_role("tab", name="Solutions").click()
    expect(tutor.get_by_role("tabpanel", name="Solutions").locator("pre").first).to_be_visible()
    tutor.get_by_role("button", name="Start a session").click()
    consent_if_asked(tutor)

    expect(tutor.locator("#budget")).to_contain_text("5 of 5 left")
    expect(tutor.get_by_role("button", name="Submit for judging…")).to_be_disabled()
    expect(tutor.get_by_text("scripted practice student", exact=True)).to_be_visible()

    ask_for_code(tutor)
    expect(replies(tutor).first).to_contain_text("We count the contiguous groups")
    expect(replies(tutor).first).to_contain_text("generation 1")
    expect(tutor.locator("#budget")).to_contain_text("4 of 5 left")

    talk(tutor, HINT)
    expect(replies(tutor).last).not_to_contain_text("generation")
    ask_for_code(tutor, "Yes, please.")
    tutor.get_by_role("tab", name="Program").click()
    expect(tutor.get_by_role("tabpanel", name="Program")).to_contain_text("The program of generation 2 of 5")
    expect(tutor.get_by_role("tabpanel", name="Program").locator(".highlight span").first).to_be_visible()
    expect(tutor.locator("#budget")).to_contain_text("3 of 5 left")

    execute(tutor)
    expect(tutor.locator(".verdict")).to_have_text("AC")
    expect(tutor.locator("#composer-state")).to_contain_text("This session is closed. solved")
    expect(message(tutor)).to_be_hidden()
    tutor.reload()
    expect(tutor.locator(".verdict")).to_have_text("AC")
    expect(message(tutor)).to_be_hidden()
    shown = [
        int(seq) for seq in tutor.locator("#events > li").evaluate_all("all => all.map(i => i.dataset.seq)")
    ]
    assert shown == sorted(set(shown))

    reviewer = open_page("demo-reviewer")
    reviewer.goto("/")
    reviewer.get_by_label("Problem or file").fill("choir")
    reviewer.get_by_role("button", name="Filter").click()
    session = tutor.url.rstrip("/").rpartition("/")[2]  # other tests have sessions on the problem too
    reviewer.locator(f"a[href='/trajectories/{session}/']").click()
    events = reviewer.get_by_role("list", name="Events").locator("> li")
    expect(events.first).to_contain_text("Opened")
    expect(events.nth(1)).to_contain_text("asked for code")
    expect(reviewer.locator(".entry.reply")).to_have_count(3)
    expect(reviewer.get_by_text(HINT).first).to_be_visible()
    tests = reviewer.get_by_role("group", name="Verdict by test").locator("tbody tr")
    assert tests.count() > 2
    expect(tests.first).to_contain_text("AC")
    with reviewer.expect_download() as download:
        reviewer.get_by_role("link", name=re.compile("^Export")).click()
    record = json.loads(download.value.path().read_text())
    assert record["outcome"] == "solved"
    assert len(record["events"]) == events.count()
    assert any(event["data"].get("text") == HINT for event in record["events"])


def test_a_whole_session_works_with_the_keyboard(open_page: OpenPage) -> None:
    page = open_page("demo-admin")
    page.goto("/problems/?text=rolls")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("searchbox")).to_be_focused()
    press_until_focused(page, "Tab", "The Last Rolls")
    page.keyboard.press("Enter")
    page.wait_for_url("**/last-rolls/")
    press_until_focused(page, "Tab", "Statement")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Analysis")).to_have_attribute("aria-selected", "true")
    press_until_focused(page, "Tab", "Start a session")
    page.keyboard.press("Enter")
    agree = page.get_by_role("button", name="I agree")
    expect(agree.or_(page.locator("main.workspace"))).to_be_visible()
    if agree.count():  # the admin's first session
        press_until_focused(page, "Tab", "I agree: start the session")
        page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/sessions/[0-9a-f-]{36}/"))

    message(page).focus()
    page.keyboard.type("Please think about the shelves first.")
    page.keyboard.press("Control+Enter")
    expect(replies(page)).to_have_count(1)
    expect(message(page)).to_have_value("")
    expect(message(page)).to_be_focused()
    expect(page.get_by_role("button", name="Ask for code")).to_be_enabled()
    page.keyboard.press("Control+Shift+Enter")  # empty: refused, without cost
    expect(page.get_by_role("alert")).to_contain_text("The message is empty")
    page.keyboard.type("Now write it down.")
    page.keyboard.press("Control+Shift+Enter")
    expect(replies(page)).to_have_count(2)

    expect(page.get_by_role("button", name="Submit for judging…")).to_be_enabled()
    press_until_focused(page, "Tab", "Submit for judging…")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("This cannot be undone")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("button", name="Submit for judging…")).to_be_focused()
    page.keyboard.press("Enter")
    press_until_focused(page, "Tab", "Submit and end the session")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_have_text("AC")


def press_until_focused(page, key: str, text: str, at_most: int = 40) -> None:
    """Press a key until the text of the focused element is `text`."""
    for _ in range(at_most):
        page.keyboard.press(key)
        if page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    pytest.fail(f"{text!r} cannot be reached with {key}")


def test_session_can_be_held_without_javascript(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", java_script_enabled=False)
    start_session(page, "last-rolls")
    page.get_by_role("button", name="Ask for code").click()
    end = time.monotonic() + HANG
    while not replies(page).count() and time.monotonic() < end:
        page.reload()
    expect(replies(page)).to_contain_text("generation 1")
    expect(page.locator("#budget")).to_contain_text("4 of 5 left")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("The message is empty")).to_be_visible()
    close_session(page, "Only a try.")
    expect(page.locator("#composer-state")).to_contain_text("This session is closed. abandoned")


def test_nothing_typed_is_lost_by_reload_or_on_another_machine(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "hut-to-hut")
    message(page).press_sequentially("Half a tho")
    page.reload()  # before the draft is saved on the server
    expect(message(page)).to_have_value("Half a tho")

    def saves_the_whole(response: Response) -> bool:
        whole = "thought" in (response.request.post_data or "")
        return response.ok and whole and response.url.endswith("/draft/")

    with page.expect_response(saves_the_whole):
        message(page).press_sequentially("ught")
    elsewhere = open_page("demo-tutor")
    elsewhere.goto(page.url)
    expect(message(elsewhere)).to_have_value("Half a thought")

    with elsewhere.expect_response("**/draft/"):
        message(elsewhere).fill("Another thought")
    message(page).press_sequentially("s")
    other = page.locator("#other-draft")
    expect(other).to_contain_text("Another thought")
    expect(message(page)).to_have_value("Half a thoughts")
    assert_accessible(page)
    page.reload()
    expect(other).to_contain_text("Another thought")
    expect(message(page)).to_have_value("Half a thoughts")
    other.get_by_role("button", name="Swap").click()
    expect(message(page)).to_have_value("Another thought")
    expect(other).to_contain_text("Half a thoughts")
    with page.expect_response("**/draft/"):
        message(page).press_sequentially("s")
    with page.expect_response("**/draft/"):
        other.get_by_role("button", name="Swap").click()
    message(page).fill("Half a thought")
    other.get_by_role("button", name="Discard this draft").click()
    expect(other).to_be_hidden()

    page.route("**/send/", lambda route: route.abort())
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing is lost")
    expect(message(page)).to_have_value("Half a thought")
    page.unroute("**/send/")
    talk(page, "Half a thought")
    expect(message(page)).to_have_value("")
    page.reload()
    expect(message(page)).to_have_value("")
    expect(page.locator("#events .message-event")).to_have_count(1)


def test_draft_is_saved_again_after_the_server_could_not_store_it(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", failures_expected=True)
    page.clock.install()
    start_session(page, "hut-to-hut")
    full = {"accepted": False, "message": "The server cannot store data now."}
    page.route("**/draft/", lambda route: route.fulfill(status=503, json=full))
    message(page).fill("Half a thought")
    page.clock.run_for(2000)
    expect(page.locator("#draft-notice")).to_contain_text("kept in this browser only")
    page.unroute("**/draft/")
    with page.expect_response("**/draft/") as saved:
        page.clock.run_for(6000)
    assert saved.value.ok
    expect(page.locator("#draft-notice")).to_be_hidden()
