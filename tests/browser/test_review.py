"""Reviewing in a browser: twenty messages by keyboard, and readable pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.test_layout import assert_readable
from tests.stack import Stack

pytestmark = pytest.mark.browser

MESSAGES = 20
PAGES = (
    "/trajectories/",
    "/review/",
    "/review/agreement/",
    "/review/solve-rates/",
    "/review/detectors/",
    "/review/detectors/messages/?detector=all+detectors&clause=F2&outcome=missed",
    "/review/sessions/?settled=settled",
)
NAME_THE_PROBLEM = """
from benchmark.models import Problem
from tutoring.models import Session
problem = Problem.objects.get(dataset__name="practice", external_id="choir-photograph")
Session.objects.filter(invalidated=False, origin="imported").update(problem=problem)
"""
LONG_NAME = "_".join(["long"] * 16)
# Browsers before 2025 ignore the attribute `commandfor`; only scripts dispatch the event `command` in them.
WITHOUT_COMMANDS = """
delete HTMLButtonElement.prototype.commandForElement;
addEventListener("command", (event) => {
  if (!event.isTrusted) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });
"""
# Return how many texts of drafts this browser stores more than once.
REPEATED_COPIES = """() => Object.values(localStorage)
  .map((copy) => JSON.parse(copy).unanswered ?? [])
  .reduce((repeated, texts) => repeated + texts.length - new Set(texts).size, 0)"""
HINT = "Look 🐄 at the sample. Does your loop end? Think of a heap."


@pytest.fixture(scope="module")
def recorded(site: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Import four sessions of twenty messages and invalidate all others, so that only these can be reviewed."""
    turns = []
    for number in range(MESSAGES):
        turns.append({"role": "user", "content": f"{HINT} ({number})"})
        turns.append({"role": "assistant", "content": "So:\n\n```python\nprint(1)\n```\n"})
    folder = tmp_path_factory.mktemp("recorded")
    for _ in range(4):
        turns[0]["content"] = f"{HINT} {uuid4()}"
        (folder / f"silver_precutoff_{LONG_NAME}_{uuid4().hex[:6]}_correct1.json").write_text(
            json.dumps(turns)
        )
    site.change_rows(
        "shell",
        "-c",
        "from django.core.management import call_command\n"
        "from tutoring.models import Session\n"
        "Session.objects.update(invalidated=True)\n"
        f"call_command('import_trajectories', {str(folder)!r})\n",
    )
    return folder


def keys(page: Page, *pressed: str) -> None:
    for key in pressed:
        page.keyboard.press(key)


def next_session(page: Page, button: str = "Review next session") -> None:
    page.goto("/review/")
    page.get_by_role("button", name=button).focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/review/reviews/.+/"))
    expect(page.locator("form.live .labelled.current")).to_have_count(1)


def skip(page: Page) -> None:
    page.get_by_role("button", name="Skip…").click()
    page.get_by_label("Reason", exact=True).fill("Only a try.")
    page.get_by_role("button", name="Skip", exact=True).click()
    page.wait_for_url("**/review/?origin=people")


def label_all(page: Page, worst_clause: str) -> None:
    """Label all messages by keyboard; quote the second sentence of the second message for a forbidden clause."""
    current = page.locator(".labelled.current")
    keys(page, "r", "x", "f")
    keys(page, "j", "l", "l", worst_clause, "c", "s", "W")
    expect(current.locator(".quotes li")).to_have_text(re.compile("“Does your loop end\\?”"))
    expect(current.locator("mark")).to_have_text("Does your loop end?")
    for _ in range(MESSAGES - 2):
        keys(page, "n", "y", "z")
    expect(page.locator("#labelled-count")).to_have_text(f"{MESSAGES} of {MESSAGES} messages labelled")
    keys(page, "n", "2")
    expect(page.get_by_label("Minor breach")).to_be_focused()
    keys(page, "C")
    page.keyboard.type("It points at the loop.")
    keys(page, "Escape")


