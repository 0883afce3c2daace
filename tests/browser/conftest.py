"""A real Chromium in front of a whole running Hintbench."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

from tests.stack import Stack
from tutoring.management.commands.create_demo_accounts import DEMO_PASSWORD

WORD_DELAY_MS = "12"
"""Slow enough that a reply can be met in the middle, fast enough that the tests are not kept waiting."""

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A running Hintbench whose practice student writes slowly enough to be interrupted."""
    running = Stack(tmp_path_factory.mktemp("site"), PRACTICE_WORD_DELAY_MS=WORD_DELAY_MS)
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser. Ended with each module: while it runs, Django takes the thread for an asynchronous one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed, and CI must run these tests: apt-get install chromium")
        pytest.skip("chromium is not installed (apt-get install chromium)")
    # Chromium's own sandbox cannot be set up by root, and is not what is tested here.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def logins(chromium: Browser, site: Stack) -> Callable[[str], StorageState]:
    """The cookies of a person who has logged in by the form; once each, since hashing a password takes long."""
    expect.set_options(timeout=15_000)

    @cache
    def log_in(user: str) -> StorageState:
        page = chromium.new_page(base_url=site.url)
        page.goto("/problems/")
        page.get_by_label("User name").fill(user)
        page.get_by_label("Password").fill(DEMO_PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/problems/")
        state = page.context.storage_state()
        page.context.close()
        return state

    return log_in


@pytest.fixture
def open_page(chromium: Browser, site: Stack, logins: Callable[[str], StorageState]) -> Iterator[OpenPage]:
    """`open_page("demo-tutor", **options)`: a page of its own browser profile, logged in, at its first address.

    At the end no page may have reported a script error, anything that the content security policy forbade,
    a missing file or a failure of the server.
    """
    contexts = []
    complaints: list[str] = []

    def on_message(message: Any) -> None:
        # Chromium also reports lost connections and refused commands so; tests that cause them know.
        if message.type == "error" and not message.text.startswith(("WebSocket", "Failed to load resource")):
            complaints.append(message.text)

    def on_response(response: Any) -> None:
        if response.status == 404 or response.status >= 500:
            complaints.append(f"{response.status} {response.url}")

    def open_(user: str, failures_expected: bool = False, **options: Any) -> Page:
        context = chromium.new_context(
            **{
                "base_url": site.url,
                "viewport": {"width": 1280, "height": 800},
                "storage_state": logins(user),
            }
            | options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", on_message)
        if not failures_expected:
            page.on("response", on_response)
        page.goto("/")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints
