"""What a tutor arranges: theme, divider, narrow panes, private notes, programs compared, line numbers, footnotes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.test_layout import assert_readable
from tests.browser.workspace import ask_for_code, message, replies, start_session, talk

pytestmark = pytest.mark.browser

LIGHT, DARK = "rgb(247, 247, 244)", "rgb(21, 23, 26)"


def paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_theme_is_remembered_and_applied_before_the_first_paint(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", color_scheme="light")
    page.goto("/problems/")
    assert paper(page) == LIGHT
    page.get_by_label("Theme").select_option("Dark")
    assert paper(page) == DARK
    # The style at the time at which the body begins, before any deferred script.
    page.add_init_script("""new MutationObserver((_, observer) => {
        if (!document.body) return;
        window.themeAtFirst = document.documentElement.dataset.theme;
        observer.disconnect();
    }).observe(document, { childList: true, subtree: true });""")
    page.goto("/sessions/")
    assert page.evaluate("themeAtFirst") == "dark"
    assert paper(page) == DARK
    assert_readable(page)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.emulate_media(media="screen", color_scheme="dark")
    page.get_by_label("Theme").select_option("Light")
    assert paper(page) == LIGHT
    page.get_by_label("Theme").select_option("System")
    assert paper(page) == DARK
    page.emulate_media(color_scheme="light")
    assert paper(page) == LIGHT


def test_rows_of_lists_have_one_line_and_are_sorted_by_their_headings(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    page.goto("/problems/")
    rows = page.locator("tbody tr")
    title = "A title of an olympiad that is much longer than any of the practice problems has, so that it must be cut"
    page.locator(".row-link").first.evaluate("(link, title) => (link.textContent = title)", title)
    for width in (1280, 900):
        page.set_viewport_size({"width": width, "height": 800})
        heights = rows.evaluate_all("rows => rows.map((row) => row.offsetHeight)")
        assert max(heights) < 50, heights
        cell = page.locator("tbody th").first.bounding_box()
        assert cell is not None
        assert cell["width"] > 150
        assert_readable(page)
    page.get_by_role("link", name="Tests").press("Enter")
    expect(page.get_by_role("columnheader", name="Tests")).to_have_attribute("aria-sort", "ascending")
    numbers = [int(text) for text in page.locator("tbody td:nth-of-type(5)").all_inner_texts()]
    assert numbers == sorted(numbers)
    page.get_by_role("searchbox").fill("tram")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("columnheader", name="Tests")).to_have_attribute("aria-sort", "ascending")
    assert_accessible(page)


def test_filters_and_counts_of_problems_agree_with_the_address(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    page.goto("/problems/")
    tiers = page.get_by_role("group", name="Tier").get_by_role("radio")
    counts = page.locator(".filters .count")
    of_all = counts.all_inner_texts()
    tiers.first.press("ArrowDown")
    expect(page).to_have_url(re.compile("tier=[a-z]+"))
    expect(tiers.nth(1)).to_be_focused()
    expect(page.locator("#found")).to_contain_text(" of ")
    of_tier = counts.all_inner_texts()
    page.go_back()
    expect(tiers.first).to_be_checked()
    assert counts.all_inner_texts() == of_all
    page.go_forward()
    expect(tiers.nth(1)).to_be_checked()
    assert counts.all_inner_texts() == of_tier
    page.goto(page.url)
    assert counts.all_inner_texts() == of_tier


def test_divider_is_dragged_moved_by_keys_and_remembered(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "ferry-timetable")
    divider = page.get_by_role("separator", name="Width of the problem")
    side = page.get_by_role("region", name="Problem", exact=True)

    def share() -> float:
        box = side.bounding_box()
        assert box is not None
        return round(box["width"] / 1280, 2)

    assert share() == 0.5
    box = divider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, 400)
    page.mouse.down()
    page.mouse.move(0.4 * 1280, 420, steps=4)
    page.mouse.up()
    assert share() == 0.4
    divider.focus()
    page.keyboard.press("ArrowRight")
    assert share() == 0.42
    assert divider.get_attribute("aria-valuenow") == "42"
    page.reload()
    assert share() == 0.42
    divider.press("Home")
    assert share() == 0.25
    assert_readable(page)
    divider.press("End")
    assert share() == 0.75
    assert_readable(page)
    divider.dblclick()
    assert share() == 0.5
    assert_accessible(page)


def test_narrow_page_begins_with_conversation_and_composer(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", viewport={"width": 390, "height": 844})
    start_session(page, "choir-photograph")
    ask_for_code(page)
    for width, height in ((390, 844), (640, 400), (900, 800)):  # a phone, 1280 × 800 at 200 %, a small window
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        expect(message(page)).to_be_in_viewport()
        expect(replies(page)).to_be_in_viewport()
        expect(page.get_by_role("button", name="Ask for code")).to_be_in_viewport()
        statement = page.get_by_role("tab", name="Statement")
        expect(statement).to_be_hidden()
        assert_readable(page)
        page.get_by_role("button", name="Problem", exact=True).click()
        expect(statement).to_be_in_viewport()
        expect(message(page)).to_be_hidden()
        assert_readable(page)
        assert_accessible(page)
        page.keyboard.press("m")
        expect(message(page)).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("p")
        expect(page.get_by_role("tab", name="Program")).to_be_focused()
        page.get_by_role("button", name="Conversation", exact=True).click()
        expect(message(page)).to_be_in_viewport()


def test_notes_are_saved_while_typing_and_shown_on_both_pages(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "seed-bank")
    message(page).fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    note = page.get_by_label("Private notes on this problem")
    expect(note).to_be_focused()
    state = page.locator("#note-state")
    note.fill("行" * 8000)  # too long for a request that outlives its page
    expect(state).to_have_text("Saved.")
    note.fill("Off by one in the last row.")
    expect(state).to_have_text("Saved.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".message-event")).to_have_count(0)
    assert_readable(page)
    assert_accessible(page)
    page.goto("/problems/practice/seed-bank/")
    page.get_by_role("tab", name="Notes").click()
    expect(note).to_have_value("Off by one in the last row.")
    note.fill("")
    expect(state).to_have_text("Saved.")


def test_unsaved_note_does_not_overwrite_a_newer_one_of_another_device(open_page: OpenPage) -> None:
    address = "/problems/practice/seed-bank/"
    page, elsewhere = open_page("demo-tutor"), open_page("demo-tutor")

    def note_on(shown: Page) -> Locator:
        shown.goto(address)
        shown.get_by_role("tab", name="Notes").click()
        return shown.get_by_label("Private notes on this problem")

    note_on(page).fill("Mine")
    page.goto("/problems/")  # sends the note and does not read the answer
    page.wait_for_load_state("networkidle")
    expect(note_on(elsewhere)).to_have_value("Mine")
    note_on(elsewhere).fill("Theirs")
    expect(elsewhere.locator("#note-state")).to_have_text("Saved.")

    note, other = note_on(page), page.locator("#other-note")
    expect(note).to_have_value("Mine")
    expect(other).to_contain_text("Theirs")
    assert_accessible(page)
    page.reload()
    expect(other).to_contain_text("Theirs")
    page.get_by_role("tab", name="Notes").click()
    other.get_by_role("button", name="Swap the notes").click()
    expect(note).to_have_value("Theirs")
    expect(other).to_contain_text("Mine")
    other.get_by_role("button", name="Discard this note").click()
    expect(page.locator("#note-state")).to_have_text("Saved.")
    expect(note_on(page)).to_have_value("Theirs")
    expect(other).to_be_hidden()


def test_note_of_another_account_stays_in_its_account(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", failures_expected=True)
    page.route("**/notes/*/", lambda route: route.abort())
    page.goto("/problems/practice/seed-bank/")
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("Private notes on this problem").fill("Only for me")
    copies = page.evaluate("Object.entries(localStorage)")
    assert "Only for me" in str(copies)
    other = open_page("demo-admin")
    other.goto("/problems/")
    other.evaluate("(copies) => copies.forEach(([key, copy]) => localStorage.setItem(key, copy))", copies)
    other.goto("/problems/practice/seed-bank/")
    other.get_by_role("tab", name="Notes").click()
    expect(other.get_by_label("Private notes on this problem")).to_have_value("")


def test_programs_have_line_numbers_and_any_two_are_compared(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", permissions=["clipboard-read", "clipboard-write"])
    start_session(page, "returns-trolley")
    for hint in ("", "Look again.", "And again."):
        ask_for_code(page, hint)
    numbers = replies(page).first.locator(".line-numbers").first
    program = replies(page).first.locator("figure.code pre").first
    lines = program.inner_text().rstrip("\n").split("\n")
    assert numbers.inner_text().split("\n") == [str(number) for number in range(1, len(lines) + 1)]
    # One call measures both, because the conversation may still be scrolling.
    numbered, written = program.evaluate(
        """(program) => [program.closest("figure").querySelector(".line-numbers"), program].map((box) => {
            const { top, height } = box.getBoundingClientRect();
            return [top, height];
        })"""
    )
    assert numbered == written
    page.get_by_role("tab", name="Program").click()
    page.get_by_label("Compare", exact=True).select_option("generation 1")
    page.get_by_label("with", exact=True).select_option("generation 2")
    page.get_by_role("button", name="Show differences").click()
    expect(page.locator("#comparison figure.diff, #comparison .note")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/sessions/[0-9a-f-]+/$"))
    assert_readable(page)
    assert_accessible(page)


def test_footnotes_and_clock_times(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", timezone_id="Asia/Kolkata")
    start_session(page, "last-rolls")
    filler = "\n\n".join(f"Line {number}." for number in range(40))
    talk(page, f"See the note.[^a]\n\n{filler}\n\n[^a]: It is **here**.")
    sent = page.locator(".message-event").last
    sent.get_by_role("link", name="[1]").click()
    expect(sent.get_by_text("It is here.")).to_be_in_viewport()
    sent.get_by_role("link", name="↩").click()
    expect(sent.get_by_text("See the note.")).to_be_in_viewport()
    clock = sent.locator("time[data-clock]")
    local = page.evaluate(
        """(time) => new Date(time).toLocaleTimeString([], {
        hour: "2-digit", minute: "2-digit", hourCycle: "h23" })""",
        clock.get_attribute("datetime"),
    )
    expect(clock).to_have_text(local)
    expect(page.locator("#elapsed")).to_have_text(re.compile(r"\d+ min"))