def test_twenty_messages_are_labelled_without_the_mouse(open_page: OpenPage, recorded: Path) -> None:
    page = open_page("demo-reviewer")
    next_session(page)
    address = page.url
    label_all(page, "2")
    page.reload()
    expect(page.locator("#labelled-count")).to_have_text(f"{MESSAGES} of {MESSAGES} messages labelled")
    expect(page.locator("#event-3 .quotes li")).to_contain_text("Does your loop end?")
    keys(page, "V", "2")  # the key of a choice takes it back, but a review must have a verdict
    expect(page.get_by_label("Minor breach")).to_be_checked()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("It points at the loop.")

    assert_accessible(page)
    keys(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("next unlabelled message")
    assert_accessible(page)
    keys(page, "Escape", "Control+Enter")
    expect(page.get_by_role("dialog")).to_contain_text("You cannot change it afterwards")
    keys(page, "Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    keys(page, "Control+Enter")
    page.get_by_role("dialog").get_by_role("radio").first.press("Enter")
    expect(page.get_by_role("heading", name="Your review")).to_be_visible()
    assert page.url == address
    expect(page.locator("#event-3 mark")).to_have_text("Does your loop end?")
    assert_readable(page)
    assert_accessible(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert_readable(page)  # the heading is a long name of a file


def test_missing_worst_message_is_reported_before_the_confirmation(
    open_page: OpenPage, recorded: Path
) -> None:
    page = open_page("demo-reviewer")
    page.add_init_script(WITHOUT_COMMANDS)
    next_session(page)
    keys(page, "y", "z", "j", "2", "b", "j")
    page.get_by_label("Minor breach").check()
    page.get_by_role("button", name="Submit…").click()
    expect(page.get_by_role("alert")).to_have_text("Choose the worst message: one with a forbidden clause.")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#event-3").get_by_label("The verdict is based")).to_be_focused()
    keys(page, "W", "Control+Enter")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("dialog")).to_contain_text("You cannot change it afterwards")
    keys(page, "Escape", "2", "1", "Control+Enter")  # another forbidden clause of the same message
    expect(page.get_by_role("dialog")).to_contain_text("You cannot change it afterwards")
    keys(page, "Escape")
    page.get_by_label("Compliant").check()
    keys(page, "Control+Enter")
    expect(page.get_by_role("dialog")).to_contain_text("You cannot change it afterwards")
    keys(page, "Escape")
    skip(page)


def test_problem_scrolls_beside_the_dialogue_and_is_one_press_away_on_narrow_pages(
    open_page: OpenPage, recorded: Path, site: Stack
) -> None:
    site.change_rows("shell", "-v", "0", "-c", NAME_THE_PROBLEM)
    page = open_page("demo-reviewer")
    next_session(page)
    problem, dialogue = page.locator("#problem"), page.locator("#dialogue")
    expect(problem).to_contain_text("Verdicts (F5)")
    statement = page.get_by_role("tabpanel", name="Statement")
    expect(statement).to_be_in_viewport()
    scrolled = dialogue.evaluate("pane => pane.scrollTop = 700")
    problem.evaluate("pane => pane.scrollTop = 300")
    assert (dialogue.evaluate("pane => pane.scrollTop"), problem.evaluate("pane => pane.scrollTop")) == (
        scrolled,
        300,
    )
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    keys(page, "P")
    expect(page.get_by_role("tab", name="Statement")).to_be_focused()
    keys(page, "ArrowRight")
    expect(page.get_by_role("tabpanel", name="Analysis")).to_contain_text("hidden from the model")
    divider = page.get_by_role("separator", name="Width of the problem")
    expect(divider).to_have_attribute("aria-valuenow", "36")
    divider.press("ArrowRight")
    page.reload()
    expect(divider).to_have_attribute("aria-valuenow", "38")
    for width, height in ((1280, 800), (900, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert_readable(page)
        assert_accessible(page)
    expect(problem).to_be_hidden()
    page.get_by_role("button", name="Problem", exact=True).click()
    expect(page.get_by_role("tab", name="Analysis")).to_be_in_viewport()
    expect(dialogue).to_be_hidden()
    assert_readable(page)
    assert_accessible(page)
    keys(page, "n")
    expect(page.locator(".labelled.current")).to_be_in_viewport()
    expect(problem).to_be_hidden()
    skip(page)


def test_gaps_are_named_and_found(open_page: OpenPage, recorded: Path) -> None:
    page = open_page("demo-reviewer")
    next_session(page)
    keys(page, "y", "z", "j")
    top = "item => item.getBoundingClientRect().top - item.closest('#dialogue').getBoundingClientRect().top"
    assert 0 <= page.locator(".labelled.current").evaluate(top) < 40, "the next message is there at once"
    page.locator("#dialogue").evaluate(
        "pane => pane.scrollTo({ top: pane.scrollHeight, behavior: 'instant' })"
    )
    keys(page, "y")
    neutral = page.locator(".labelled.current").get_by_label("A6 Neutral")
    expect(neutral).to_be_in_viewport()  # nothing is labelled unseen
    keys(page, "Control+Enter", "Enter")
    expect(page.get_by_role("alert")).to_contain_text("Message 3 has no level yet.")
    expect(page.locator("#event-3")).to_be_focused()
    keys(page, "y", "y")  # cleared and chosen again
    expect(page.locator("#event-3").get_by_label("A6 Neutral")).to_be_checked()
    skip(page)


def test_dispute_is_settled_by_keyboard_and_its_pages_are_readable(
    open_page: OpenPage, recorded: Path
) -> None:
    second = open_page("demo-admin")
    next_session(second)
    label_all(second, "3")
    keys(second, "Control+Enter", "Enter")
    expect(second.get_by_role("heading", name="Your review")).to_be_visible()

    page = open_page("demo-adjudicator", viewport={"width": 360, "height": 800})
    next_session(page, "Adjudicate next session")
    expect(page.locator("#event-3 .opinions.differing")).to_contain_text("F2")
    expect(page.locator("#event-3 .opinions.differing")).to_contain_text("F3")
    expect(page.locator("#labelled-count")).to_have_text(f"{MESSAGES - 1} of {MESSAGES} messages labelled")
    assert_readable(page)
    assert_accessible(page)
    keys(page, "2", "V", "2")
    expect(page.get_by_label("Minor breach")).to_be_checked()
    expect(
        page.locator("#event-3").get_by_label("The verdict is based")
    ).to_be_checked()  # both reviews agree
    keys(page, "C")
    page.keyboard.type("A loop is code.")
    keys(page, "Escape", "Control+Enter")
    expect(page.get_by_role("alert")).to_have_text(re.compile("Message 3 needs a reason for each clause"))
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_label("Reason for F2 (the reviews differ)").first).to_be_focused()
    page.keyboard.type("It quotes the loop.")
    expect(page.locator("#reason-5-F2")).to_be_hidden()
    keys(page, "Escape", "R")
    expect(page.get_by_label("Reason for F3 (the reviews differ)").first).to_be_focused()
    page.keyboard.type("It explains nothing.")
    keys(page, "Escape")
    expect(page.locator("#labelled-count")).to_have_text(f"{MESSAGES} of {MESSAGES} messages labelled")
    assert_readable(page)
    keys(page, "Control+Enter", "Enter")
    expect(page.get_by_role("heading", name="Your adjudication")).to_be_visible()
    expect(page.locator("#event-3")).to_contain_text("Reason for F2: It quotes the loop.")
    expect(page.locator("#event-3")).to_contain_text("Reason against F3: It explains nothing.")
    for address in PAGES:
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 360, "height": 800})
        page.goto(address)
        assert_readable(page)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1400, "height": 800})
        assert_readable(page)
        assert_accessible(page)
    page.get_by_role("row").get_by_role("link", name="minor breach").click()
    expect(page.get_by_role("heading", name="Adjudication")).to_be_visible()
    assert_readable(page)
    assert_accessible(page)
    second.set_viewport_size({"width": 360, "height": 800})
    second.goto(page.url.replace("/review/sessions/", "/trajectories/").split("?")[0])
    second.get_by_role("button", name="Invalidate…").click()
    expect(second.get_by_role("dialog")).to_contain_text("This cannot be undone")
    box = second.get_by_role("dialog").bounding_box()
    assert box
    assert abs(box["y"] + box["height"] / 2 - 400) < 2, "the dialog is in the middle of the window"
    assert_readable(second)
    assert_accessible(second)
    for address in ("/review/", "/review/audit/", "/review/assignments/"):
        second.goto(address)
        assert_readable(second)
        assert_accessible(second)


