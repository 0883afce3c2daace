"""axe-core on a page: what it calls serious or critical is a defect."""

from __future__ import annotations

from importlib.resources import files

from playwright.sync_api import Page

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")

# `preload` would fetch all style sheets anew, for rules about them that are switched off.
_RUN = """() => axe.run({preload: false, resultTypes: ["violations"], rules: {"color-contrast": {enabled: false}}})
  .then((found) => found.violations)"""


def assert_accessible(page: Page) -> None:
    """axe finds nothing serious in the page as it stands, with whatever is open in it.

    Contrast is left to `assert_readable`, which measures it in both colour schemes and in a tenth of the time.
    """
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_AXE)  # by the debugger: the page's own policy lets no script of others in
    violations = page.evaluate(_RUN)
    serious = [
        f"{one['id']} ({one['impact']}): {one['help']}: {[node['html'][:200] for node in one['nodes'][:5]]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
    ]
    assert not serious, f"{page.url}: {serious}"
