"""Access of every role to every command of the site. Access to its pages: test_reads.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.roles import Role

ANYBODY = frozenset(Role)
"""Every user with a role."""
TUTORS = {Role.TUTOR, Role.ADMIN}
REVIEWERS = {Role.REVIEWER, Role.ADJUDICATOR, Role.ADMIN}
READERS = REVIEWERS | {Role.RESEARCHER}
FIGURES = {Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN}
RESEARCHERS = {Role.RESEARCHER, Role.ADMIN}
ADMINS = {Role.ADMIN}

PAGES = {
    "problems": ANYBODY, "figure": ANYBODY, "problem": ANYBODY,
    "runs": RESEARCHERS, "run_matrix": RESEARCHERS, "compare_runs": RESEARCHERS, "ablations": RESEARCHERS,
    "published_tables": RESEARCHERS, "question_sets": RESEARCHERS, "question_set": RESEARCHERS,
    "question": RESEARCHERS, "suites": RESEARCHERS, "suite": RESEARCHERS, "verifiers": RESEARCHERS,
    "candidate_rankings": RESEARCHERS,
    "models": RESEARCHERS, "model": RESEARCHERS, "model_test": RESEARCHERS,
    "add_model": ADMINS, "edit_model": ADMINS, "new_model_version": ADMINS,
    "growth": RESEARCHERS, "slow_programs": RESEARCHERS,
    "verifier": RESEARCHERS, "chain": RESEARCHERS, "run": RESEARCHERS, "run_progress": RESEARCHERS,
    "run_refinement": RESEARCHERS, "run_items": RESEARCHERS, "run_report": RESEARCHERS,
    "sessions": TUTORS, "export_own_sessions": TUTORS, "session": TUTORS, "program_comparison": TUTORS,
    "session_growth": TUTORS, "trajectory_growth": RESEARCHERS | {Role.REVIEWER},  # after a review
    "codebook": ANYBODY, "codebook_version": ANYBODY, "training": ANYBODY, "training_result": ANYBODY,
    "training_results": ADMINS,
    "program_scores": RESEARCHERS, "arms": RESEARCHERS, "receptivity": RESEARCHERS, "replay": RESEARCHERS,
    "hint_card": RESEARCHERS,
    "automatic_tutors": RESEARCHERS, "ladder": RESEARCHERS, "effort": TUTORS | RESEARCHERS,
    "rejudgings": RESEARCHERS, "rejudging": RESEARCHERS,
    "trajectories": READERS, "export_trajectories": READERS, "trajectory": READERS, "export_trajectory": READERS,
    "trajectory_page": READERS, "reviewed_sessions": READERS, "compare_reviews": READERS,
    "review_queue": REVIEWERS, "review": REVIEWERS, "applicability_queue": REVIEWERS,
    "agreement": FIGURES, "solve_rates": FIGURES, "detector_scores": FIGURES, "detector_messages": FIGURES,
    "labels_csv": FIGURES, "text_models": ADMINS, "text_model_training": ADMINS,
    "audit_log": ADMINS, "review_assignments": ADMINS, "status": ADMINS,
    "spending": RESEARCHERS,
    "accounts": ADMINS, "add_account": ADMINS, "account": ADMINS, "account_log": ADMINS,
    "withdraw_consent": ADMINS,
    "studies": RESEARCHERS, "study": RESEARCHERS, "study_design": RESEARCHERS, "study_power": RESEARCHERS,
    "study_assignments": RESEARCHERS, "preregistration": RESEARCHERS, "download_preregistration": RESEARCHERS,
    "download_study": RESEARCHERS,
    "new_study": ADMINS, "edit_study": ADMINS,
}  # fmt: skip
"""Pages by role. Pages of one object may have further restrictions, which their own tests cover."""

COMMANDS = {
    "start_session": TUTORS, "send_message": TUTORS, "ask_again": TUTORS, "stop_reply": TUTORS, "execute": TUTORS,
    "close_session": TUTORS, "save_draft": TUTORS, "save_note": TUTORS, "run_samples": TUTORS, "check_draft": TUTORS,
    "request_draft": TUTORS, "insert_draft": TUTORS, "check_draft_with_model": TUTORS,
    "finish_training": ANYBODY,
    "claim_next": REVIEWERS, "save_review_draft": REVIEWERS, "submit_review": REVIEWERS, "skip_review": REVIEWERS,
    "flag_session": REVIEWERS, "label_applicability": REVIEWERS,
    "test_model": ADMINS,
    "next_session": TUTORS, "report_problem": TUTORS,
    "save_study": ADMINS, "freeze_study": ADMINS, "amend_study": ADMINS, "take_look": ADMINS, "start_arms": ADMINS,
    "stop_study": ADMINS,
    "close_study": ADMINS, "record_deviation": ADMINS,
    "assign_review": ADMINS, "assign_matching_reviews": ADMINS,
    "withdraw_review": ADMINS, "answer_flag": ADMINS, "invalidate": ADMINS,
    "start_rejudging": ADMINS, "decide_rejudging": ADMINS,
    "start_text_model_training": ADMINS, "decide_text_model": ADMINS, "use_shipped_text_model": ADMINS,
    "change_account": ADMINS,
    "add_cap": ADMINS, "edit_cap": ADMINS, "remove_cap": ADMINS,
}  # fmt: skip

OPEN = {
    "healthz", "login", "logout", "home", "glossary", "near_misses", "admin_login", "admin_password", "set_password",
    "own_account", "end_own_logins", "metrics", "single_sign_on", "single_sign_on_callback",
}  # fmt: skip
"""Addresses without data of other people: `home`, `near_misses` and the two of `admin` redirect to other pages,
`glossary` needs no login, `set_password` needs a link, `own_account` shows the visitor only, `metrics` needs a
token, and the two of single sign-on lead to the provider and back."""

ARGUMENTS = {
    "session_id": UUID(int=0), "review_id": UUID(int=0), "run_id": UUID(int=0), "flag_id": 0, "result_id": 0,
    "verifier_id": 0, "submission_id": 0, "item_id": 0, "model_id": 0, "problem_id": 0, "cap_id": 0, "study_id": 0,
    "rejudging_id": 0, "training_id": 0, "replay_id": UUID(int=0), "card_id": 0, "placement_id": 0,
    "account_id": 0, "version": 1, "number": 0, "dataset": "none", "external_id": "none",
    "name": "none", "form": "json", "uidb64": "none", "token": "none",
}  # fmt: skip


def addresses(arguments: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name of every URL pattern with an address, which leads to an object where `arguments` name one."""
    for pattern in _patterns(get_resolver()):
        assert pattern.name, f"{pattern} has no name"
        given = {**ARGUMENTS, **(arguments or {}).get(pattern.name, {})}
        yield (
            pattern.name,
            reverse(pattern.name, kwargs={name: given[name] for name in pattern.pattern.converters}),
        )


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    """Yield every URL pattern except those of Django's administration and the redirects to it."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield pattern
        elif pattern.namespace not in {"admin", "former_admin"}:
            yield from _patterns(pattern)


def test_every_url_is_in_these_tables():
    names = sorted(name for name, _ in addresses())
    assert names == sorted([*PAGES, *COMMANDS, *OPEN]), "add the new view to PAGES, COMMANDS or OPEN"


def is_refused(visitor: str, answer: Any) -> bool:
    """Return whether the visitor was sent to the login page, or refused after a login."""
    if visitor == "nobody":
        return bool(answer.status_code == 302 and answer.headers["Location"].startswith("/login/"))
    return bool(answer.status_code == 403)


@pytest.mark.slow
def test_each_command_admits_its_roles_only(visitors: dict[str, Client], caplog: pytest.LogCaptureFixture):
    caplog.set_level("CRITICAL", "django.request")  # logging hundreds of rejections with tracebacks is slow
    wrong = []
    for command, address in addresses():
        if command not in COMMANDS:
            continue
        for visitor, client in visitors.items():
            answer = client.post(address)
            if is_refused(visitor, answer) != (visitor not in COMMANDS[command]):
                wrong.append(f"{visitor} at {address}: {answer.status_code}")
    assert wrong == []


@pytest.mark.django_db
@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_staff_may_open_the_administration(role: Role):
    user = User.objects.create_user("somebody")
    user.groups.set(Group.objects.filter(name=role))
    client = Client()
    client.force_login(user)
    answer = client.get("/admin/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/login/?next=/admin/")
