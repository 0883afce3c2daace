"""The list of runs: its filters, its order, and what its links keep."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmark.models import Run
from benchmark.reports.cached_report import store_report
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture

FINISHED = {"state": "finished", "finished_at": datetime(2026, 1, 2, tzinfo=UTC)}
Listed = Callable[[str], list[str]]


@pytest.fixture
def runs(make_run: MakeRun) -> dict[str, Run]:  # noqa: F811
    """Three finished runs of one dataset, which differ in method, model, profile and start, and an open one."""
    profile = {"manifest": {"profile": {"name": "usaco-code", "version": 1}}}
    first = make_run([("bronze", ["AC"]), ("bronze", ["WA"])], **FINISHED)
    found = {
        "zero": first,
        "code": make_run(
            [("bronze", ["AC"]), ("bronze", ["AC"])], on=first, method="episodic", **FINISHED | profile
        ),
        "other": make_run([("bronze", ["WA"]), ("bronze", ["WA"])], on=first, model="openai:n", **FINISHED),
        "open": make_run([("bronze", [""])], on=first, method="reflexion"),
    }
    for day, (name, run) in enumerate(found.items(), 1):
        Run.objects.filter(pk=run.pk).update(started_at=datetime(2026, 3, day, 23, 30, tzinfo=UTC))
        if name != "open":
            store_report(run)
    return found


@pytest.fixture
def page(client: Client, db: None) -> Callable[[str], str]:
    client.force_login(User.objects.create_superuser("one"))

    def get(query: str) -> str:
        answer = client.get(f"/runs/?{query}")
        assert answer.status_code == 200, query
        return answer.content.decode()

    return get


@pytest.fixture
def listed(runs: dict[str, Run], page: Callable[[str], str]) -> Listed:
    """Return the names of the runs on the page in their order."""
    names = {str(run.pk): name for name, run in runs.items()}

    def get(query: str) -> list[str]:
        links = re.findall(r'class="row-link" href="/runs/([^/]+)/"', page(query))
        return [names[link] for link in links]

    return get


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["open", "code", "zero", "other"]),
        ("method=episodic", ["code"]),
        ("method=reflexion", ["open"]),
        ("model=openai:n", ["other"]),
        ("profile=usaco-code", ["code"]),
        ("profile=none", ["open", "zero", "other"]),
        ("since=2026-03-02&until=2026-03-03", ["code", "other"]),
        ("model=openai:m&until=2026-03-03", ["code", "zero"]),
        ("sort=started&profile=none", ["open", "zero", "other"]),
        ("sort=-started", ["open", "other", "code", "zero"]),
        ("sort=score", ["open", "other", "zero", "code"]),
        ("sort=run", ["open", "code", "zero", "other"]),
        ("sort=unknown", ["open", "code", "zero", "other"]),
        ("method=unknown", []),
    ],
)
def test_filters_and_orders(listed: Listed, query: str, expected: list[str]) -> None:
    assert listed(query) == expected


def test_choices_count_the_runs_under_the_other_filters(
    runs: dict[str, Run], page: Callable[[str], str]
) -> None:
    def choices(query: str) -> dict[str, int]:
        options = re.findall(r'<option value="([^"]+)"(?: selected)?>[^<]*\((\d+)\)</option>', page(query))
        return {value: int(count) for value, count in options}

    everything = choices("")
    assert everything["openai:m"] == 3
    assert everything["none"] == 3
    assert everything["usaco-code"] == 1
    narrowed = choices("model=openai:m")
    assert narrowed["openai:n"] == 1, "a filter does not narrow its own values"
    assert narrowed["zero-shot"] == 1
    assert narrowed["none"] == 2
    assert choices("since=2026-03-04").keys() == {"reflexion", "openai:m", "none", runs["zero"].dataset.name}


def test_links_keep_the_filters(runs: dict[str, Run], page: Callable[[str], str]) -> None:
    shown = page("model=openai:m&since=2026-03-01&sort=-score")
    assert '<option value="openai:m" selected>' in shown
    assert 'name="since" value="2026-03-01"' in shown
    assert '<input type="hidden" name="sort" value="-score">' in shown
    orders = [unescape(link) for link in re.findall(r'class="sort" href="\?([^"]*)"', shown)]
    assert len(orders) == 4
    assert all("model=openai%3Am&since=2026-03-01" in order for order in orders)
    assert "sort=score" in " ".join(orders), "the second press reverses the order"
    assert 'aria-sort="descending"' in shown


def test_pages_keep_the_filters(
    page: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    runs: dict[str, Run],
) -> None:
    monkeypatch.setattr("benchmark.views.leaderboard.PAGE_LENGTH", 1)
    assert 'href="?until=2026-03-09&amp;page=2"' in page("until=2026-03-09")


def test_an_empty_list_says_why(page: Callable[[str], str]) -> None:
    assert "There is no run yet." in page("")
    assert "No run matches these filters." in page("method=episodic")


def test_an_invalid_day_is_refused(client: Client, page: Any) -> None:
    answer = client.get("/runs/?since=tomorrow")
    assert answer.status_code == 400
    assert "The parameter since must be a day" in answer.content.decode()
