"""The arms that manage.py ladder refuses to compare."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from tests.tutoring.studies.conftest import FreezeFactory, begin, finish
from tutoring.models import Study


def test_arms_with_the_same_cap_are_refused(freeze: FreezeFactory, tutors: list[User]):
    frozen = freeze()
    finish(begin(tutors[0]), solved=True)
    Study.objects.filter(pk=frozen.pk).update(state=Study.State.CLOSED)
    with pytest.raises(CommandError, match="have the same level cap 4"):
        call_command("ladder", "--human", "study=hints")
