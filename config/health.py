"""The health check for load balancers and the supervisor."""

import logging

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

logger = logging.getLogger(__name__)

QUEUE_TIMEOUT = 2
"""Seconds after which a queue server without an answer counts as unavailable."""


@never_cache
def healthz(_request: HttpRequest) -> JsonResponse:
    """Return status 200 if the database and the queue server answer, else 503. The body has the state of each."""
    states = {"database": _database_answers(), "queue": queue_answers()}
    healthy = all(states.values())
    if not healthy:
        logger.warning(
            "no answer from: %s", ", ".join(name for name, answers in states.items() if not answers)
        )
    return JsonResponse(
        {"status": "ok" if healthy else "unavailable"}
        | {name: "ok" if answers else "unavailable" for name, answers in states.items()},
        status=200 if healthy else 503,
    )


def queue_answers() -> bool:
    """Return whether the server at REDIS_URL answers within QUEUE_TIMEOUT."""
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=QUEUE_TIMEOUT, socket_connect_timeout=QUEUE_TIMEOUT
        ) as server:
            return bool(server.ping())
    except redis.RedisError:
        return False


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except DatabaseError:
        return False
