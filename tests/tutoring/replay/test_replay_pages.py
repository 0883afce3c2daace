"""The pages of replays, and the erasure of a session's cards."""

from __future__ import annotations

import re
from datetime import date
from html import unescape

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from accounts.roles import Role
from benchmark.models import LanguageModel, Problem
from tests.tutoring.arms.arm_rows import store_problems
from tests.tutoring.replay.replay_rows import SPEC, store_replay
from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun, ReplayState, Session
from tutoring.replay.figures import figures_of
from tutoring.replay.text import figures_text
from tutoring.replay.withdrawal import erase_replays

pytestmark = pytest.mark.django_db


@pytest.fixture
def problems() -> list[Problem]:
    return store_problems(6)


@pytest.fixture
def researcher() -> Client:
    user = User.objects.create_user("researcher")
    user.groups.set(Group.objects.filter(name=Role.RESEARCHER))
    client = Client()
    client.force_login(user)
    return client


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def test_receptivity_lists_the_replays_with_their_figures(researcher: Client, problems: list[Problem]):
    assert "There is no replay yet." in shown(researcher, "/runs/receptivity/")
    run = store_replay(problems)
    page = shown(researcher, "/runs/receptivity/")
    assert run.figures is not None
    gain, content = (one["mean"] for one in run.figures["gains"][:2])
    assert (gain, content) == (pytest.approx(0.625), 0.75)
    assert "+62.5" in page
    assert "+75.0" in page
    assert "exploratory" in page
    assert "simulated" not in page


def test_problems_without_hidden_tests_are_named_beside_the_figures(
    researcher: Client, problems: list[Problem]
):
    run = store_replay(problems)
    address = run.get_absolute_url()
    sentence = "2 of 6 problems have no hidden tests: there, a program is right if it passes the samples."
    assert "hidden tests" not in shown(researcher, address)
    Problem.objects.filter(pk__in=[problem.pk for problem in problems[:2]]).update(samples_only=True)
    assert sentence in shown(researcher, address)
    assert sentence in figures_text(run)


def test_simulated_replays_say_so(researcher: Client, problems: list[Problem]):
    run = store_replay(problems, manifest={"excluded": {}, "scripted_model": True, "thresholds": {}})
    assert "simulated" in shown(researcher, "/runs/receptivity/")
    file = researcher.get(f"{run.get_absolute_url()}?plot=gains&as=svg").content.decode()
    assert "(simulated)" in file
    card = HintCard.objects.order_by("pk")[0]
    assert "simulated" in shown(researcher, card.get_absolute_url())
    assert "Simulated: the replies are scripted" in shown(researcher, run.get_absolute_url())


def test_a_replay_shows_figures_exclusions_and_placements(researcher: Client, problems: list[Problem]):
    run = store_replay(problems, mode="own")
    left_out, other = (card.event.session for card in HintCard.objects.order_by("pk")[:2])
    run.manifest |= {"excluded_sessions": {"not reviewed": [str(left_out.pk)]}}
    run.save()
    listed = shown(researcher, f"/trajectories/?replay={run.pk}&reason=not+reviewed")
    assert left_out.problem is not None
    assert other.problem is not None
    assert f"/{left_out.problem.external_id}" in listed
    assert f"/{other.problem.external_id}" not in listed
    link = f"/trajectories/?replay={run.pk}&amp;reason=not+reviewed"
    assert link in researcher.get(run.get_absolute_url()).content.decode()
    run.manifest["excluded"] |= {"no program before the message": 1}
    run.save()
    page = shown(researcher, run.get_absolute_url())
    for text in (
        "2 sessions not reviewed",
        "1 session no program before the message",
        "Misfit harm",
        "Portability",
        "Uptake",
        "Validity of near misses",
        "Gain by overlap",
    ):
        assert text in page
    assert "6 in total" in page
    assert "0 in total" in shown(researcher, f"{run.get_absolute_url()}?fit=same")
    assert "6 in total" in shown(researcher, f"{run.get_absolute_url()}?fit=other")


