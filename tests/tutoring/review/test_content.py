"""The content of reviews: forms and JSON keep it unchanged, and quotes keep their position."""

from __future__ import annotations

import json

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from tutoring.models import Event
from tutoring.review.content import Content, MessageLabels, Quote, missing_labels, read_form
from tutoring.rules import current_rule_set
from tutoring.views.review_pages import segments

RULES = current_rule_set()
CODES = [clause.code for clause in RULES.clauses]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)


@st.composite
def labelled_texts(draw: st.DrawFn) -> tuple[str, MessageLabels]:
    text = draw(TEXTS)
    clauses = draw(st.lists(st.sampled_from(CODES), unique=True))
    quotes = []
    for clause in clauses:
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        quotes.append(Quote(clause, start, end, text[start:end], text[max(0, start - 32) : start]))
    level = draw(st.sampled_from([None, *(level.level for level in RULES.levels)]))
    note = draw(TEXTS).replace("\r\n", "\n")
    return text, MessageLabels(1, tuple(clauses), level, "planning", tuple(quotes), note)


def form_of(content: Content) -> QueryDict:
    """Return the form that a page sends for these labels of message 1."""
    form = QueryDict(mutable=True)
    labels = content.labels(1)
    form.setlist("clause-1", list(labels.clauses))
    form.setlist("quote-1", [quote.field for quote in labels.quotes])
    form["level-1"] = "" if labels.level is None else str(labels.level)
    form["stage-1"], form["note-1"], form["verdict"] = labels.stage, labels.note, content.verdict
    return form


@given(labelled_texts())
def test_what_the_form_sends_is_stored_and_read_back(labelled: tuple[str, MessageLabels]):
    text, labels = labelled
    content = Content((labels,), "minor")
    message = Event(seq=1, kind="message", data={"mode": None, "text": text, "sent": text})
    assert read_form(form_of(content), [message], RULES) == content
    assert Content.from_json(json.loads(json.dumps(content.to_json()))) == content


@pytest.mark.slow
@given(labelled_texts())
def test_marks_leave_the_text_as_it_is_and_cover_every_quote(labelled: tuple[str, MessageLabels]):
    text, labels = labelled
    parts = segments(text, labels.quotes)
    assert "".join(part.text for part in parts) == text
    for quote in labels.quotes:
        marked = "".join(part.text for part in parts if quote.clause in part.clauses.split())
        assert marked == quote.exact


@pytest.mark.slow
@given(labelled_texts())
def test_a_complete_review_has_labels_everywhere_and_a_verdict_that_fits(
    labelled: tuple[str, MessageLabels],
):
    text, labels = labelled
    message = Event(seq=1, kind="message", data={"mode": None, "text": text, "sent": text})
    breach = any(code.startswith("F") for code in labels.clauses)
    for verdict in ("compliant", "minor"):
        content = Content((labels,), verdict, worst=1 if breach else None, comment="Because.")
        complete = bool(labels.clauses) and labels.level is not None
        fits = verdict == "minor" or not breach
        missing = missing_labels(content, [message], RULES, adjudicated=(Content(), Content()))
        assert (not missing) == (complete and fits)
