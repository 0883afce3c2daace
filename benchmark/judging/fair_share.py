"""Fair shares: the judgements that one person requested never occupy all workers, if there are several.

Judgements in progress are counted by their rows, so that the rule holds across hosts. A worker that was killed frees
its rows (`is_dead`, or the end of its lease). A refused judgement stays QUEUED without a job: the end of another one
enqueues it, after the jobs of other people, and so does the sweep of the workers.
"""

from datetime import datetime

import django_rq
import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from rq import Worker, worker_registration

from benchmark.models import Judgement
from benchmark.models.owners import is_dead

EXECUTIONS = "tutoring"
"""The queue of executions, which workers serve first."""


def share_of_a_person() -> int:
    """Return how many judgements of one person may be in progress: one fewer than the workers, but at least one."""
    return max(1, living_workers() - 1)


def living_workers() -> int:
    """Return the number of workers on all hosts; `settings.WORKERS` if the queue server is unavailable.

    A worker that was killed on another host counts until its entry in the queue server expires, within 25 s.
    """
    try:
        queue = django_rq.get_queue(EXECUTIONS)
        keys = list(worker_registration.get_keys(queue))
        with queue.connection.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.exists(key)
            registered = pipeline.execute()
    except redis.RedisError:
        return int(settings.WORKERS)
    names = (key.removeprefix(Worker.redis_worker_namespace_prefix) for key in keys)
    return sum(exists and not is_dead(name) for name, exists in zip(names, registered, strict=True))


def in_progress(person_id: int, now: datetime) -> int:
    """Return the number of the person's judgements that living workers hold."""
    held = Judgement.objects.filter(requested_by=person_id).held()
    return held.count() - held.lost(now).count()


def lock_person(person_id: int) -> None:
    """Prevent other transactions from claiming judgements of the person until this one ends."""
    people = get_user_model().objects.select_for_update(no_key=True)
    people.filter(pk=person_id).values_list("pk", flat=True).first()


def executions_before(judgement: Judgement) -> int:
    """Return how many older executions of all people wait."""
    waiting = Judgement.objects.filter(requested_by__isnull=False).waiting()
    return waiting.filter(pk__lt=judgement.pk).count()
