"""The state of the installation: processes, queues, failures, spending and disk, read from rows."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone

from accounts.roles import Person
from benchmark.model_calls.ledger import today
from benchmark.models import Backup, DailySpend, GrowthCurve, Judgement, Process
from benchmark.models.spending import MICRO
from benchmark.processes import Outage, describe_difference, differing_clocks, outages, source_version
from benchmark.views.access import concealed_study_keys
from tutoring.models import Event, Reply
from tutoring.sessions.assignments import concealed_sessions

PERIOD = timedelta(hours=24)
"""The period of the listed failures."""


ALL = Q()
"""The condition of a queue of all rows of its table."""


@dataclass(frozen=True)
class ProcessState:
    """A streamer or worker and whether it runs."""

    process: Process
    runs: bool
    differs: bool
    """Whether its version differs from that of this web server."""


@dataclass(frozen=True)
class Queue:
    """Rows that wait for a process, and those that one holds."""

    key: str
    """The name in metrics."""
    name: str
    waiting: int
    oldest: datetime | None
    """When the oldest waiting row was created."""
    held: int


@dataclass(frozen=True)
class Failures:
    """Failures of one kind within PERIOD."""

    source: str
    kind: str
    count: int
    last: datetime


@dataclass(frozen=True)
class Status:
    """The content of the page *Status* for one person."""

    outages: list[Outage]
    clocks: list[str]
    """A clause for each host whose clock differs from the database's."""
    hosts: dict[str, list[ProcessState]]
    version: str
    queues: list[Queue]
    failures: list[Failures]
    dollars_today: float
    calls_of_unknown_cost: int
    concealed: bool
    """Whether studies are left out, because the person is one of their tutors."""
    backup: Backup | None
    """The newest backup; None if none is recorded."""
    free_disk: int
    total_disk: int

    @property
    def differing(self) -> list[Process]:
        """The running processes of another version than this web server."""
        return [one.process for states in self.hosts.values() for one in states if one.runs and one.differs]

    @property
    def free_disk_percent(self) -> int:
        return round(100 * self.free_disk / self.total_disk)


def read_status(person: Person) -> Status:
    """Return the current state. A tutor of an unfinished study sees nothing that names the models of its arms."""
    concealed = concealed_study_keys(person)
    spent = DailySpend.objects.filter(day=today()).exclude(study_key__in=concealed)
    sums = spent.aggregate(dollars=Sum("microdollars"), unknown=Sum("calls_of_unknown_cost"))
    disk = shutil.disk_usage(settings.VAR)
    return Status(
        outages=outages(),
        clocks=[describe_difference(*one) for one in differing_clocks().items()],
        hosts=_hosts(),
        version=source_version(),
        queues=queues(),
        failures=[*_failed_replies(person), *_judge_faults()],
        dollars_today=(sums["dollars"] or 0) / MICRO,
        calls_of_unknown_cost=sums["unknown"] or 0,
        concealed=bool(concealed),
        backup=Backup.objects.first(),
        free_disk=disk.free,
        total_disk=disk.total,
    )


def _hosts() -> dict[str, list[ProcessState]]:
    """Return the processes by host."""
    lost = {process.pk for process in Process.objects.lost(timezone.now())}
    hosts: dict[str, list[ProcessState]] = {}
    for process in Process.objects.all():
        state = ProcessState(process, process.pk not in lost, process.version != source_version())
        hosts.setdefault(process.host, []).append(state)
    return hosts


def queues() -> list[Queue]:
    """Return the queues of replies, judgements and growth measurements, in order of priority."""
    judgements = Judgement.objects.all()
    own = Q(rejudging=None)
    unattended = own & Q(requested_by=None)
    executions = own & Q(requested_by__isnull=False)
    verdicts = unattended & Q(purpose=Judgement.Purpose.VERDICT)
    scores = own & Q(purpose=Judgement.Purpose.SCORE)
    return [
        _queue("replies", "Replies to tutors", Reply.objects.all(), "message__at"),
        _queue("executions", "Executions of tutors", judgements, "created_at", executions),
        _queue("run_judgements", "Judgements of runs", judgements, "created_at", verdicts),
        _queue("program_scores", "Program scores", judgements, "created_at", scores),
        _queue("rejudgings", "Rejudgings", judgements, "created_at", Q(rejudging__isnull=False)),
        _queue("growth", "Growth measurements", GrowthCurve.objects.all(), "created_at"),
    ]


def _queue(
    key: str,
    name: str,
    rows: QuerySet[Reply] | QuerySet[Judgement] | QuerySet[GrowthCurve],
    created: str,
    condition: Q = ALL,
) -> Queue:
    """Return a queue of the rows that meet the condition.

    Only the state selects rows, so that the database uses its index: an index on a column of the condition would read
    a million finished rows.
    """
    waiting, held = rows.model.WAITING, rows.model.HELD
    found = (
        rows.order_by()
        .filter(state__in=(waiting, held))
        .aggregate(
            waiting=Count("pk", filter=Q(state=waiting) & condition),
            held=Count("pk", filter=Q(state=held) & condition),
            oldest=Min(created, filter=Q(state=waiting) & condition),
        )
    )
    return Queue(key, name, found["waiting"], found["oldest"], found["held"])


def _failed_replies(person: Person) -> list[Failures]:
    """Return the failed replies by model and kind, without sessions whose model the person must not see."""
    failed = Event.objects.filter(kind=Event.Kind.REPLY_FAILED, at__gte=timezone.now() - PERIOD)
    failed = failed.exclude(session__in=concealed_sessions(person))
    groups = failed.order_by().values_list("session__model_spec", "data__kind")
    return [
        Failures(f"replies of {model or 'an unknown model'}", kind, count, last)
        for model, kind, count, last in groups.annotate(count=Count("pk"), last=Max("at")).order_by("-count")
    ]


def _judge_faults() -> list[Failures]:
    """Return the faults of the judge by host."""
    since = timezone.now() - PERIOD
    failed = Judgement.objects.filter(state=Judgement.State.FAILED, finished_at__gte=since)
    groups = failed.order_by().values_list("host").annotate(count=Count("pk"), last=Max("finished_at"))
    return [
        Failures(f"judge on {host or 'an unknown host'}", "judge fault", count, last)
        for host, count, last in groups.order_by("-count")
    ]
