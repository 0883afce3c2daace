"""Fixtures for tests with Chromium against a running site."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

from accounts.demo_accounts import DEMO_PASSWORD
from config.system_packages import BROWSERS
from tests.missing_programs import skip_or_fail
from tests.stack import HANG, Stack

OpenPage = Callable[..., Page]

FEATURES_OFF = (
    # These load two internal pages for the address bar of each window: ten times the work of a small page.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # Chromium uses only the last list, so this repeats the features of Playwright's list that pages can notice.
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
    """Return the site under test. A test module may override it."""
    return stack


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yield the browser. It ends with each module, because Django regards the thread as asynchronous while it runs."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        skip_or_fail(f"Chromium is not installed: apt-get install {BROWSERS[0]}")
    # Chromium cannot set up its sandbox as root.
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
    """Return the cookies of logged-in users by address and user name, because password hashing is slow."""
    return {}


@pytest.fixture(scope="module")
def logins(
    chromium: Browser, site: Stack, login_states: dict[tuple[str, str], StorageState]
) -> Callable[[str], StorageState]:
    """Return a function that logs a user in with the form and returns the cookies."""
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
    """Yield `open_page("demo-tutor", **options)`, which returns an empty page of a new browser profile with this login.

    The test fails if a page reports a script error, a violation of the content security policy, a missing file or a
    server error.
    """
    contexts = []
    errors: list[str] = []

    def on_message(message: Any) -> None:
        # Chromium also reports lost connections and refused commands as errors; some tests cause them.
        if message.type == "error" and not message.text.startswith(("WebSocket", "Failed to load resource")):
            errors.append(message.text)

    def on_response(response: Any) -> None:
        if response.status == 404 or response.status >= 500:
            errors.append(f"{response.status} {response.url}")

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
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", on_message)
        if not failures_expected:
            page.on("response", on_response)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not errors