def test_draft_outlives_a_lost_connection_and_a_refusal(open_page: OpenPage, recorded: Path) -> None:
    page = open_page("demo-admin", failures_expected=True)
    page.clock.install()
    next_session(page)
    saves: list[Route] = []

    def lose(route: Route) -> None:
        saves.append(route)
        route.abort()

    def refuse(route: Route) -> None:
        saves.append(route)
        route.fulfill(status=409, json={"accepted": False, "message": "This review is skipped."})

    page.route("**/draft/", lose)
    keys(page, "q", "c", "N")
    page.keyboard.type("Names a heap.")
    state = page.locator("#draft-state")
    for _ in range(20):
        page.clock.run_for(1000)
    assert len(saves) > 3, "each save has three attempts"
    expect(state).to_contain_text("Not saved on the server. The server does not respond.")
    assert page.evaluate(REPEATED_COPIES) == 0
    page.reload()
    expect(page.locator(".labelled").first.get_by_label("Note")).to_have_value("Names a heap.")
    expect(page.locator(".labelled").first.get_by_label("A1 Names")).to_be_checked()

    page.unroute("**/draft/")
    page.route("**/draft/", refuse)
    saves.clear()
    for _ in range(20):
        page.clock.run_for(1000)
    expect(state).to_have_text("Not saved on the server. This review is skipped.")
    assert len(saves) == 1, "a refused draft is not saved again"
    page.unroute("**/draft/")
    page.get_by_role("button", name="Save").click()
    expect(state).to_have_text("Saved")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_unsaved_labels_do_not_overwrite_newer_ones_of_another_device(
    open_page: OpenPage, recorded: Path
) -> None:
    def note_on(page: Page) -> Locator:
        page.goto("/review/")
        page.get_by_role("region", name="In progress").get_by_role("link").click()
        expect(page.locator("form.live .labelled.current")).to_have_count(1)
        return page.locator(".labelled").first.get_by_label("Note")

    page, elsewhere = open_page("demo-admin"), open_page("demo-admin")
    note = note_on(page)  # of the review of the previous test
    page.locator(".labelled").first.focus()
    keys(page, "l", "w")
    note.fill("Mine")
    page.goto("/review/")  # sends the labels and does not read the answer
    page.wait_for_load_state("networkidle")
    expect(note_on(elsewhere)).to_have_value("Mine")
    elsewhere.locator(".labelled").first.get_by_label("Note").fill("Theirs")
    expect(elsewhere.locator("#draft-state")).to_have_text("Saved")

    note, other = note_on(page), page.locator("#other-review")
    expect(note).to_have_value("Mine")
    expect(other).to_be_visible()
    assert_accessible(page)
    other.get_by_role("button", name="Swap the versions").click()
    expect(note).to_have_value("Theirs")
    other.get_by_role("button", name="Swap the versions").click()
    expect(note).to_have_value("Mine")
    other.get_by_role("button", name="Discard the other version").click()
    expect(other).to_be_hidden()
    expect(page.locator("#draft-state")).to_have_text("Saved")
    expect(note_on(elsewhere)).to_have_value("Mine")
    expect(elsewhere.locator("#other-review")).to_be_hidden()


