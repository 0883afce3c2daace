"""The address a load balancer or the supervisor asks: do the database and the queue answer?"""

import logging

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

logger = logging.getLogger(__name__)

QUEUE_TIMEOUT = 2
"""Seconds the queue may take to answer before it counts as down."""


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database and the queue answer, else 503; the body names the one that does not."""
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
    """Whether the server at REDIS_URL answers within QUEUE_TIMEOUT."""
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
