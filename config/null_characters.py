"""The refusal of addresses with a NUL character, which PostgreSQL can neither store nor compare."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def refuse_null_characters(get_response: GetResponse) -> GetResponse:
    """Raise BadRequest for a NUL in the path or the query of a request."""

    def handle(request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if "%00" in request.get_full_path():
            raise BadRequest("The address contains a NUL character. Remove it.")
        return get_response(request)

    return markcoroutinefunction(handle) if iscoroutinefunction(get_response) else handle
