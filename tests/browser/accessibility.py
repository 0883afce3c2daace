"""Accessibility checks with axe-core; serious and critical violations and gaps in the outline fail the test."""

from __future__ import annotations

from importlib.resources import files

from playwright.sync_api import Page

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")

# `preload` fetches all style sheets again, but the rules that need them are disabled.
_RUN = """() => axe.run({preload: false, resultTypes: ["violations"], rules: {"color-contrast": {enabled: false}}})
  .then((found) => found.violations)"""


def assert_accessible(page: Page) -> None:
    """Assert that axe finds no serious violation in the page in its current state, and that no heading skips a level.

    `assert_readable` checks the contrast, in both colour schemes and ten times as fast.
    """
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(
            _AXE
        )  # through the debugger, because the content security policy blocks foreign scripts
    violations = page.evaluate(_RUN)
    serious = [
        f"{one['id']} ({one['impact']}): {one['help']}: {[node['html'][:200] for node in one['nodes'][:5]]}"
        for one in violations
        if one["impact"] in ("serious", "critical") or one["id"] == "heading-order"
    ]
    assert not serious, f"{page.url}: {serious}"