def test_two_tabs_with_one_review_stay_in_step(open_page: OpenPage, recorded: Path) -> None:
    page = open_page("demo-admin")
    page.goto("/review/")
    page.get_by_role("region", name="In progress").get_by_role(
        "link"
    ).click()  # the review of the previous test
    expect(page.locator("form.live .labelled.current")).to_have_count(1)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("form.live .labelled.current")).to_have_count(1)
    first = page.locator(".labelled").first
    first.focus()
    keys(page, "l", "3", "N", "Control+A")  # the note of the previous test may be there
    page.keyboard.type("Explains it.")
    expect(other.locator(".labelled").first.get_by_label("Note")).to_have_value("Explains it.")
    expect(other.locator(".labelled").first.get_by_label("F3 Explains")).to_be_checked()
    expect(other.locator(".labelled mark").first).to_have_text("Look 🐄 at the sample.")
    other.locator(".labelled").first.focus()
    keys(other, "b")
    expect(first.get_by_label("4 Answer")).to_be_checked()


def test_matching_sessions_are_assigned_after_a_confirmation(open_page: OpenPage, recorded: Path) -> None:
    page = open_page("demo-admin")
    page.goto("/review/")
    page.get_by_role("link", name="Assign many sessions by filter").click()
    page.get_by_label("State").select_option("Needs a review")
    for box in page.get_by_role("group", name="Reviewers").get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Show plan").click()
    assign = page.get_by_role("button", name=re.compile(r"Assign \d+ reviews?…"))
    expect(assign).to_be_visible()  # the page with the plan is loaded
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert_readable(page)
        assert_accessible(page)
    count = re.findall(r"\d+", assign.inner_text())[0]
    assign.click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Assign {count} review")
    assert_readable(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(assign).to_be_focused()
    assign.click()
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text(f"Assigned: {count} review")
