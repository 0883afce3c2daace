"""Fitting of the text model to labelled messages, with cross-validation that leaves writers and their problems out.

The model is a kernel ridge regression (Saunders, Gammerman, Vovk, ICML 1998) of the labels, coded as 1 and -1. It is
solved exactly with one Cholesky decomposition, so it has no random element and takes seconds for thousands of messages.
The attention over tokens is fitted beside it (`attention_fitting.py`). A logistic regression turns the scores of both
into the odds that a clause is broken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, diags
from scipy.special import expit

from tutoring.rules.attention_fitting import fit_attention
from tutoring.rules.detection import Detection
from tutoring.rules.reading import Unit
from tutoring.rules.text_model import (
    MEASURE_SHARE,
    MEASURE_SHARPNESS,
    VECTOR_SHARPNESS,
    Floats,
    GaussianKernel,
    Judgement,
    MessageNumbers,
    TextModel,
    judge,
    message_numbers,
)

PENALTY = 0.4
"""Weight of the penalty on the size of the model."""

RAREST = 3
"""Lowest number of examples in which a feature must occur."""

COMPONENTS = 128
"""Numbers to which the vector of a sentence is reduced. A model with 320 finds no more breaches."""

ODDS_PENALTY = 1.0
"""Weight of the penalty on the squares of what the numbers of a message, standardized, add to its log odds."""

FOLDS = 6

MOST_FLAGGED = 0.025
"""Highest share of the allowed messages that any detector may flag in the cross-validation."""

LEAST_PRECISION = 0.6
"""Lowest precision, in the cross-validation, of a clause that is reported beside the likeliest one."""

TRAINED_ONLY_WEIGHT = 0.6
"""Weight of an example that is not validated."""


@dataclass(frozen=True)
class Example:
    """A labelled message by one writer on one problem."""

    units: Sequence[Unit]
    labels: frozenset[str]
    writer: str
    problem: str
    found: Sequence[Detection] = ()
    """What other detectors find in the message."""
    validated: bool = True
    """Whether thresholds and figures are computed from it. If not, it is only trained on."""


def fit(examples: Sequence[Example], clauses: Sequence[str]) -> TextModel:
    """Return a model of the examples without odds and thresholds."""
    messages = [example.units[0] for example in examples]
    features, rarity, rows = _feature_rows(messages)
    vectors = np.array([message.vector for message in messages])
    components = _components(vectors)
    vectors = vectors @ components
    measures = np.array([message.measures for message in messages], np.float32)
    means, deviations = measures.mean(0), np.maximum(measures.std(0), 1e-6)
    measures = (measures - means) / deviations
    kernel = (rows @ rows.T).toarray().astype(np.float64)
    kernel += GaussianKernel(vectors, VECTOR_SHARPNESS)(vectors)
    kernel += MEASURE_SHARE * GaussianKernel(measures, MEASURE_SHARPNESS)(measures)
    weights = np.array([1.0 if example.validated else TRAINED_ONLY_WEIGHT for example in examples])
    kernel[np.diag_indices_from(kernel)] += PENALTY / weights
    targets = _targets(examples, clauses)
    bias = targets.mean(0)
    shares = cho_solve(cho_factor(kernel, overwrite_a=True), targets - bias)
    return TextModel(
        version=0,
        clauses=tuple(clauses),
        features=tuple(features),
        rarity=rarity,
        weights=np.asarray(rows.T @ shares, np.float32),
        components=components,
        vectors=vectors,
        measures=measures,
        measure_means=means,
        measure_deviations=deviations,
        shares=np.asarray(shares, np.float32),
        bias=np.asarray(bias, np.float32),
        attention=fit_attention(
            [example.units[1:] or example.units for example in examples],
            np.asarray(targets > 0, np.float32),
            weights.astype(np.float32),
        ),
        odds=np.zeros((0, len(clauses) + 1), np.float32),
    )


def _components(vectors: Floats) -> Floats:
    """Return the COMPONENTS directions in which the vectors vary most, one per column."""
    centred = (vectors - vectors.mean(0)).astype(np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.asarray(directions[:, : -COMPONENTS - 1 : -1], np.float32)


def _feature_rows(messages: Sequence[Unit]) -> tuple[list[str], Floats, csr_matrix]:
    """Return the features of at least RAREST messages, their rarity, and a row of length 1 for each message."""
    counts = Counter(feature for message in messages for feature in message.features)
    features = sorted(feature for feature, count in counts.items() if count >= RAREST)
    rarity = np.array(
        [np.log((len(messages) + 1) / (counts[feature] + 1)) for feature in features], np.float32
    )
    columns = {feature: number for number, feature in enumerate(features)}
    indices: list[int] = []
    pointers = [0]
    for message in messages:
        indices += sorted(columns[feature] for feature in message.features if feature in columns)
        pointers.append(len(indices))
    matrix = csr_matrix(
        (rarity[indices], np.array(indices), np.array(pointers)), shape=(len(messages), len(features))
    )
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    return features, rarity, (diags(1 / np.maximum(lengths, 1e-9)) @ matrix).tocsr()


def _targets(examples: Sequence[Example], clauses: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return 1 or -1 for each example and clause, and in the last column for any clause."""
    rows = [[*(clause in example.labels for clause in clauses), bool(example.labels)] for example in examples]
    return np.array(rows) * 2.0 - 1


class CrossValidation(NamedTuple):
    """The odds of the numbers of all validated examples, and the judgement on each example (None: not validated)."""

    odds: Floats
    judgements: list[Judgement | None]


