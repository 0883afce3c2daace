"""The page *Status*, for admins."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from config.status import read_status


@never_cache
@require_safe
@requires_role(Role.ADMIN)
def status(request: HttpRequest) -> HttpResponse:
    """Show processes by host, queues, failures, today's spending and the disk."""
    return render(request, "status.html", {"status": read_status(request.user)})
