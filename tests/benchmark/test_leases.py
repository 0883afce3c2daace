"""Leases: whatever order claims, renewals, deaths and late writes come in, one owner at a time writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from benchmark.judging import request_judgement, store_submission
from benchmark.models import Dataset, Judgement, Run, WorkItem, leases, owners
from benchmark.models.leases import HEARTBEAT, SEARCH_INTERVAL, Claimable
from benchmark.models.owners import is_dead, new_owner
from tests.benchmark.processes import killed_process
from tests.problems import store_doubling
from tutoring.models import Reply

START = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ("here", "elsewhere")


def judgement_rows() -> list[Claimable]:
    submission = store_submission(store_doubling(), "print(1)", "python")
    return [request_judgement(submission) for _ in range(2)]


def work_items() -> list[Claimable]:
    problem = store_doubling()
    dataset = Dataset.objects.get(pk=problem.dataset_id)
    run = Run.objects.create(dataset=dataset, method="zero-shot", model_spec="m", parameters={}, manifest={})
    return [WorkItem.objects.create(run=run, problem=problem, chain=chain) for chain in range(2)]


class Process:
    """A holder of leases: what it believes to hold, and whether it lives."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.alive = True
        self.claims: list[Claimable] = []

    @property
    def is_known_dead(self) -> bool:
        return not self.alive and self.owner.startswith("here")


class LeaseMachine(RuleBasedStateMachine):
    """Random interleavings over two rows of a table, with a clock of their own.

    `truth` holds the process of the latest claim of each row, None while the row waits, and the end of its lease.
    """

    rows: list[Claimable]

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.model = type(self.rows[0])
        self.model.objects.update(state=self.model.WAITING, owner="", lease_until=None, attempt=0)
        self.processes: list[Process] = []
        self.truth: dict[int, tuple[Process, datetime] | None] = {row.pk: None for row in self.rows}
        self.written: dict[int, int] = {}

    @initialize(hosts=st.lists(st.sampled_from(HOSTS), min_size=2, max_size=4))
    def start(self, hosts: list[str]) -> None:
        self.processes = [Process(f"{host} {number}") for number, host in enumerate(hosts)]

    def process(self, number: int) -> Process:
        return self.processes[number % len(self.processes)]

    def is_free(self, pk: int) -> bool:
        """What the model of the test says of a row."""
        claim = self.truth[pk]
        return claim is None or claim[0].is_known_dead or claim[1] < self.now

    @rule(number=st.integers(0, 3), count=st.integers(1, 2))
    def claim(self, number: int, count: int) -> None:
        """A process looks for lost rows, then claims."""
        process = self.process(number)
        if not process.alive:
            return
        free = {pk for pk in self.truth if self.is_free(pk)}
        assert set(self.model.objects.claimable(self.now).values_list("pk", flat=True)) == free
        self.model.objects.release_lost(self.now)
        claimed = self.model.claim(process.owner, count, self.now)
        assert len(claimed) == min(count, len(free))
        assert {row.pk for row in claimed} <= free
        for row in claimed:
            self.truth[row.pk] = process, self.now + self.model.LEASE
        process.claims += claimed

    @rule(number=st.integers(0, 3), place=st.integers(0, 1))
    def claim_one(self, number: int, place: int) -> None:
        """A process claims one row, whether it waits or is lost."""
        process = self.process(number)
        if not process.alive:
            return
        pk = list(self.truth)[place]
        free = self.is_free(pk)
        claimed = self.model.claim_one(pk, process.owner, self.now)
        assert (claimed is not None, claimed is None or claimed.pk == pk) == (free, True)
        if claimed is not None:
            self.truth[pk] = process, self.now + self.model.LEASE
            process.claims.append(claimed)

    @rule(number=st.integers(0, 3))
    def renew(self, number: int) -> None:
        process = self.process(number)
        if process.alive:
            held = [pk for pk, claim in self.truth.items() if claim and claim[0] is process]
            assert self.model.objects.held_by(process.owner).renew(self.now) == len(held)
            for pk in held:
                self.truth[pk] = process, self.now + self.model.LEASE

    @rule(number=st.integers(0, 3))
    def write(self, number: int) -> None:
        """A process writes for every claim it ever had; only its latest claim of a row that it holds may land."""
        process = self.process(number)
        for row in process.claims if process.alive else ():
            holds = self.holds(process, row)
            assert row.claimed().update(lease_until=row.claimed().values("lease_until")[:1]) == holds

    @rule(number=st.integers(0, 3))
    def release(self, number: int) -> None:
        process = self.process(number)
        if process.alive and process.claims:
            row = process.claims.pop()
            holds = self.holds(process, row)
            assert row.claimed().release() == holds
            if holds:
                self.truth[row.pk] = None

    @rule(number=st.integers(0, 3))
    def finish_and_wait_again(self, number: int) -> None:
        """A process ends a row. A new round begins with it."""
        process = self.process(number)
        if process.alive and process.claims:
            row = process.claims.pop()
            holds = self.holds(process, row)
            assert row.end("done") == holds
            if holds:
                assert not self.model.objects.claimable(self.now).filter(pk=row.pk).exists()
                self.model.objects.filter(pk=row.pk).update(state=self.model.WAITING)
                self.truth[row.pk] = None

    @rule(number=st.integers(0, 3))
    def die(self, number: int) -> None:
        self.process(number).alive = False

    @precondition(lambda self: not any(process.alive for process in self.processes))
    @rule()
    def start_another(self) -> None:
        self.processes.append(Process(f"here {len(self.processes)}"))

    @rule(seconds=st.sampled_from([1, HEARTBEAT, SEARCH_INTERVAL, 30, 61]))
    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def holds(self, process: Process, row: Claimable) -> bool:
        latest = self.model.objects.values_list("attempt", flat=True).get(pk=row.pk)
        claim = self.truth[row.pk]
        return claim is not None and claim[0] is process and latest == row.attempt

    @invariant()
    def rows_name_their_owner(self) -> None:
        for pk, owner, state in self.model.objects.values_list("pk", "owner", "state"):
            claim = self.truth[pk]
            if state == self.model.HELD:
                assert claim is not None
                assert owner == claim[0].owner
            else:
                assert owner == ""

    @invariant()
    def dead_owners_here_lose_rows_at_once_and_all_others_after_the_lease(self) -> None:
        lost = set(self.model.objects.lost(self.now).values_list("pk", flat=True))
        held = {pk for pk, claim in self.truth.items() if claim}
        state = dict(self.model.objects.values_list("pk", "state"))
        assert lost == {pk for pk in held if self.is_free(pk) and state[pk] == self.model.HELD}

    def teardown(self) -> None:
        """Whatever happened, every row is free once its lease has ended."""
        later = self.now + self.model.LEASE + timedelta(seconds=1)
        assert self.model.objects.claimable(later).count() == len(self.rows)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("make_rows", [judgement_rows, work_items])
