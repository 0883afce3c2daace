"""Fitting of the text model to labelled messages, with cross-validation that leaves problems out.

A message is a bag of units (sentences and pairs of neighbouring sentences), and the label belongs to the message: its
score is the score of its best unit. The fit alternates between choosing the best unit of each message and a logistic
regression with an L2 penalty on the chosen units (Andrews, Tsochantaridis, Hofmann, NIPS 2002, as mi-SVM). It has no
random element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from tutoring.rules.reading import Unit
from tutoring.rules.text_model import OF_FLAGGED, LinearModel

Floats = npt.NDArray[np.float64]

PENALTY = 0.7
"""Weight of the L2 penalty."""

ROUNDS = 2
"""Choices of the best unit of each message."""

RAREST = 2
"""Examples in which a feature must occur."""

FOLDS = 6

MOST_FLAGGED = 0.015
"""Share of the allowed messages that may be flagged in the cross-validation, by any detector."""

_SMALLEST_WEIGHT = 0.02
"""Weights closer to 0 are left out of the model."""


@dataclass(frozen=True)
class Example:
    """A labelled message. A fold keeps the messages of one group (problem) together."""

    units: Sequence[Unit]
    labels: frozenset[str]
    group: str
    found: frozenset[str] = frozenset()
    """The clauses that other detectors find in the message."""
    validated: bool = True
    """Whether thresholds and figures are computed from it. If not, it is only trained on."""


@dataclass(frozen=True)
class Bags:
    """Examples as a sparse matrix of units by features. `owner` is the example of each row."""

    matrix: csr_matrix
    owner: npt.NDArray[np.int64]
    features: list[str]


def vocabulary(examples: Sequence[Example]) -> list[str]:
    """Return the features of at least RAREST examples, in order."""
    counts = Counter(
        feature
        for example in examples
        for feature in frozenset[str]().union(*(unit.features for unit in example.units))
    )
    return sorted(feature for feature, count in counts.items() if count >= RAREST)


def as_bags(examples: Sequence[Example], features: list[str]) -> Bags:
    """Return the examples as bags over the features. Unknown features are ignored."""
    columns = {feature: number for number, feature in enumerate(features)}
    indices: list[int] = []
    pointers = [0]
    owner: list[int] = []
    for number, example in enumerate(examples):
        for unit in example.units:
            indices += sorted(columns[feature] for feature in unit.features if feature in columns)
            pointers.append(len(indices))
            owner.append(number)
    matrix = csr_matrix(
        (np.ones(len(indices)), np.array(indices), np.array(pointers)), shape=(len(owner), len(features))
    )
    return Bags(matrix, np.array(owner), features)


def best_units(bags: Bags, scores: Floats, messages: int) -> npt.NDArray[np.int64]:
    """Return the row with the highest score for each message, the first one of equals."""
    best = np.full(messages, -1)
    for row, (owner, score) in enumerate(zip(bags.owner, scores, strict=True)):
        if best[owner] < 0 or score > scores[best[owner]]:
            best[owner] = row
    return best


def logistic(matrix: csr_matrix, target: Floats, start: Floats) -> Floats:
    """Return the weights and intercept (last) that minimize the penalized log-loss."""

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights = parameters[:-1]
        score = matrix @ weights + parameters[-1]
        value = (np.logaddexp(0, score) - target * score).sum() + PENALTY / 2 * weights @ weights
        residual = 1 / (1 + np.exp(-score)) - target
        return float(value), np.append(matrix.T @ residual + PENALTY * weights, residual.sum())

    result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(result.x)


def fit(bags: Bags, target: Floats) -> Floats:
    """Return the weights and the intercept (last) for one label of the examples."""
    messages = len(target)
    by_message = csr_matrix(
        (np.ones(len(bags.owner)), (bags.owner, np.arange(len(bags.owner)))),
        shape=(messages, len(bags.owner)),
    )
    whole = (by_message @ bags.matrix).minimum(1).tocsr()
    parameters = logistic(whole, target, np.zeros(len(bags.features) + 1))
    negatives: set[int] = set()
    for _ in range(ROUNDS):
        best = best_units(bags, bags.matrix @ parameters[:-1], messages)
        negatives |= {int(best[number]) for number in range(messages) if not target[number]}
        rows = np.array([*(int(best[n]) for n in range(messages) if target[n]), *sorted(negatives)])
        labels = target[bags.owner[rows]]
        parameters = logistic(bags.matrix[rows], labels, parameters)
    return parameters


def message_scores(bags: Bags, parameters: Floats, messages: int) -> Floats:
    """Return the highest log-odds of each message's units."""
    scores = bags.matrix @ parameters[:-1] + parameters[-1]
    highest = np.full(messages, -np.inf)
    np.maximum.at(highest, bags.owner, scores)
    return highest


