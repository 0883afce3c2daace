"""Errors from a provider's failures."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.providers.errors import kind_of_failure, retry_after_seconds
from tests.stack import HANG


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "inf", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "-5", "retry-after": "2"}, 2.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_in_milliseconds_or_seconds(headers, seconds):
    assert retry_after_seconds(headers) == seconds


def test_the_wait_is_read_from_a_date():
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert retry_after_seconds({"retry-after": soon}) == pytest.approx(3600, abs=HANG)
    assert retry_after_seconds({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0


@given(st.text(), st.text())
def test_no_header_is_trusted(milliseconds, seconds):
    wait = retry_after_seconds({"retry-after-ms": milliseconds, "retry-after": seconds})
    assert wait is None or 0 <= wait < float("inf")


@pytest.mark.parametrize(
    ("status", "types", "kind"),
    [
        (200, ("overloaded_error",), "overloaded"),
        (None, ("something_new",), "server"),
        (429, ("insufficient_quota",), "configuration"),
        (429, (None, "requests"), "rate_limit"),
        (401, (None, "invalid_request_error"), "authentication"),
        (418, (), "bad_request"),
        (502, (), "server"),
        (503, (), "overloaded"),
    ],
)
def test_failures_have_one_kind_for_all_providers(status, types, kind):
    assert kind_of_failure(status, types) == kind
