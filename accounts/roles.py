"""Roles and the permission check of views. Each of the five roles is a Django group of the same name."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponseBase


class Role(StrEnum):
    """A role of a person. Admins have every permission of the others; a person may have several roles."""

    TUTOR = "tutor"
    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    RESEARCHER = "researcher"
    ADMIN = "admin"


Person = User | AnonymousUser | AbstractBaseUser


def roles_of(person: Person) -> frozenset[Role]:
    """Return the roles of an active, logged-in person, and no role for other visitors. Superusers are admins."""
    if not isinstance(person, User) or not person.is_active:
        return frozenset()
    roles = own_roles(person)
    return frozenset(Role) if Role.ADMIN in roles else roles


def own_roles(person: User) -> frozenset[Role]:
    """Return the roles that were given to the account, whether it is active or not. Superusers are admins."""
    roles = {Role(group.name) for group in person.groups.all() if group.name in set(Role)}
    return frozenset(roles | {Role.ADMIN} if person.is_superuser else roles)


def has_role(person: Person, *roles: Role) -> bool:
    """Return whether the person has at least one of the roles."""
    return not roles_of(person).isdisjoint(roles)


def requires_role(
    *roles: Role,
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Return a view decorator that answers 403 to people without any of the roles."""

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def checked(request: HttpRequest, *arguments: Any, **keywords: Any) -> HttpResponseBase:
            if isinstance(request.user, User):
                prefetch_related_objects([request.user], "groups")  # read once for the whole request
            held = roles_of(request.user)
            if not held:
                raise PermissionDenied("Your account has no role yet. Ask an admin to give you one.")
            if held.isdisjoint(roles):
                raise PermissionDenied(f"This page needs one of the roles: {', '.join(roles)}.")
            return view(request, *arguments, **keywords)

        return checked

    return decorate


def context(request: HttpRequest) -> dict[str, object]:
    """Return the template variable `roles`: the names of the visitor's roles."""
    # The request of an early error page (for example, an unknown host name) has no user.
    visitor = getattr(request, "user", AnonymousUser())
    return {"roles": {str(role) for role in roles_of(visitor)}}
