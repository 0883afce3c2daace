"""Rule sets: complete, frozen, and equal on the page and in the document."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.tutoring.dialogues import SessionUnderTest
from tutoring.models import Protocol
from tutoring.protocols import Rules, freeze, rules_of
from tutoring.rules import MessageContext, UnknownRuleSetError, current_rule_set, rule_set, rule_set_versions
from tutoring.rules.detectors import detect

PUBLISHED = {1: "8f2eac6bba670c7296d5bbae01b1b113bb18de84f79ef773204a1bfea5aaa489"}
"""A published version is never edited: sessions and reviews refer to this hash."""


def test_published_versions_never_change():
    assert {version: rule_set(version).content_hash for version in rule_set_versions()} == PUBLISHED


def test_codebook_holds_every_clause_level_and_stage():
    rules = current_rule_set()
    assert [clause.code for clause in rules.forbidden] == ["F1", "F2", "F3", "F4", "F5"]
    assert [clause.code for clause in rules.allowed] == ["A1", "A2", "A3", "A4", "A5", "A6"]
    assert [level.level for level in rules.levels] == [0, 1, 2, 3, 4]
    assert [stage.code for stage in rules.stages] == ["comprehension", "planning", "coding", "debugging"]
    assert [verdict.code for verdict in rules.verdicts] == ["compliant", "minor", "major"]


def test_an_unknown_version_lists_the_known_ones():
    with pytest.raises(UnknownRuleSetError, match=r"no rule set of version 99. Known versions: 1"):
        rule_set(99)


def test_protocol_and_session_record_the_rule_set(session: SessionUnderTest, protocol: Protocol):
    rules = rules_of(protocol)
    assert (rules.rule_set, rules.rule_set_hash) == (1, PUBLISHED[1])
    assert session.events("opened")[0].data["protocol_hash"] == protocol.content_hash


def test_a_protocol_older_than_rule_sets_is_read_unchanged(db: None):
    old = {
        "title": "Old",
        "language": "python",
        "code_generations": 5,
        "executions": 1,
        "sessions": 3,
        "stops": 3,
    }
    rules = Rules.from_json({**old, "may": [], "may_not": []}, "protocol old v1")
    assert (rules.rule_set, rules.draft_check) == (None, "off")
    assert rules_of(freeze("old", rules)) == rules


@pytest.mark.slow
@pytest.mark.parametrize("clause", current_rule_set().clauses, ids=lambda clause: clause.code)
def test_detectors_warn_of_no_allowed_example(clause):
    context = MessageContext(
        statement="Find the least number of swaps that sorts a line of cows by height.",
        analysis="Split the permutation into cycles. Each cycle needs its length less one swaps.",
        programs=("swaps = 0\nfor i in range(n):\n    swaps += 2\nprint(swaps)",),
    )
    allowed = [clause.allowed_example]
    if clause.kind == "allowed":
        allowed.append(clause.borderline_example)
    for text in allowed:
        assert [found for found in detect(text, context) if found.severity == "warning"] == []


def test_codebook_page_and_document_contain_the_rule_set(alice: User, repository: Path):
    client = Client()
    client.force_login(alice)
    page = client.get("/codebook/1/")
    assert client.get("/codebook/").context["rule_set"] is page.context["rule_set"]
    assert client.get("/codebook/99/").status_code == 404
    document = " ".join((repository / "docs" / "codebook.md").read_text().split())
    for clause in current_rule_set().clauses:
        assert f'id="{clause.code}"' in page.content.decode()
        for text in (clause.title, clause.definition, clause.forbidden_example, clause.borderline_decision):
            assert text in document
