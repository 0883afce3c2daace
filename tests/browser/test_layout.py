"""Layout of all pages: on a phone, in both colour schemes, for screen readers, and printed."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.workspace import ask_for_code, close_session, message, replies, start_session

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
READERS_PAGES = [
    "/problems/",
    "/codebook/",
    "/glossary/",
    "/program-scores/",
    "/problems/practice/watering-round/",
    "/trajectories/",
    "/problems/?text=nothing+such",
]

# Return the visible texts with low contrast. Transparent layers are blended; colours and backgrounds are cached.
CONTRASTS = """() => {
  const pixel = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
    .getContext("2d", {willReadFrequently: true});
  const once = (compute, known = new Map()) => (key) => {
    if (!known.has(key)) known.set(key, compute(key));
    return known.get(key);
  };
  const channels = once((colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  });
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((c) => c / 255).map((c) =>
      c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const background = once((element) => {
    if (!element) return channels(getComputedStyle(document.body).backgroundColor);
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
  });
  const low = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.textContent.trim();
    const isRead = text && element.checkVisibility({visibilityProperty: true});
    if (!isRead || element.closest("button:disabled, script")) continue;
    const style = getComputedStyle(element);
    const behind = background(element);
    const [light, dark] = [luminance(over(channels(style.color), behind)), luminance(behind)].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < (large ? 3 : 4.5)) low.push(`${ratio.toFixed(2)} ${text.slice(0, 40)}`);
  }
  return low;
}"""

# Return layout problems: horizontal overflow, texts of low contrast, controls without a name, and main parts and first
# headings that do not occur exactly once.
LAYOUT_PROBLEMS = f"""() => {{
  const lowContrast = ({CONTRASTS})();
  const controls = "a, button, input:not([type=hidden]), select, textarea, img, dialog";
  const unnamed = [...document.querySelectorAll(controls)]
    .filter((element) => element.checkVisibility())
    .filter((element) => !(element.labels?.length || element.matches("img[alt]")
      || !element.matches("select, textarea") && element.textContent.trim()
      || element.getAttribute("aria-label") || element.getAttribute("aria-labelledby")))
    .map((element) => element.outerHTML);
  const {{ scrollWidth, clientWidth, lang }} = document.documentElement;
  return [
    ...(scrollWidth > clientWidth ? [`${{scrollWidth - clientWidth}} pixels too wide`] : []),
    ...lowContrast.map((text) => `low contrast: ${{text}}`),
    ...unnamed.map((element) => `no name: ${{element}}`),
    ...["main", "h1:not(.prose h1)"].filter((one) => document.querySelectorAll(one).length !== 1),
    ...(lang === "en" ? [] : [`language ${{lang}}`]),
    ...(/.+ · Hintbench$/.test(document.title) ? [] : [`title ${{document.title}}`]),
  ];
}}"""


def assert_readable(page: Page) -> None:
    """Assert that the page has no overflow, sufficient contrast, a title, one main part and one first heading, and that
    all controls have names.
    """
    assert page.evaluate(LAYOUT_PROBLEMS) == [], page.url


def assert_readable_everywhere(page: Page) -> None:
    """Assert that the page is readable in both colour schemes and widths, and accessible."""
    for scheme, width in product(SCHEMES, (360, 900, 1400)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert_readable(page)
    assert_accessible(page)


def test_controls_without_a_name_are_found(open_page: OpenPage) -> None:
    page = open_page("demo-researcher")
    page.goto("/glossary/")
    unnamed = [
        '<input type="text">', "<select><option>An option</option></select>", "<textarea>A text</textarea>",
        '<img src="data:,">', '<a href="/"></a>', "<button></button>",
    ]  # fmt: skip
    named = [
        '<label>A name <input type="text"></label>', '<select aria-label="A name"><option>An option</option></select>',
        '<img src="data:," alt="">', '<a href="/">A name</a>',
    ]  # fmt: skip
    page.locator("main").evaluate("(main, html) => (main.innerHTML += html)", "".join([*unnamed, *named]))
    found = [problem for problem in page.evaluate(LAYOUT_PROBLEMS) if problem.startswith("no name")]
    assert found == [f"no name: {element}" for element in unnamed]


def test_readers_pages_are_readable(open_page: OpenPage) -> None:
    page = open_page("demo-researcher")
    for address in READERS_PAGES:
        page.goto(address)
        for tab in [None, *page.get_by_role("tab").all()]:
            if tab is not None:
                tab.click()
            assert_readable_everywhere(page)


def test_account_pages_are_readable(open_page: OpenPage) -> None:
    page = open_page("demo-admin")
    for address in ("/accounts/", "/accounts/add/", "/accounts/log/", "/account/", "/status/"):
        page.goto(address)
        assert_readable_everywhere(page)
    page.goto("/accounts/?name=demo-reviewer")
    page.get_by_role("link", name="demo-reviewer").click()
    page.wait_for_url(re.compile(r"/accounts/\d+/$"))
    assert_readable_everywhere(page)
    page.goto("/accounts/add/")
    page.get_by_label("User name").fill("made-for-a-look")
    page.get_by_role("button", name="Add account").click()
    link = page.get_by_label("Set-password link").input_value()
    assert_readable_everywhere(page)
    page.context.clear_cookies()  # without ending the login, which other tests use
    page.goto("/login/")
    assert_readable_everywhere(page)
    page.goto(link)
    assert_readable_everywhere(page)


def test_long_names_of_models_do_not_widen_a_list(open_page: OpenPage) -> None:
    page = open_page("demo-admin")
    start_session(page, "seed-bank")
    page.goto("/trajectories/")
    page.locator("tbody td.identifier").first.evaluate(
        "(cell) => (cell.textContent = 'compatible:model_with_an_unbreakable_name')"
    )
    for width in (900, 1000, 1215, 1216, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert_readable(page)


def test_session_is_readable_and_usable_on_a_telephone_and_at_night(open_page: OpenPage) -> None:
    page = open_page("demo-admin", color_scheme="dark", viewport={"width": 360, "height": 740})
    start_session(page, "tram-depot")  # it has images, and its first program is judged quickly
    assert_readable(page)
    ask_for_code(page)
    page.locator("summary", has_text="Rules").click()
    assert_readable(page)
    page.get_by_role("button", name="Problem", exact=True).click()
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert_readable(page)
        assert_accessible(page)
    page.emulate_media(color_scheme="light")
    assert_readable(page)
    page.get_by_role("button", name="Conversation", exact=True).click()
    close_session(page, "Seen enough.")
    expect(message(page)).to_be_hidden()
    assert_readable(page)

    page.goto(page.url.replace("/sessions/", "/trajectories/"))
    assert_readable(page)
    assert_accessible(page)
    page.emulate_media(color_scheme="dark")
    assert_readable(page)
    page.goto("/sessions/")
    assert_readable(page)
    assert_accessible(page)


def test_wide_text_can_be_scrolled_by_keyboard_from_the_moment_it_is_shown(open_page: OpenPage) -> None:
    page = open_page("demo-tutor", viewport={"width": 360, "height": 740})
    page.goto("/problems/practice/watering-round/")
    focusable = page.evaluate(
        """async () => {
          const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const text = document.querySelector("figure pre");
          const figure = text.closest("figure");
          text.textContent = "wide ".repeat(100);
          const found = [];
          for (const hidden of [true, false, true, false]) {
            figure.hidden = hidden;
            found.push(text.tabIndex); // before the browser lays it out
            await painted();
          }
          return [...found, text.tabIndex];
        }"""
    )
    assert focusable[-2:] == [0, 0]


def test_every_focused_control_is_outlined(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    page.goto("/problems/practice/watering-round/")
    for _ in range(15):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", page.evaluate("document.activeElement.outerHTML")


def test_printed_session_holds_the_whole_conversation(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("demo-tutor", viewport={"width": 1280, "height": 500})
    start_session(page, "ferry-timetable")
    ask_for_code(page)
    page.emulate_media(media="print")
    box = page.locator("#conversation").evaluate("box => [box.scrollHeight, box.clientHeight]")
    assert box[0] <= box[1]
    expect(replies(page)).to_be_visible()
    expect(message(page)).to_be_hidden()
    page.pdf(path=tmp_path / "session.pdf")
    assert (tmp_path / "session.pdf").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("user", "address", "heading"),
    [
        ("demo-reviewer", "/sessions/", "Access denied"),
        ("demo-tutor", "/nothing/", "Page not found"),
    ],
)
def test_error_pages_look_like_the_others(open_page: OpenPage, user: str, address: str, heading: str) -> None:
    page = open_page(user, failures_expected=True)
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert_readable(page)
    assert_accessible(page)
