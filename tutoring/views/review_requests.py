"""Shared parts of the review views: access by role, the requested rule set, and the requested page of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from accounts.roles import Role, requires_role
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


def requested_page(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any]) -> Page[Any]:
    """Return the page of the rows that the address names, the first page by default."""
    return Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))


def query_without_page(request: HttpRequest) -> QueryDict:
    """Return the parameters of the address except the page number, for links to other pages of the list."""
    query = request.GET.copy()
    query.pop("page", None)
    return query
