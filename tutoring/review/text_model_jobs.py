"""The worker's side of the trainings of the text model.

The module imports scipy, which needs much memory, so only workers import it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from benchmark.judging import pause_for_executions
from benchmark.models.leases import renewing
from benchmark.models.owners import new_owner
from tutoring.checks.draft_scores import Share
from tutoring.models import TextModelTraining
from tutoring.review.text_model_training import (
    SUPPLEMENT,
    TRAINING_FILES,
    TextModelFigures,
    TooFewExamplesError,
    figures_of,
    is_of_this_site,
    next_version,
    read_examples,
    train,
)
from tutoring.rules.detectors.text_model import current_model
from tutoring.rules.fitting import Example, found_clauses
from tutoring.rules.text_model import TextModel, packed

logger = logging.getLogger(__name__)

MAXIMUM_ATTEMPTS = 3
"""Claims of one training before it counts as failed."""


def perform_training(training_id: int) -> None:
    """Claim the training, perform it and store the model. Do nothing if another process holds or ended it."""
    if TextModelTraining.claim_one(training_id, new_owner(), timezone.now()) is None:
        return
    training = TextModelTraining.objects.defer("model").get(pk=training_id)
    if training.attempt > MAXIMUM_ATTEMPTS:
        _fail(training, f"given up after {MAXIMUM_ATTEMPTS} workers were lost during the training")
        return
    try:
        with renewing(training.claimed()):
            model, figures = _train(training)
    except TooFewExamplesError as error:
        _fail(training, str(error))
    except Exception as error:
        logger.exception("training %s failed", training_id)
        _fail(training, f"{type(error).__name__}: {error}")
    except BaseException:  # this process must end: another one may begin at once
        training.claimed().release()
        raise
    else:
        training.end(
            TextModelTraining.State.DONE,
            progress="",
            version=model.version,
            figures=figures,
            model=packed(model),
            finished_at=timezone.now(),
        )


def _fail(training: TextModelTraining, fault: str) -> None:
    training.end(TextModelTraining.State.FAILED, progress="", fault=fault, finished_at=timezone.now())


def _train(training: TextModelTraining) -> tuple[TextModel, dict[str, Any]]:
    def announce(part: str) -> None:
        training.claimed().update(progress=part)
        pause_for_executions()

    corpus, supplement = (
        [file for file in files if file.exists()] for files in (TRAINING_FILES, [SUPPLEMENT])
    )
    read = read_examples(corpus, supplement, stored_only=True, announce=announce)
    examples = read.all()
    trained = train(examples, _next_version(), announce)
    pairs = [(one, found) for one, found in zip(examples, trained.found, strict=True) if found is not None]
    own = [(one, found) for one, found in pairs if is_of_this_site(one)]
    former = current_model()
    return trained.model, {
        "drafts": len(read.drafts),
        "messages": len(own),
        "former_version": former.version,
        "all": _document(figures_of(pairs, trained.model.clauses)),
        "site": _document(figures_of(own, trained.model.clauses)),
        "site_former": _document(figures_of(_found_by(former, [one for one, _ in own]), former.clauses)),
    }


def _next_version() -> int:
    """Return the version after those of the site's model and of all trainings."""
    versions = (
        TextModelTraining.objects.exclude(version=None).order_by("-version").values_list("version", flat=True)
    )
    return max(next_version(settings.TEXT_MODEL), (versions.first() or 0) + 1)


def _found_by(model: TextModel, examples: Sequence[Example]) -> list[tuple[Example, frozenset[str]]]:
    """Return the examples with the clauses that this model reports, together with the other detectors."""
    found = []
    for example in examples:
        judgement = model.judgement(model.scores(example.units), example.units, example.found)
        found.append((example, found_clauses(example, model, judgement)))
    return found


def _document(figures: TextModelFigures) -> dict[str, Any]:
    def share(one: Share) -> list[int]:
        return [one.hits, one.total]

    return {
        "clauses": {one.clause: [share(one.recall), share(one.precision)] for one in figures.clauses},
        "recall": share(figures.recall),
        "flagged": share(figures.flagged),
    }