def test_a_transplant_is_shown_by_dialogue_and_beside_the_replay_of_own_programs(
    researcher: Client, problems: list[Problem]
):
    transplant = store_replay(problems)
    own = HintCard.objects.order_by("pk")[0].event.session
    Session.objects.filter(pk=own.pk).update(model_spec=SPEC)
    transplant.figures = figures_of(transplant)
    transplant.save()
    assert "Dialogue of Gain" in shown(researcher, transplant.get_absolute_url())
    for held_by, number in (("the model itself", 1), ("other models", 5)):
        page = shown(researcher, f"{transplant.get_absolute_url()}?dialogue={held_by}")
        assert f"{number} in total" in page
        [group] = [one for one in transplant.figures["dialogues"] if one["side"] == held_by]
        assert group["gains"][0]["placements"] == number
    run = store_replay(problems, mode="own")
    assert "History" not in shown(researcher, run.get_absolute_url()), "no program fails alike"
    Placement.objects.filter(state__run=run).update(fit="same")
    ReplayDraw.objects.filter(state__run=run, arm="hint", number=0).update(right=False)
    run.figures = figures_of(run)
    run.save()
    assert "History gain of a transplant − gain at own programs" in shown(researcher, run.get_absolute_url())
    assert (run.figures["history"]["mean"], run.figures["history"]["placements"]) == (pytest.approx(0.25), 12)
    link = f'href="{transplant.get_absolute_url()}"'
    assert link in researcher.get(run.get_absolute_url()).content.decode()
    assert "gain of transplants less that at own programs" in figures_text(run)


def test_problems_before_and_after_the_cutoff_have_figures_of_their_own(
    researcher: Client, problems: list[Problem]
):
    run = store_replay(problems)
    assert run.figures is not None
    assert run.figures["cutoff"] is None
    assert "The cutoff of the model is unknown" in shown(researcher, run.get_absolute_url())
    for number, problem in enumerate(problems):
        problem.contest_date = [None, date(2023, 10, 31), date(2023, 11, 1)][min(number, 2)]
        problem.save()
    LanguageModel.objects.update(cutoff=date(2023, 10, 31))
    run = ReplayRun.objects.get()
    run.figures = figures_of(run)
    run.save()
    groups = {one["side"]: one for one in run.figures["cutoff"]["groups"]}
    assert {side: one["gains"][0]["problems"] for side, one in groups.items()} == {
        "before": 1, "after": 4, "no date": 1,
    }  # fmt: skip
    assert groups["after"]["gains"][0]["mean"] == pytest.approx(0.625)
    assert "4 in total" in shown(researcher, f"{run.get_absolute_url()}?side=after")
    assert "1 in total" in shown(researcher, f"{run.get_absolute_url()}?side=no%20date")


def test_a_card_shows_its_draws_with_their_differences(researcher: Client, problems: list[Problem]):
    run = store_replay(problems)
    card = HintCard.objects.order_by("pk")[0]
    page = shown(researcher, card.get_absolute_url())
    assert "Look at the sample." in page
    assert "1 line added, 1 line removed" in page
    assert "hint, draw 0 right solved" in page
    assert "hint: 3 of 4 neutral: 0 of 4 verdict: 1 of 4 sham: 0 of 4" in page
    assert page.index("hint, draw 3") < page.index("neutral, draw 0") < page.index("sham, draw 3")
    only = shown(researcher, f"{card.get_absolute_url()}?replay={run.pk}&arm=sham")
    assert "sham, draw 0" in only
    assert "hint, draw 0" not in only
    assert "There are no draws yet." in shown(researcher, f"{card.get_absolute_url()}?replay=nonsense")


def test_the_programs_of_a_reply_are_escaped(researcher: Client, problems: list[Problem]):
    store_replay(problems)
    ReplayDraw.objects.update(program="<script>alert(1)</script>", reply="<script>alert(2)</script>")
    answer = researcher.get(HintCard.objects.order_by("pk")[0].get_absolute_url()).content.decode()
    assert "<script>alert" not in answer


def test_an_erased_session_leaves_no_word_of_it(problems: list[Problem]):
    run = store_replay(problems)
    card = HintCard.objects.order_by("pk")[2]
    before = ReplayDraw.objects.count()
    [number, judgements] = erase_replays([card.event.session_id])
    assert number == 1
    assert card.judgement_id in judgements
    assert not HintCard.objects.filter(pk=card.pk).exists()
    assert not ReplayDraw.objects.filter(card=card.pk).exists()
    assert Placement.objects.count() == 5
    assert ReplayState.objects.count() == 5
    assert before - ReplayDraw.objects.count() == 16 + 4, "its own draws, and those of its text as a sham"
    assert all(card.pk not in state.shams for state in ReplayState.objects.all())
    run.refresh_from_db()
    assert run.figures is None
    assert figures_of(ReplayRun.objects.get())["placements"] == 5
    assert erase_replays([card.event.session_id]) == (0, set())
