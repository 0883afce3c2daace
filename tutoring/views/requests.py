"""Helpers of the views: fields of forms, the logged-in person, and the response to a tutor's command.

A page script sends `Accept: application/json` and gets a refusal as JSON. A plain form gets it as a message on the page
of the session.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.db import OperationalError
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.roles import Role, requires_role
from benchmark.text.numbers import whole_number
from tutoring.models import Session
from tutoring.sessions.context import RefusedError

logger = logging.getLogger(__name__)

PAGE_SIZE = 50
"""Rows of a list page."""


@dataclass(frozen=True)
class Choice:
    """A value of a filter with its label and the number of rows that have it, whatever the other filters are."""

    value: str
    label: str
    count: int


NOT_STORED = (
    "The server cannot store anything now ({fault}). Your text is not lost. Tell the operator, and try again "
    "in a moment."
)

NO_SESSION = "You have no such session."


def person_of(request: HttpRequest) -> User:
    """Return the logged-in person. LoginRequiredMiddleware rejects all others before a view is called."""
    assert isinstance(request.user, User)
    return request.user


def text_field(request: HttpRequest, name: str) -> str:
    """Return the text of a field with line ends as LF. Raises BadRequest for a NUL, which no database stores."""
    text = request.POST.get(name, "")
    if "\0" in text:
        raise BadRequest(f"The field '{name}' contains a NUL character, which cannot be stored. Remove it.")
    return text.replace("\r\n", "\n")


def command_id(request: HttpRequest) -> UUID:
    """Return the id of the command. Raises BadRequest without a valid one."""
    try:
        return UUID(request.POST["command"])
    except (KeyError, ValueError):
        raise BadRequest("The field 'command' must contain a UUID, which the page generates.") from None


def number_field(request: HttpRequest, name: str, default: str = "") -> int:
    """Return the whole number in a field. Raises BadRequest for anything else."""
    number = whole_number(request.POST.get(name, default))
    if number is None:
        raise BadRequest(f"The field '{name}' must contain a whole number.")
    return number


def intended_level(request: HttpRequest) -> int | None:
    """Return the level of help in the field `level`; None if it is absent or empty. Raises BadRequest."""
    return number_field(request, "level") if request.POST.get("level") else None


CommandView = Callable[[HttpRequest, UUID], HttpResponse | None]


def command(view: CommandView) -> Callable[..., HttpResponseBase]:
    """Turn a function that executes an action into a POST view for tutors.

    The response is the function's own, or says that the command was accepted; exceptions become refusals.
    """

    @require_POST
    @requires_role(Role.TUTOR)
    @wraps(view)
    def respond(request: HttpRequest, session_id: UUID) -> HttpResponse:
        if request.headers.get("Accept") == "application/json":
            return _json_response(view, request, session_id)
        try:
            response = view(request, session_id)
        except Session.DoesNotExist:
            raise Http404(NO_SESSION) from None
        except RefusedError as refused:
            messages.error(request, str(refused))
            response = None
        return response if response is not None else redirect("session", session_id=session_id)

    return respond


def _json_response(view: CommandView, request: HttpRequest, session_id: UUID) -> HttpResponse:
    try:
        response = view(request, session_id)
    except Session.DoesNotExist:
        return refusal(NO_SESSION, 404)
    except BadRequest as malformed:
        return refusal(str(malformed), 400)
    except OperationalError as fault:
        logger.error("a command could not be stored: %s", fault)  # no traceback: the disk may be full
        return refusal(NOT_STORED.format(fault=fault), 503)
    except RefusedError as refused:
        return refusal(str(refused), 409)
    return response if response is not None else JsonResponse({"accepted": True})


def refusal(message: str, status: int) -> JsonResponse:
    """Return the response to a page script whose command is refused; `message` is a sentence for the person."""
    return JsonResponse({"accepted": False, "message": message}, status=status)


def send_lines(lines: Iterator[str], name: str) -> StreamingHttpResponse:
    """Return a download of lines of JSON, which are sent as they are generated."""

    async def stream_lines() -> AsyncIterator[str]:
        # An ASGI server reads a synchronous iterator to its end before it sends the first line.
        while line := await sync_to_async(lambda: next(lines, ""))():
            yield line

    response = StreamingHttpResponse(stream_lines(), content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
