"""The pages of studies in a browser: designed, frozen, held, reported and settled."""

from __future__ import annotations

import re
from itertools import product

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.test_layout import SCHEMES, assert_readable
from tests.browser.workspace import consent_if_asked
from tests.stack import Stack

pytestmark = pytest.mark.browser


def inspect(page: Page) -> None:
    """Assert that the page is readable on a desktop and a phone in both colour schemes, and accessible on the phone."""
    for scheme, width in product(SCHEMES, (1280, 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert_readable(page)
    assert_accessible(page)


def test_a_study_from_the_design_to_a_settled_report(site: Stack, open_page: OpenPage) -> None:
    site.change_rows(
        "shell", "-v0", "-c",
        "from benchmark.models import LanguageModel\n"
        "LanguageModel.objects.get_or_create(label='world', version=1, defaults={'spec': 'simulated:guidance-60'})\n"
        "from django.contrib.auth.models import Group, User\n"
        "tutor = User.objects.create_user('study-tutor', password='hintbench-demo')\n"
        "tutor.groups.add(Group.objects.get(name='tutor'))",
    )  # fmt: skip
    admin = open_page("demo-admin")
    admin.goto("/studies/")
    inspect(admin)
    admin.get_by_role("link", name="Design a study").first.click()
    inspect(admin)
    admin.get_by_label("Name", exact=True).fill("browser")
    admin.get_by_role("button", name="Save the draft").click()
    expect(admin.get_by_text("It has faults")).to_be_visible()
    inspect(admin)
    admin.get_by_label("Title").fill("Do hints help?")
    admin.get_by_label("Questions, one per line").fill("Do hints help?")
    admin.get_by_label("Rehearsal").check()
    for number, (name, kind) in enumerate((("tutored", "human"), ("neutral", "automatic"))):
        arm = admin.get_by_role("group", name=f"Arm {number + 1}")
        arm.get_by_label("Name of the arm").fill(name)
        arm.get_by_label("Kind").select_option(kind)
        arm.get_by_label("Model").select_option("world@1")
        arm.get_by_label("Protocol").select_option("usaco-2024@1" if kind == "human" else "")
        arm.get_by_label("Method").select_option("session-neutral" if kind == "automatic" else "")
    admin.get_by_label("Dataset").select_option("practice")
    admin.get_by_label("Only these problems").fill("last-rolls hut-to-hut")
    admin.get_by_label("study-tutor").check()
    admin.get_by_label("Rate of the arm", exact=True).fill("tutored")
    admin.get_by_label("minus the rate of the arm").fill("neutral")
    admin.get_by_role("button", name="Save the draft").click()
    expect(admin.get_by_role("heading", name="Gate")).to_be_visible()
    inspect(admin)
    gate = admin.get_by_label("Accept the findings of the gate")
    if gate.count():
        gate.check()
    admin.get_by_label("The design is final").check()
    admin.get_by_role("button", name="Freeze the study").click()
    expect(admin.get_by_text("browser v1 is frozen")).to_be_visible()
    address = admin.url
    for page in ("", "assignments/", "preregistration/", "power/"):
        admin.goto(address + page)
        inspect(admin)

    tutor = open_page("study-tutor")
    tutor.goto("/sessions/")
    inspect(tutor)
    tutor.get_by_role("button", name="Your next session").click()
    consent_if_asked(tutor)
    tutor.wait_for_url(re.compile(r"/sessions/[0-9a-f-]{36}/"))
    tutor.get_by_role("button", name="Something is wrong…").click()
    assert_accessible(tutor)
    tutor.get_by_label("What is wrong", exact=True).select_option("judge")
    tutor.get_by_label("What you saw").fill("It rejects the sample.")
    tutor.get_by_role("button", name="Send the report").click()
    expect(tutor.get_by_text("An admin reads your report.")).to_be_visible()

    admin.goto(address)
    admin.get_by_label("Settlement").select_option("dismissed")
    admin.get_by_label("What happened").first.fill("The sample was mistyped.")
    admin.get_by_role("button", name="Settle").click()
    expect(admin.get_by_text("The deviation is recorded.")).to_be_visible()
    inspect(admin)
    admin.get_by_text("Stop the study", exact=True).first.click()
    admin.get_by_label("Reason", exact=True).fill("The test ends.")
    admin.get_by_label("Stop the study permanently").check()
    admin.get_by_role("button", name="Stop the study").click()
    expect(admin.get_by_text("is stopped. Open sessions continue")).to_be_visible()
    inspect(admin)