def cross_validate(
    examples: Sequence[Example], clauses: Sequence[str], announce: Callable[[str], object] = lambda _: None
) -> CrossValidation:
    """Return judgements on the validated examples by models that have seen neither their writers nor their problems.

    The odds of a judgement come from the numbers of the other folds. `announce` is called with the part of the work
    that is done next.
    """
    numbers: dict[int, MessageNumbers] = {}
    folds = _folds(examples)
    for part, left_out in enumerate(folds, 1):
        announce(f"Cross-validation, part {part} of {len(folds)}")
        writers = {examples[number].writer for number in left_out}
        problems = {examples[number].problem for number in left_out}
        seen = [one for one in examples if one.writer not in writers and one.problem not in problems]
        model = fit(seen, clauses)
        left = [examples[number] for number in left_out]
        scores = model.scores([unit for example in left for unit in example.units])
        lasts = np.cumsum([len(example.units) for example in left])
        for number, example, own in zip(left_out, left, np.split(scores, lasts[:-1]), strict=True):
            numbers[number] = message_numbers(own, model.attention, example.units, example.found, clauses)
    judgements: list[Judgement | None] = [None] * len(examples)
    for left_out in folds:
        inside = set(left_out)
        others = {number: own for number, own in numbers.items() if number not in inside}
        odds = _fit_odds(examples, others, clauses)
        for number in left_out:
            judgements[number] = judge(numbers[number], odds)
    return CrossValidation(_fit_odds(examples, numbers, clauses), judgements)


def _fit_odds(
    examples: Sequence[Example], numbers: Mapping[int, MessageNumbers], clauses: Sequence[str]
) -> Floats:
    """Return the odds of a model by logistic regression of the labels on the numbers of the examples with an index."""
    rows = np.array([own.whole for own in numbers.values()], np.float64)
    targets = _targets([examples[number] for number in numbers], clauses)
    means, deviations = rows.mean(0), np.maximum(rows.std(0), 1e-6)
    rows = np.column_stack([np.ones(len(rows)), (rows - means) / deviations])
    columns = [_logistic_regression(rows, signs) for signs in targets.T]
    odds = np.array(columns).T
    odds[1:] /= deviations[:, None]
    odds[0] -= means @ odds[1:]
    return np.asarray(odds, np.float32)


def _logistic_regression(
    rows: npt.NDArray[np.float64], signs: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the coefficients of the columns that make labels of 1 and -1 likeliest, with the penalty.

    The first column is the constant, which has no penalty.
    """

    def loss(own: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        margins = signs * (rows @ own)
        penalized = np.concatenate([[0.0], own[1:]])
        gradient = ODDS_PENALTY * penalized - rows.T @ (signs * expit(-margins))
        return np.logaddexp(0, -margins).sum() + ODDS_PENALTY / 2 * (penalized @ penalized), gradient

    found: npt.NDArray[np.float64] = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    return found


def _folds(examples: Sequence[Example]) -> list[list[int]]:
    """Return the indices of the validated examples by fold. A writer is in one fold; folds have about the same size."""
    sizes = [0] * FOLDS
    fold_of = {}
    writers = Counter(example.writer for example in examples if example.validated)
    for writer, size in sorted(writers.items(), key=lambda item: (-item[1], item[0])):
        fold_of[writer] = sizes.index(min(sizes))
        sizes[fold_of[writer]] += size
    folds: list[list[int]] = [[] for _ in range(FOLDS)]
    for number, example in enumerate(examples):
        if example.validated:
            folds[fold_of[example.writer]].append(number)
    return [fold for fold in folds if fold]


def found_clauses(example: Example, model: TextModel, judgement: Judgement) -> frozenset[str]:
    """Return the clauses that are reported for an example with this judgement, by any detector."""
    confirmed = (
        one.clause
        for one in example.found
        if judgement.highest_threshold(one, example.found, example.units) >= model.threshold
    )
    return frozenset(confirmed).union(model.reported(judgement))


def with_thresholds(
    model: TextModel, examples: Sequence[Example], judgements: Sequence[Judgement | None]
) -> TextModel:
    """Return the model with thresholds chosen on judgements of a cross-validation.

    The threshold of the suspicion is the lowest at which at most MOST_FLAGGED of the allowed examples have a finding.
    That of a clause is the lowest at which it is right in LEAST_PRECISION of the flagged examples.
    """
    pairs = [(one, own) for one, own in zip(examples, judgements, strict=True) if own is not None]
    flagged_up_to = sorted(
        (
            max([own.suspicion, *(own.highest_threshold(found, one.found, one.units) for found in one.found)])
            for one, own in pairs
            if not one.labels
        ),
        reverse=True,
    )
    unflagged = flagged_up_to[int(MOST_FLAGGED * len(flagged_up_to)) :]
    threshold = next(filter(math.isfinite, unflagged), -1.0) + _MARGIN
    flagged = [(one, own) for one, own in pairs if own.suspicion >= threshold]
    return replace(
        model,
        threshold=round(threshold, 4),
        clause_thresholds=tuple(
            _clause_threshold([(clause in one.labels, float(own.clauses[number])) for one, own in flagged])
            for number, clause in enumerate(model.clauses)
        ),
    )


_MARGIN = 0.001
"""Distance of a threshold from the score of the allowed example below it."""


def _clause_threshold(scored: Sequence[tuple[bool, float]]) -> float:
    """Return the lowest score from which LEAST_PRECISION of the scored messages have the label; 1 if there is none."""
    lowest, hits = 1.0, 0
    for number, (label, score) in enumerate(sorted(scored, key=lambda one: -one[1]), 1):
        hits += label
        if hits >= LEAST_PRECISION * number:
            lowest = score
    return round(lowest, 4)
