"""Budgets of the session page: bytes and requests of a second visit, and the font of formulas."""

from __future__ import annotations

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.workspace import ask_for_code, replies, start_session, talk

pytestmark = pytest.mark.browser

MAXIMUM_BYTES = 150_000
MAXIMUM_REQUESTS = 8
FONT = "hintbench-math"


class Traffic:
    """The requests of a page that reached the network, with the bytes that arrived."""

    def __init__(self, page: Page) -> None:
        self.addresses: dict[str, str] = {}
        self.bytes = 0
        self._cached: set[str] = set()
        session: CDPSession = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.requestServedFromCache", lambda event: self._cached.add(event["requestId"]))
        session.on("Network.responseReceived", self._received)
        session.on("Network.loadingFinished", self._finished)

    def reset(self) -> None:
        self.addresses.clear()
        self._cached.clear()
        self.bytes = 0

    @property
    def requested(self) -> list[str]:
        """Return the addresses that were not answered by the cache."""
        return [address for key, address in self.addresses.items() if key not in self._cached]

    def _sent(self, event: dict) -> None:
        if not event["request"]["url"].startswith("data:"):
            self.addresses[event["requestId"]] = event["request"]["url"]

    def _received(self, event: dict) -> None:
        if event["response"].get("fromDiskCache"):
            self._cached.add(event["requestId"])

    def _finished(self, event: dict) -> None:
        if event["requestId"] not in self._cached:
            self.bytes += int(event["encodedDataLength"])


def test_second_visit_of_a_session_is_small(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    start_session(page, "tram-depot")
    ask_for_code(page)
    talk(page, "What does $x_1$ mean?[^1]\n\n[^1]: In the statement.")
    address = page.url
    page.goto("/problems/")
    traffic = Traffic(page)
    page.goto(address)
    expect(replies(page)).to_have_count(2)
    page.wait_for_load_state("networkidle")
    assert 0 < traffic.bytes <= MAXIMUM_BYTES, traffic.requested
    assert len(traffic.requested) <= MAXIMUM_REQUESTS, traffic.requested


def test_font_of_formulas_is_loaded_only_where_formulas_are(open_page: OpenPage) -> None:
    page = open_page("demo-tutor")
    traffic = Traffic(page)
    page.goto("/problems/")
    addresses = page.locator("a.row-link").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )
    shown = {}
    for address in ["/problems/", "/sessions/", *addresses]:
        traffic.reset()
        page.goto(address)
        page.wait_for_load_state("networkidle")
        formulas = page.locator("math").filter(visible=True).count()
        shown[address] = formulas
        assert any(FONT in one for one in traffic.addresses.values()) == bool(formulas), address
    assert set(map(bool, shown.values())) == {True, False}, (
        "the problems have pages with and without formulas"
    )
