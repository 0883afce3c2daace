"""One line of the log for each request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

import structlog
from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from config.metrics import observe_request
from config.proxies import note_proxy

logger = structlog.get_logger(__name__)

QUIET = {"healthz", "metrics"}
"""Routes that programs request all the time; only their failures are logged."""


@sync_and_async_middleware
def request_log(
    get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]:
    """Log route, path, status, duration and account of each request.

    Queries and forms are not logged. Every line that is logged during the request has the same id.
    """

    def begin() -> float:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=uuid4().hex[:12])
        return time.perf_counter()

    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> HttpResponseBase:
            begun = begin()
            response: HttpResponseBase = await get_response(request)
            _log(request, response, time.perf_counter() - begun)
            return response

        return handle_async

    def handle(request: HttpRequest) -> HttpResponseBase:
        begun = begin()
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        _log(request, response, time.perf_counter() - begun)
        return response

    return handle


def _log(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    observe_request(request, response.status_code, seconds)
    note_proxy(request)
    route = request.resolver_match.url_name if request.resolver_match else None
    if route in QUIET and response.status_code < 400:
        return
    # `request.user` would query the database; the key is there if the page has read the login.
    user = getattr(request, "_cached_user", None)
    logger.info(
        "request",
        method=request.method,
        route=route,
        path=request.path,
        status=response.status_code,
        ms=round(seconds * 1000, 1),
        account=getattr(user, "pk", None),
    )
