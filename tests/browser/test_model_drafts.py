"""Model drafts on the session page: requested, put into the field and edited by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.workspace import ask_for_code, message, replies, start_session
from tests.stack import Stack

pytestmark = pytest.mark.browser


def test_a_draft_is_put_into_the_field_by_keyboard_edited_and_sent(open_page: OpenPage, site: Stack) -> None:
    settings = ("model_drafts=2", "draft_model=simulated-tutor:honest")
    site.change_rows(
        "freeze_protocol", "assisted", "--title=Assisted", *(f"--set={setting}" for setting in settings)
    )
    page = open_page("demo-tutor")
    start_session(page, "ferry-timetable", "Assisted")
    request = page.get_by_role("button", name="Request model draft")
    expect(request).to_be_disabled()
    ask_for_code(page)
    expect(request).to_be_enabled()
    message(page).fill("Think of the piers.")
    page.locator("#conversation").focus()
    page.keyboard.press("d")
    expect(request).to_be_focused()
    expect(page.get_by_text("2 of 2 model drafts left")).to_be_visible()
    page.keyboard.press("Enter")
    draft = page.locator(".draft-event")
    expect(draft).to_contain_text("not sent")
    expect(replies(page)).to_have_count(1)
    text = draft.locator(".draft-text").inner_text()
    assert_accessible(page)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_text("Another tab has this session open")).to_be_visible()
    expect(other.locator(".draft-event").get_by_role("button")).to_be_hidden()
    other.close()
    page.keyboard.press("d")
    expect(message(page)).to_have_value(f"Think of the piers.\n\n{text}")
    expect(message(page)).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".message-event").last).to_contain_text("edited model draft")
    expect(draft.get_by_role("button")).to_be_hidden()
