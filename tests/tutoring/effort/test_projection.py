"""The projection of closed sessions into rows of effort."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from benchmark.models import Problem
from tests.tutoring.dialogues import TALK, WRONG, SessionUnderTest, start
from tutoring.actions import CloseSession
from tutoring.effort.projection import missing_efforts, project_efforts
from tutoring.models import Event, Reply, SessionEffort
from tutoring.protocols import PRESETS
from tutoring.protocols import freeze as freeze_protocol


def test_closed_session_is_projected_once(alice: User, doubling: Problem):
    at_once = PRESETS["usaco-2024"].with_settings(seconds_to_first_word=None, characters_per_second=None)
    session = SessionUnderTest(start(alice, doubling, freeze_protocol("at-once", at_once)), alice)
    session.ask_and_get(WRONG)
    session.say("Look at the sample.")
    session.reply(TALK)
    assert not missing_efforts().exists(), "an open session has no effort yet"
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    project_efforts()
    row = SessionEffort.objects.get()
    assert (row.messages, row.unknown, row.microdollars) == (1, 0, None), "the price of the model is unknown"
    assert 0 <= row.seconds < 60
    events = session.events(Event.Kind.REPLY, Event.Kind.MESSAGE)
    assert events[1].at is not None
    assert events[2].at is not None
    assert row.seconds == pytest.approx((events[2].at - events[1].at).total_seconds())
    assert not missing_efforts().exists()


def test_known_prices_give_the_cost_of_the_replies(session: SessionUnderTest):
    session.ask_and_get(WRONG)
    Reply.objects.update(price={"input": 10.0, "output": 20.0})
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    project_efforts()
    assert SessionEffort.objects.get().microdollars == 10 * 10 + 5 * 20