def cross_validate(examples: Sequence[Example], clauses: Sequence[str]) -> dict[str, Floats]:
    """Return for each clause the log-odds of the examples by models that have not seen their group."""
    fold_of = _folds(examples)
    scores = {clause: np.zeros(len(examples)) for clause in clauses}
    for fold in sorted(set(fold_of.values())):
        seen = [example for example in examples if fold_of[example.group] != fold]
        left_out = [number for number, example in enumerate(examples) if fold_of[example.group] == fold]
        features = vocabulary(seen)
        training = as_bags(seen, features)
        testing = as_bags([examples[number] for number in left_out], features)
        for clause in clauses:
            parameters = fit(training, _target(seen, clause))
            scores[clause][left_out] = message_scores(testing, parameters, len(left_out))
    return scores


def _folds(examples: Sequence[Example]) -> dict[str, int]:
    """Return the fold of each group; the folds have about the same number of examples."""
    sizes = [0] * FOLDS
    fold_of = {}
    groups = Counter(example.group for example in examples)
    for group, size in sorted(groups.items(), key=lambda item: (-item[1], item[0])):
        fold_of[group] = sizes.index(min(sizes))
        sizes[fold_of[group]] += size
    return fold_of


def found_clauses(
    example: Example, scores: Mapping[str, float], thresholds: Mapping[str, float]
) -> frozenset[str]:
    """Return the clauses that the model with these log-odds and the other detectors find in an example."""
    found = example.found | {clause for clause, score in scores.items() if score >= thresholds[clause]}
    return found | {clause for clause, score in scores.items() if found and score >= OF_FLAGGED}


def choose_thresholds(examples: Sequence[Example], scores: Mapping[str, Floats]) -> dict[str, float]:
    """Return thresholds that find the most labels while at most MOST_FLAGGED of the allowed examples are flagged.

    Starting from thresholds above every allowed example, the threshold that gains the most labels per flagged example
    is lowered, as long as the share permits it.
    """
    numbers = [number for number, example in enumerate(examples) if example.validated]
    allowed = [number for number in numbers if not examples[number].labels]
    budget = MOST_FLAGGED * len(allowed)

    def result(thresholds: Mapping[str, float]) -> tuple[int, int]:
        hits = flagged = 0
        for number in numbers:
            own = {clause: float(values[number]) for clause, values in scores.items()}
            found = found_clauses(examples[number], own, thresholds)
            hits += len(found & examples[number].labels)
            flagged += bool(found) and not examples[number].labels
        return hits, flagged

    candidates = {clause: sorted({float(values[n]) for n in allowed}) for clause, values in scores.items()}
    thresholds = {clause: (values or [0.0])[-1] + _MARGIN for clause, values in candidates.items()}
    hits, flagged = result(thresholds)
    while True:
        best: tuple[float, str, float, int, int] | None = None
        for clause, values in candidates.items():
            for value in [one for one in values if one + _MARGIN < thresholds[clause]][-3:]:
                more, flags = result({**thresholds, clause: value + _MARGIN})
                gain = (more - hits) / max(flags - flagged, 0.5)
                if more > hits and flags <= budget and (best is None or gain > best[0]):
                    best = (gain, clause, value + _MARGIN, more, flags)
        if best is None:
            return thresholds
        _, clause, thresholds[clause], hits, flagged = best


_MARGIN = 0.01
"""Distance (log-odds) of a threshold from the highest allowed example below it."""


def fit_models(examples: Sequence[Example], thresholds: Mapping[str, float]) -> dict[str, LinearModel]:
    """Return a model for each clause, fitted to all examples."""
    features = vocabulary(examples)
    bags = as_bags(examples, features)
    models = {}
    for clause, threshold in thresholds.items():
        parameters = fit(bags, _target(examples, clause))
        weights = {
            feature: float(weight)
            for feature, weight in zip(features, parameters[:-1], strict=True)
            if abs(weight) >= _SMALLEST_WEIGHT
        }
        models[clause] = LinearModel(weights, float(parameters[-1]), threshold)
    return models


def _target(examples: Sequence[Example], clause: str) -> Floats:
    return np.array([float(clause in example.labels) for example in examples])
