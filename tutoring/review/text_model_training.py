"""Training of the text model on labelled drafts and on the messages of the site's own settled reviews."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from benchmark.models import Problem
from tutoring.checks.contexts import message_contexts
from tutoring.checks.draft_scores import Share, draft_contexts
from tutoring.checks.labelled_drafts import read_drafts
from tutoring.models.payloads import MessageSent
from tutoring.review.agreement import counted_review_outcomes
from tutoring.review.text_model_requests import writers_of_sessions
from tutoring.rules import MessageContext, current_rule_set
from tutoring.rules.detectors.text_model import FIRST_OWN_VERSION, other_findings
from tutoring.rules.fitting import Example, cross_validate, fit, found_clauses, with_thresholds
from tutoring.rules.reading import read_units
from tutoring.rules.text_model import TextModel, version_in

DRAFTS = settings.BASE_DIR / "tests" / "tutoring" / "rules" / "drafts"
"""The folder of the labelled drafts of the repository."""

TRAINING_FILES = tuple(
    DRAFTS / f"{name}.jsonl"
    for name in (
        "development",
        "development_2",
        *(f"writer_{letter}" for letter in "abcefghijklmnopquvxyz"),
        *(f"writer_a{letter}" for letter in "abcdfg"),
    )
)
"""The labelled drafts for training and validation."""

SUPPLEMENT = DRAFTS / "supplement.jsonl"
"""Labelled drafts for training only."""

_TUTOR = "tutor "
"""Beginning of the writer of a message from the site's own sessions."""

_FURTHER_FILE = re.compile(r"_\d+\Z")

Announce = Callable[[str], object]
"""A function that is called with what the training does next."""


class TooFewExamplesError(ValueError):
    """The examples do not suffice for a model. The message says what is missing."""


class Examples(NamedTuple):
    """The examples of a training."""

    drafts: list[Example]
    codebook: list[Example]
    reviewed: list[Example]

    def all(self) -> list[Example]:
        """Return the examples of all kinds."""
        return [*self.drafts, *self.codebook, *self.reviewed]


def read_examples(
    corpus: Sequence[Path],
    supplement: Sequence[Path],
    *,
    reviews: bool = True,
    stored_only: bool = False,
    announce: Announce = lambda _: None,
) -> Examples:
    """Return the labelled drafts of the files, the examples of the codebook and the messages of settled reviews.

    Each file is one writer's; `NAME_2.jsonl` has further drafts of the writer of `NAME.jsonl`. Drafts of the supplement
    are only trained on. With `stored_only`, drafts about problems that are not in the database are left out.
    Raise CorpusError.
    """
    announce("Reads the labelled drafts")
    drafts = _examples_of_drafts(corpus, validated=True, stored_only=stored_only)
    drafts += _examples_of_drafts(supplement, validated=False, stored_only=stored_only)
    announce("Reads the messages of reviewed sessions")
    return Examples(drafts, _examples_of_codebook(), list(_examples_of_reviews()) if reviews else [])


def _examples_of_drafts(files: Sequence[Path], *, validated: bool, stored_only: bool) -> list[Example]:
    examples = []
    for file in files:
        drafts = read_drafts(file)
        if stored_only:
            stored = set(Problem.objects.values_list("external_id", flat=True))
            drafts = [draft for draft in drafts if draft.problem in stored]
        contexts = draft_contexts(drafts)
        writer = _FURTHER_FILE.sub("", file.stem)
        examples += [
            example
            for draft in drafts
            for example in _examples(
                draft.text, contexts[draft.id], draft.labels, (writer, draft.problem), validated=validated
            )
        ]
    return examples


def _examples_of_codebook() -> list[Example]:
    """Return the examples of the current rule set that break a forbidden clause or none. They are only trained on."""
    labelled: list[tuple[str, frozenset[str]]] = []
    for clause in current_rule_set().clauses:
        labelled.append((clause.allowed_example, frozenset()))
        if clause.kind == "allowed":
            labelled.append((clause.borderline_example, frozenset()))
        else:
            labelled.append((clause.forbidden_example, frozenset({clause.code})))
    return [
        example
        for text, labels in labelled
        for example in _examples(text, MessageContext(), labels, ("codebook", "codebook"), validated=False)
    ]


