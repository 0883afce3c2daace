"""The statements of every reply use an index, for any number of rows."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark.model_calls.reply_cache import find_paid
from benchmark.models import Generation
from benchmark.runner import leases

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the plans are SQLite's"),
]


def test_paid_replies_are_found_by_their_keys() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        find_paid(Generation, [f"{number:064}" for number in range(30)])
    assert "paid_generation_by_cache_key" in plan_of(queries)


def test_leases_are_renewed_without_a_look_at_items_that_are_done() -> None:
    with CaptureQueriesContext(connection) as queries:
        leases.renew(uuid4(), "a runner")
    assert "run_id=? AND state=?" in plan_of(queries)


def plan_of(queries: CaptureQueriesContext) -> str:
    [query] = queries.captured_queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
        return "\n".join(row[-1] for row in cursor.fetchall())
