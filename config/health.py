"""The health check for load balancers and the supervisor."""

import logging

import redis
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from redis.backoff import NoBackoff
from redis.retry import Retry

from benchmark.processes import REQUIRED, outages

logger = logging.getLogger(__name__)

QUEUE_TIMEOUT = 2
"""Seconds after which a queue server without an answer counts as unavailable."""


@never_cache
def healthz(_request: HttpRequest) -> JsonResponse:
    """Return the state of each part; status 503 if the database or the queue server does not answer, else 200.

    Without a streamer or a kind of worker the status stays 200 and the site is "degraded": other web servers cannot
    help.
    """
    missing = _missing_processes()
    states = {
        "database": "unavailable" if missing is None else "ok",
        "queue": "ok" if queue_answers() else "unavailable",
    }
    for name in REQUIRED:
        states[name.replace(" ", "_")] = (
            "unknown" if missing is None else "missing" if name in missing else "ok"
        )
    unavailable = [name for name, state in states.items() if state == "unavailable"]
    if unavailable:
        logger.warning("no answer from: %s", ", ".join(unavailable))
    status = "unavailable" if unavailable else "degraded" if missing else "ok"
    return JsonResponse({"status": status} | states, status=503 if unavailable else 200)


def queue_answers() -> bool:
    """Return whether the server at REDIS_URL answers within QUEUE_TIMEOUT."""
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=QUEUE_TIMEOUT,
            socket_connect_timeout=QUEUE_TIMEOUT,
            retry=Retry(NoBackoff(), 0),  # by default three more attempts with waits of several seconds
        ) as server:
            return bool(server.ping())
    except redis.RedisError:
        return False


def _missing_processes() -> set[str] | None:
    """Return the names of REQUIRED without a running process; None if the database does not answer."""
    try:
        return {outage.name for outage in outages()}
    except DatabaseError:
        return None