def _examples_of_reviews() -> Iterator[Example]:
    """Yield the messages of the sessions whose review outcome is settled.

    The labels are the forbidden clauses of the outcome. Invalidated sessions are excluded.
    """
    outcomes = counted_review_outcomes(current_rule_set().version).exclude(verdict="")
    writers = writers_of_sessions()
    for outcome in outcomes.select_related("session__problem").order_by("session__recorded_at", "pk"):
        session = outcome.session
        events = [event for event in session.events.all() if not event.out_of_protocol]
        origin = (
            f"{_TUTOR}{writers[session.pk]}",
            session.problem.external_id if session.problem else str(session.pk),
        )
        for event, context in message_contexts(session, events, "right_or_wrong"):
            labels = frozenset(code for seq, code in outcome.breaches if seq == event.seq)
            yield from _examples(event.payload_as(MessageSent).text, context, labels, origin)


def _examples(
    text: str,
    context: MessageContext,
    labels: frozenset[str],
    origin: tuple[str, str],
    *,
    validated: bool = True,
) -> Iterator[Example]:
    """Yield the message by a writer on a problem (`origin`) as an example, unless it has no word."""
    others = other_findings(text, context)
    if units := read_units(text, context, others):
        yield Example(units, labels, *origin, [one for _, one in others], validated)


class Trained(NamedTuple):
    """A model with the clauses that its cross-validation finds in each example; None: the example is not validated."""

    model: TextModel
    found: Sequence[frozenset[str] | None]


def train(examples: Sequence[Example], version: int, announce: Announce = lambda _: None) -> Trained:
    """Return a model of the examples with its cross-validated figures. Raise TooFewExamplesError.

    Every clause needs examples by two writers, each on problems of their own, and there must be allowed examples.
    """
    clauses = sorted(current_rule_set().forbidden_codes)
    for clause in clauses:
        writers = {example.writer for example in examples if clause in example.labels and example.validated}
        if len(writers) < 2:
            raise TooFewExamplesError(f"{clause} needs examples by at least 2 writers, not {len(writers)}.")
    if not any(example.validated and not example.labels for example in examples):
        raise TooFewExamplesError("There is no allowed example to choose thresholds with.")
    validation = cross_validate(examples, clauses, announce)
    announce("Fits the model to all messages")
    model = replace(fit(examples, clauses), odds=validation.odds)
    model = with_thresholds(model, examples, validation.judgements)
    found = [
        None if judgement is None else found_clauses(example, model, judgement)
        for example, judgement in zip(examples, validation.judgements, strict=True)
    ]
    pairs = [(example, own) for example, own in zip(examples, found, strict=True) if own is not None]
    figures = figures_of(pairs, clauses)
    return Trained(replace(model, version=version, figures=tuple(figures.lines())), found)


class ClauseFigures(NamedTuple):
    """Recall and precision of one clause."""

    clause: str
    recall: Share
    precision: Share


class TextModelFigures(NamedTuple):
    """Recall and precision for each clause, the recall of all clauses, and the share of allowed messages flagged."""

    clauses: Sequence[ClauseFigures]
    recall: Share
    flagged: Share

    def lines(self) -> Iterator[str]:
        """Yield the figures as lines of text."""
        for one in self.clauses:
            yield f"{one.clause}: recall {one.recall}, precision {one.precision}"
        yield f"all: recall {self.recall}"
        yield f"allowed messages flagged: {self.flagged}"


def figures_of(pairs: Sequence[tuple[Example, frozenset[str]]], clauses: Sequence[str]) -> TextModelFigures:
    """Return the figures of examples with the clauses that are found in each."""
    rows = []
    for clause in clauses:
        hits = sum(clause in found for example, found in pairs if clause in example.labels)
        recall = Share(hits, sum(clause in example.labels for example, _ in pairs))
        rows.append(ClauseFigures(clause, recall, Share(hits, sum(clause in found for _, found in pairs))))
    labels = [clause in found for example, found in pairs for clause in example.labels]
    flagged = [bool(found) for example, found in pairs if not example.labels]
    return TextModelFigures(rows, Share(sum(labels), len(labels)), Share(sum(flagged), len(flagged)))


def is_of_this_site(example: Example) -> bool:
    """Return whether the example is a message of the site's own sessions."""
    return example.writer.startswith(_TUTOR)


def next_version(file: Path) -> int:
    """Return the version after that of the model in the file, or the first one of a site's own models."""
    return version_in(file) + 1 if file.exists() else FIRST_OWN_VERSION
