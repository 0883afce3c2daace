"""The page of error 400."""

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponseBadRequest
from django.template.loader import render_to_string


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponseBadRequest:
    """Return the page of error 400, with the message of a BadRequest.

    Messages of other exceptions, such as those about cookies and hosts, are for the log only. The page is rendered
    without the request, because the context processors may fail on it too.
    """
    reason = str(exception) if isinstance(exception, BadRequest) else ""
    return HttpResponseBadRequest(render_to_string("400.html", {"reason": reason}))
