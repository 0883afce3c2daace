"""The pages of the errors 400, 500 and 503."""

import errno
import sys
from http import HTTPStatus

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.template.loader import render_to_string

from accounts.hashing import HashingBusyError
from benchmark.blob_stores import BlobStoreError
from config.logs import exception_chain

RETRY_SECONDS = 30
"""Seconds after which a browser may repeat a request that could not be served now."""

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_SQLITE_FULL = 13
_POSTGRESQL_DISK_FULL = "53100"


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponseBadRequest:
    """Return the page of error 400, with the message of a BadRequest.

    Messages of other exceptions, such as those about cookies and hosts, are for the log only. The page is rendered
    without the request, because the context processors may fail on it too.
    """
    reason = str(exception) if isinstance(exception, BadRequest) else ""
    return HttpResponseBadRequest(render_to_string("400.html", {"reason": reason}))


def server_error(_request: HttpRequest) -> HttpResponse:
    """Return the page of error 503 for a full disk, unavailable blobs or too many logins, and that of 500 otherwise.

    The pages are rendered without the request, because the context processors may fail too.
    """
    errors = list(exception_chain(sys.exc_info()[1]))
    reason = ""
    if any(_is_full_disk(error) for error in errors):
        reason = "disk"
    elif any(isinstance(error, BlobStoreError) for error in errors):
        reason = "blobs"
    elif any(isinstance(error, HashingBusyError) for error in errors):
        reason = "logins"
    if reason:
        page = render_to_string("503.html", {"reason": reason})
        response = HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE)
        response["Retry-After"] = str(RETRY_SECONDS)
        return response
    return HttpResponse(render_to_string("500.html"), status=HTTPStatus.INTERNAL_SERVER_ERROR)


def _is_full_disk(error: BaseException) -> bool:
    """Return whether the error of the system, SQLite or PostgreSQL means that the disk is full."""
    return (
        (isinstance(error, OSError) and error.errno in _NO_SPACE)
        or getattr(error, "sqlite_errorcode", None) == _SQLITE_FULL
        or getattr(error, "sqlstate", None) == _POSTGRESQL_DISK_FULL
    )
