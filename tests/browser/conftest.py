"""A real Chromium in front of a whole running Hintbench."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

from accounts.management.commands.create_demo_accounts import DEMO_PASSWORD
from tests.stack import HANG, Stack

OpenPage = Callable[..., Page]

FEATURES_OFF = (
    # Each window would load two pages of the browser's own, for what is typed into its address: ten times the work
    # of a small page.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # Chromium heeds its last list alone: what Playwright's own turns off of that which pages could notice.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "HttpsUpgrades",
    "LensOverlay",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)


@pytest.fixture(scope="module")
def site(stack: Stack) -> Stack:
    """The Hintbench in front of which the browser stands. A file may have another."""
    return stack


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser. Ended with each module: while it runs, Django takes the thread for an asynchronous one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed, and CI must run these tests: apt-get install chromium")
        pytest.skip("chromium is not installed (apt-get install chromium)")
    # Chromium's own sandbox cannot be set up by root, and is not what is tested here.
    arguments = [
        f"--disable-features={','.join(FEATURES_OFF)}",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def login_states() -> dict[tuple[str, str], StorageState]:
    """The cookies of who has logged in, by address and user: hashing a password takes long."""
    return {}


@pytest.fixture(scope="module")
def logins(
    chromium: Browser, site: Stack, login_states: dict[tuple[str, str], StorageState]
) -> Callable[[str], StorageState]:
    """The cookies of a person who has logged in by the form."""
    expect.set_options(timeout=HANG * 1000)

    def log_in(user: str) -> StorageState:
        if (site.url, user) not in login_states:
            page = chromium.new_page(base_url=site.url)
            page.set_default_timeout(HANG * 1000)
            page.goto("/problems/")
            page.get_by_label("User name").fill(user)
            page.get_by_label("Password").fill(DEMO_PASSWORD)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url("**/problems/")
            login_states[site.url, user] = page.context.storage_state()
            page.context.close()
        return login_states[site.url, user]

    return log_in


@pytest.fixture
def open_page(chromium: Browser, site: Stack, logins: Callable[[str], StorageState]) -> Iterator[OpenPage]:
    """`open_page("demo-tutor", **options)`: an empty page of its own browser profile, logged in.

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
        context.set_default_timeout(HANG * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", on_message)
        if not failures_expected:
            page.on("response", on_response)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints
