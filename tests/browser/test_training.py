"""The training in a browser: labels by keyboard, the comparison, and the result in the list of admins."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.test_layout import assert_readable

pytestmark = pytest.mark.browser


def test_training_shows_where_labels_differ_from_the_codebook(open_page: OpenPage) -> None:
    page = open_page("demo-admin", viewport={"width": 360, "height": 800})
    page.goto("/training/")
    assert_readable(page)
    assert_accessible(page)
    for number in range(1, 11):
        page.get_by_role("group", name=f"Clauses of message {number}", exact=True).get_by_label("A2").focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Submit labels").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Training result: 1 of 10 correct")
    expect(page.get_by_role("listitem", name="Message 2").first).to_contain_text("Codebook labels: F3")
    for address in (page.url, "/training/results/"):
        page.goto(address)
        for scheme, width in (("dark", 360), ("light", 1400)):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.set_viewport_size({"width": width, "height": 800})
            assert_readable(page)
        assert_accessible(page)
    expect(page.get_by_role("row").filter(has_text=re.compile("demo-admin")).first).to_contain_text("1 of 10")
