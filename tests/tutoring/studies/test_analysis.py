"""The figures of studies while outcomes are missing, and of studies that were frozen under earlier rules."""

from __future__ import annotations

import hashlib

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.tutoring.studies.conftest import FreezeFactory, begin, end_chains, finish, hold_all, review
from tests.tutoring.studies.designs import design_data, frozen_design
from tutoring.models import Assignment, Study
from tutoring.studies.actions import OfferNext, StopStudy, TakeLook, withdraw_from_studies
from tutoring.studies.analysis import current_figures
from tutoring.studies.design import canonical_json, parse_frozen
from tutoring.studies.flow import study_flow
from tutoring.studies.methods_text import methods_text
from tutoring.studies.preregistration import analysis_plan, assumptions, preregistration_markdown
from tutoring.studies.upkeep import advance_studies

NEUTRAL = {"kind": "automatic", "name": "neutral", "method": "zero-shot", "model": "m@1"}


def against_chains(freeze: FreezeFactory, **changes: object) -> Study:
    """Freeze a study of one human arm against chains, whose outcome waits for reviews."""
    return freeze(
        **{
            "arms": [design_data()["arms"][0], NEUTRAL],
            "primary_contrast": ["arm-0", "neutral"],
            "primary_outcome": "solved and compliant",
            "stopping": {"rule": "sign e-value"},
        }
        | changes
    )


def hold_one_each(tutors: list[User], *, solved: int) -> list[Assignment]:
    """Hold one session of each tutor, in turn; the first ones are solved."""
    held = []
    for place, tutor in enumerate(tutors):
        held.append(begin(tutor))
        finish(held[-1], solved=place < solved)
    return held


def test_a_solved_session_that_waits_for_reviews_holds_back_later_failures(
    freeze: FreezeFactory, tutors: list[User], ada: User
):
    other = NEUTRAL | {"name": "other"}
    study = against_chains(
        freeze,
        arms=[design_data()["arms"][0], NEUTRAL, other],
        secondary_contrasts=[["arm-0", "other"]],
    )
    end_chains(study, solved=lambda _: True)
    first, *_ = hold_one_each(tutors, solved=1)
    waiting = current_figures(study)
    assert waiting.e_value is not None
    assert (waiting.pairs, waiting.later_pairs, waiting.e_value.for_second) == (0, 3, 0)
    assert [(one.arm, one.sessions) for one in waiting.arms] == [("arm-0", 0), ("neutral", 6), ("other", 6)]
    assert waiting.secondary == []
    TakeLook(None, study.pk).execute()
    browser = Client()
    browser.force_login(ada)
    shown = browser.get(f"/studies/{study.pk}/").content.decode()
    assert "3 later pairs are complete, but an earlier one waits for an outcome." in shown
    review(first)
    known = current_figures(study)
    assert known.e_value is not None
    assert (known.pairs, known.later_pairs) == (4, 0)
    assert (known.e_value.ties, known.e_value.for_second) == (1, 3)
    assert [one.rate for one in known.arms] == [0.25, 1.0, 1.0]
    assert [one.problems for one in known.secondary] == [4]


def test_one_session_against_three_chains_has_the_sign_of_the_first_chain(
    freeze: FreezeFactory, tutors: list[User]
):
    study = against_chains(freeze, arms=[design_data()["arms"][0], NEUTRAL | {"draws": 3}])
    end_chains(study, solved=lambda row: row.replicate == 1)
    for held in hold_one_each(tutors, solved=len(tutors)):
        review(held)
    figures = current_figures(study)
    assert figures.e_value is not None
    assert figures.primary is not None
    assert (figures.pairs, figures.e_value.ties, figures.e_value.for_first) == (4, 4, 0)
    assert figures.primary.difference == pytest.approx(2 / 3), "the estimate uses all chains"
    assert "equally many" in preregistration_markdown(study)
    study.design["format"] = 1
    study.save()
    assert any("equally many" in one for one in current_figures(study).corrections)


def test_pairs_beyond_the_maximum_are_counted_but_not_used(
    freeze: FreezeFactory, tutors: list[User], ada: User
):
    study = against_chains(freeze, primary_outcome="solved", stopping={"rule": "sign e-value", "maximum": 2})
    end_chains(study, solved=lambda _: False)
    held = [begin(tutor) for tutor in tutors]
    for row in held[:2]:
        finish(row, solved=True)
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.STOPPED
    for row in held[2:]:
        finish(row, solved=False)
    figures = current_figures(study)
    assert figures.primary is not None
    assert figures.e_value is not None
    assert (figures.pairs, figures.pairs_beyond_maximum, figures.primary.problems) == (2, 2, 2)
    assert (figures.e_value.for_first, figures.e_value.ties) == (2, 0)
    assert figures.stop_reason == "All 2 of 2 pairs are complete."
    assert figures.arms[0].problems == 4
    browser = Client()
    browser.force_login(ada)
    shown = browser.get(f"/studies/{study.pk}/").content.decode()
    assert "2 pairs are beyond the maximum" in shown