def test_one_owner_writes_and_every_row_becomes_free(
    make_rows: Callable[[], list[Claimable]], monkeypatch: pytest.MonkeyPatch
):
    class Machine(LeaseMachine):
        rows = make_rows()

        def __init__(self) -> None:
            super().__init__()
            monkeypatch.setattr(leases, "is_dead", self.is_dead)

        def is_dead(self, owner: str) -> bool:
            return any(process.owner == owner and process.is_known_dead for process in self.processes)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_process_is_dead_after_its_kill_even_before_its_parent_has_noticed():
    with killed_process() as owner:
        assert not is_dead(owner)
        assert not is_dead(new_owner())
    assert is_dead(owner)


@pytest.mark.parametrize(
    ("part", "value", "dead"),
    [
        (0, "another-boot", False),
        (1, "99999999", True),
        (2, "1", True),  # the process id is used again
    ],
)
def test_only_processes_of_this_host_and_boot_are_known_to_be_dead(part: int, value: str, dead: bool):
    names = new_owner().split("/")
    names[part] = value
    assert is_dead("/".join(names)) is dead


@pytest.mark.parametrize("owner", ["", "550e8400-e29b-41d4-a716-446655440000", "a/b/c", "a/b/c/d/e"])
def test_owner_of_another_form_is_never_known_to_be_dead(owner: str):
    assert not is_dead(owner)


def test_names_fit_their_column_and_differ():
    names = {new_owner() for _ in range(10)}
    assert len(names) == 10
    assert max(map(len, names)) < owners.OWNER_LENGTH


def test_dead_owners_are_found_within_eight_seconds():
    assert SEARCH_INTERVAL + HEARTBEAT < 8
    assert all(timedelta(seconds=3 * HEARTBEAT) <= model.LEASE for model in (Judgement, WorkItem, Reply))
