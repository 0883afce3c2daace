"""The parts that all commands on studies share: the permission, the lock, and the refusal."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from accounts.roles import Role, has_role
from tutoring.models import Study
from tutoring.sessions.context import RefusedError


class StudyRefusedError(RefusedError):
    """A command on a study that its state does not allow. The message says what to do."""


def require_admin(person: User | None) -> None:
    """Raise PermissionDenied for a person who is not an admin."""
    if person is not None and not has_role(person, Role.ADMIN):
        raise PermissionDenied("Only admins manage studies.")


def lock_study(study_id: int) -> Study:
    """Return the study's row, locked until the transaction ends."""
    return Study.objects.select_for_update().get(pk=study_id)
