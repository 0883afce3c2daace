"""A wall clock that jumps, in one process that searches for lost rows while others live, are silent or have ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmark.judging import request_judgement, store_submission
from benchmark.models import Judgement, Process, leases
from benchmark.models.clock import JUMP, LONGEST_LEAD, SETTLING, ClockMonitor
from benchmark.models.leases import HEARTBEAT, SEARCH_INTERVAL
from benchmark.processes import Heartbeat, differing_clocks, heartbeat, outage_of
from config.doctor import examine
from tests.benchmark.processes import killed_process
from tests.problems import store_doubling

START = datetime(2026, 1, 1, tzinfo=UTC)
ELSEWHERE = "other-boot/1/1/owner"

pytestmark = pytest.mark.django_db


class FakeClock:
    """The wall clock and the monotonic clock of this host."""

    def __init__(self) -> None:
        self.monotonic = 1000.0
        self.wall = START

    def run(self, seconds: float) -> None:
        self.monotonic += seconds
        self.wall += timedelta(seconds=seconds)

    def seconds(self) -> float:
        return self.wall.timestamp()

    def jump(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Return a fake clock that runs steadily at first."""
    fake = FakeClock()
    monkeypatch.setattr("time.monotonic", lambda: fake.monotonic)
    monkeypatch.setattr("time.time", fake.seconds)
    monkeypatch.setattr("django.utils.timezone.now", lambda: fake.wall)
    monkeypatch.setattr(leases, "clock_monitor", monitor := ClockMonitor())
    assert monitor.is_steady()
    return fake


@pytest.fixture
def held(clocks: FakeClock) -> Judgement:
    """Return a judgement that a worker of another host holds."""
    row = request_judgement(store_submission(store_doubling(), "print(1)", "python"))
    [claimed] = Judgement.claim(ELSEWHERE, 1, clocks.wall)
    assert claimed.pk == row.pk
    return claimed


def is_lost(clocks: FakeClock) -> bool:
    return Judgement.objects.lost(clocks.wall).exists()


def renew(clocks: FakeClock) -> None:
    Judgement.objects.held_by(ELSEWHERE).renew(clocks.wall)


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 86_400.0, -86_400.0])
def test_a_living_owner_keeps_its_row_over_a_jump(clocks: FakeClock, held: Judgement, jump: float):
    for _ in range(3):
        clocks.run(HEARTBEAT)
        renew(clocks)
        assert not is_lost(clocks)
    clocks.jump(jump)
    for _ in range(20):
        assert not is_lost(clocks)
        clocks.run(HEARTBEAT)
        renew(clocks)
    assert held.end("done")


@pytest.mark.parametrize("jump", [3600.0, -3600.0, -20.0])
def test_a_row_of_a_silent_owner_becomes_free_after_a_jump(clocks: FakeClock, held: Judgement, jump: float):
    clocks.jump(jump)
    waited = 0.0
    while not is_lost(clocks):
        clocks.run(SEARCH_INTERVAL)
        waited += SEARCH_INTERVAL
    assert waited <= max(SETTLING, (Judgement.LEASE + LONGEST_LEAD).total_seconds()) + SEARCH_INTERVAL
    assert Judgement.claim_one(held.pk, "other-boot/2/2/owner", clocks.wall) is not None


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_row_of_a_killed_owner_of_this_host_is_free_at_once_after_a_jump(clocks: FakeClock, jump: float):
    request_judgement(store_submission(store_doubling(), "print(1)", "python"))
    with killed_process() as owner:
        Judgement.claim(owner, 1, clocks.wall)
        clocks.jump(jump)
        assert not is_lost(clocks)
    assert is_lost(clocks)


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_jump_ends_no_process(clocks: FakeClock, jump: float, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(heartbeat, "new_owner", lambda: ELSEWHERE)
    beat = Heartbeat(Process.Kind.STREAMER)
    beat.send("")
    assert outage_of("streamer") is None
    clocks.jump(jump)
    for _ in range(5):
        assert outage_of("streamer") is None
        clocks.run(heartbeat.INTERVAL)
        beat.send("")
    clocks.run(SETTLING + LONGEST_LEAD.total_seconds() + 10)
    assert outage_of("streamer") is not None, "a silent one is missed"


def test_slow_corrections_of_a_clock_are_no_jump(clocks: FakeClock):
    monitor = ClockMonitor()
    for _ in range(100):
        clocks.run(5)
        clocks.jump(0.9 * JUMP)
        assert monitor.is_steady()


def test_settling_lasts_longer_than_any_renewal():
    assert max(HEARTBEAT, heartbeat.INTERVAL) * 2 < SETTLING


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ahead", "line"),
    [
        (12, "the clock of judge-2 is 12 s ahead of the database"),
        (-12, "is 12 s behind the database"),
        (1, ""),
    ],
)
def test_a_host_whose_clock_differs_is_named(ahead: int, line: str):
    Heartbeat(Process.Kind.WORKER).send("")
    row = Process.objects.get()
    assert row.clock_difference is not None
    assert abs(row.clock_difference) < timedelta(seconds=1)
    assert differing_clocks() == {}
    Process.objects.update(
        host="judge-2",
        stored_at=row.last_seen - timedelta(seconds=ahead),
        lease_until=row.last_seen + LONGEST_LEAD,
    )
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    page = client.get("/status/").content.decode()
    assert (line.replace("'", "&#x27;") in page) if line else ("Clocks differ" not in page)
    [requirement] = [one for one in examine(optional_languages=False) if one.name == "clocks of hosts"]
    assert requirement.ok is (not line)
    assert line in requirement.detail
