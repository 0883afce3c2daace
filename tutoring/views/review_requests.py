"""Shared parts of the review views: access by role, the requested rule set, and the requested page of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict

from accounts.roles import Role, requires_role
from tutoring.review.slots import ORIGINS, Origins
from tutoring.rules import RuleSet, UnknownRuleSetError, current_rule_set, rule_set
from tutoring.views.requests import PAGE_SIZE

for_reviewers = requires_role(Role.REVIEWER, Role.ADJUDICATOR)
"""Decorator of views for people who label sessions."""

for_trajectory_readers = requires_role(Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)
"""Decorator of views that show recorded sessions."""

for_figure_readers = requires_role(Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)
"""Decorator of views that show figures made from reviews."""


def requested_rule_set(request: HttpRequest) -> RuleSet:
    """Return the rule set in the address, or the current one. Raise BadRequest for an unknown version."""
    version = request.GET.get("rule_set", "")
    try:
        return rule_set(int(version)) if version else current_rule_set()
    except (ValueError, UnknownRuleSetError):
        raise BadRequest(f"There is no rule set {version!r}.") from None


def requested_origins(query: QueryDict) -> Origins:
    """Return the requested origins of sessions, people by default. Raise BadRequest for unknown ones."""
    wanted = query.get("origin", "people")
    for origins in ORIGINS:
        if origins == wanted:
            return origins
    raise BadRequest(f"There is no origin {wanted!r}. There are: {', '.join(ORIGINS)}.")


def people_with(*roles: Role) -> QuerySet[User]:
    """Return the active people with one of the roles, by user name. Admins have every role."""
    able = Q(groups__name__in=[*roles, Role.ADMIN]) | Q(is_superuser=True)
    return User.objects.filter(able, is_active=True).distinct().order_by("username")


def requested_page(
    request: HttpRequest,
    rows: QuerySet[Any] | Sequence[Any],
    parameter: str = "page",
    length: int = PAGE_SIZE,
) -> Page[Any]:
    """Return the page of the rows that the parameter of the address names, the first page by default."""
    return Paginator(rows, length).get_page(request.GET.get(parameter))