def test_no_session_is_offered_once_the_maximum_of_pairs_is_started(
    freeze: FreezeFactory, tutors: list[User]
):
    study = against_chains(freeze, stopping={"rule": "sign e-value", "maximum": 2})
    end_chains(study, solved=lambda _: False)
    first, _ = hold_one_each(tutors[:2], solved=1)
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.RUNNING, "the first session waits for its reviews"
    assert not study.looks.exists()
    assert [OfferNext(tutor).execute() for tutor in tutors] == [None] * 4
    review(first)
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.CLOSED
    figures = current_figures(study)
    assert (figures.pairs, figures.stop, figures.pairs_beyond_maximum) == (2, True, 0)
    assert study.looks.get().decision == "stop"


def test_pairs_that_complete_after_a_stop_are_used(freeze: FreezeFactory, tutors: list[User]):
    study = against_chains(freeze, primary_outcome="solved")
    end_chains(study, solved=lambda _: False)
    held = [begin(tutor) for tutor in tutors]
    finish(held[0], solved=True)
    StopStudy(None, study.pk, "Enough.").execute()
    for row in held[1:]:
        finish(row, solved=False)
    assert current_figures(study).pairs == 4
    assert "complete after it are used too" in preregistration_markdown(study)
    study.design["format"] = 2
    study.save()
    [correction] = current_figures(study).corrections
    assert "complete after it are used too" in correction


def test_a_session_withdrawn_before_its_reviews_counts_as_not_solved(
    freeze: FreezeFactory, tutors: list[User], ada: User
):
    study = against_chains(freeze, stopping={"rule": "fixed"})
    end_chains(study, solved=lambda _: False)
    _, *others = hold_one_each(tutors, solved=len(tutors))
    for row in others:
        review(row)
    StopStudy(None, study.pk, "Enough.").execute()
    advance_studies()
    study.refresh_from_db()
    assert (study.state, current_figures(study).pairs) == (Study.State.STOPPED, 0), "it waits for a review"
    withdraw_from_studies(tutors[0], "Withdrew on request.")
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.CLOSED
    figures = current_figures(study)
    assert figures.primary is not None
    assert (figures.pairs, figures.primary.first_rate, figures.withdrawn_unknown) == (4, 0.75, 1)
    browser = Client()
    browser.force_login(ada)
    shown = browser.get(f"/studies/{study.pk}/").content.decode()
    assert (
        "1 session was withdrawn before the outcome was known. By assignment, it counts as not solved."
        in shown
    )
    text = methods_text(study, study_flow(study), figures)
    assert "1 session was withdrawn before the outcome was known. It counts as not solved." in text


def test_the_preregistration_names_the_test_of_each_contrast(freeze: FreezeFactory, tutors: list[User]):
    study = freeze(
        arms=[*design_data()["arms"], NEUTRAL | {"draws": 3}],
        secondary_contrasts=[["arm-0", "neutral"]],
    )
    hold_all(tutors, solved=lambda row: row.arm.name == "arm-0")
    end_chains(study, solved=lambda row: row.replicate == 1)
    figures = current_figures(study)
    assert figures.primary is not None
    assert figures.primary.first_sessions == figures.primary.problems
    plan = analysis_plan(parse_frozen(study.design))
    assert "McNemar's exact test" in plan[1]
    [secondary] = [sentence for sentence in plan if sentence.startswith("Secondary contrasts")]
    assert "arm-0 less neutral, with the t interval" in secondary
    study.design["format"] = 1
    assert "the t interval" in analysis_plan(parse_frozen(study.design))[1]
    assert any("McNemar's exact test" in one for one in current_figures(study).corrections)


_EVERY_SENTENCE: dict[str, object] = {
    "draws": 3,
    "primary_outcome": "solved and compliant",
    "secondary_contrasts": [["arm-0", "neutral"]],
    "stopping": {"rule": "sign e-value", "maximum": 4},
}


@pytest.mark.parametrize(
    ("number", "changes", "digest"),
    [
        (1, {}, "c0b98a5eeba98bda92065163c50a31c9d3998d6e572a67d458dffa28963442c2"),
        (1, _EVERY_SENTENCE, "8f34ec29263f496af2052a2902ebdbab02d84c52c808779577c0a682f8ae6edb"),
        (2, {}, "519c07884285953f6432a6472ed58c19969dca3dc31fe627b5eedb747a9827ba"),
        (2, _EVERY_SENTENCE, "2d9a9305022d0206b595a4d7c2eb94694639872ffd9c696935bc75ac48f08859"),
    ],
)
def test_the_preregistration_of_an_earlier_format_keeps_its_sentences(
    number: int, changes: dict[str, object], digest: str
):
    frozen = frozen_design(6, **changes).model_copy(update={"format": number})  # type: ignore[arg-type]
    text = canonical_json([analysis_plan(frozen), assumptions(frozen)])
    assert hashlib.sha256(text.encode()).hexdigest() == digest


def test_corrections_of_an_earlier_format_are_published(freeze: FreezeFactory, ada: User):
    study = against_chains(freeze)
    assert current_figures(study).corrections == []
    assert "up to the first pair that waits" in preregistration_markdown(study)
    study.design["format"] = 1
    study.save()
    assert "up to the first pair that waits" not in preregistration_markdown(study)
    figures = current_figures(study)
    assert "up to the first pair that waits" in figures.corrections[0]
    assert "### Corrections" in methods_text(study, study_flow(study), figures)
    browser = Client()
    browser.force_login(ada)
    for address in (f"/studies/{study.pk}/", f"/studies/{study.pk}/preregistration/"):
        shown = browser.get(address).content.decode()
        assert "The analysis was corrected after this study was frozen." in shown
