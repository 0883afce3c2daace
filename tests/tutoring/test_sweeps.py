"""Work of sessions that a process lost: verdicts are recorded, and replies are claimed again at once."""

import pytest
from django.utils import timezone

from benchmark import judging
from tests.benchmark.processes import killed_process
from tests.tutoring.dialogues import RIGHT, SessionUnderTest
from tutoring.models import Event, Reply, Session
from tutoring.replies.claims import claim_replies
from tutoring.sweeps import record_missed_verdicts


@pytest.mark.usefixtures("sandbox")
def test_verdict_whose_signal_was_lost_is_recorded_once(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    record_missed_verdicts()
    assert session.refresh().state == Session.State.JUDGING, "the execution is not judged yet"
    receivers, judging.judgement_finished.receivers = judging.judgement_finished.receivers, []
    judging.judgement_finished.sender_receivers_cache.clear()
    try:
        session.judge()
    finally:
        judging.judgement_finished.receivers = receivers
        judging.judgement_finished.sender_receivers_cache.clear()
    assert session.row.state == Session.State.JUDGING
    for _ in range(2):
        record_missed_verdicts()
        assert session.refresh().outcome == Session.Outcome.SOLVED
        assert len(session.events(Event.Kind.VERDICT)) == 1


def test_reply_of_a_streamer_that_was_killed_is_claimed_at_once(session: SessionUnderTest):
    session.say()
    with killed_process() as owner:
        [reply] = Reply.claim(owner, 1, timezone.now())
        assert claim_replies(10) == [], "its streamer lives"
    [claimed] = claim_replies(10)
    assert (claimed.pk, claimed.attempt) == (reply.pk, 2)
