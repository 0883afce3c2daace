"""The text model: a linear model of the features of sentences for each forbidden clause, as data.

The score of a message is the highest score of its units (sentences and pairs of neighbouring sentences). A score is a
sum of weights, so no library is needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tutoring.rules.reading import Unit

OF_FLAGGED = -0.5
"""Log-odds at which a further clause is found in a message that has a finding."""


class Found(NamedTuple):
    """A clause that a unit of a message probably breaks."""

    clause: str
    unit: Unit
    probability: float


@dataclass(frozen=True)
class LinearModel:
    """Weights by feature. A score of at least `threshold` (log-odds) is a finding."""

    weights: Mapping[str, float]
    intercept: float
    threshold: float

    def score(self, unit: Unit) -> float:
        """Return the log-odds of the unit."""
        weights = self.weights
        return self.intercept + math.fsum(weights[feature] for feature in unit.features if feature in weights)

    def best(self, units: Sequence[Unit]) -> tuple[float, Unit]:
        """Return the highest score and the first unit that has it."""
        scores = [self.score(unit) for unit in units]
        highest = max(scores)
        return highest, units[scores.index(highest)]

    def strongest(self, unit: Unit, most: int) -> list[str]:
        """Return the features of the unit with the highest positive weights, at most `most`."""
        ranked = sorted((-self.weights.get(feature, 0.0), feature) for feature in unit.features)
        return [feature for weight, feature in ranked[:most] if weight < 0]


@dataclass(frozen=True)
class TextModel:
    """A linear model for each clause, and the figures of its cross-validation as lines of text."""

    version: int
    models: Mapping[str, LinearModel]
    figures: Sequence[str] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TextModel:
        """Return the model of a JSON document. Raise KeyError, TypeError, IndexError or ValueError for another one."""
        features = data["features"]
        models = {
            clause: LinearModel(
                {
                    features[number]: weight
                    for number, weight in zip(row["features"], row["weights"], strict=True)
                },
                float(row["intercept"]),
                float(row["threshold"]),
            )
            for clause, row in data["models"].items()
        }
        return cls(int(data["version"]), models, tuple(map(str, data["figures"])))

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON values. Each feature is listed once."""
        features = sorted({feature for model in self.models.values() for feature in model.weights})
        numbers = {feature: number for number, feature in enumerate(features)}
        return {
            "version": self.version,
            "figures": list(self.figures),
            "features": features,
            "models": {
                clause: {
                    "intercept": round(model.intercept, 3),
                    "threshold": round(model.threshold, 3),
                    "features": [numbers[feature] for feature in sorted(model.weights)],
                    "weights": [round(model.weights[feature], 2) for feature in sorted(model.weights)],
                }
                for clause, model in self.models.items()
            },
        }

    def find(self, units: Sequence[Unit], *, flagged: bool) -> list[Found]:
        """Return the clauses that the message of these units probably breaks.

        `flagged` states that another detector has a finding. A message with a finding probably breaks a clause, so its
        further clauses have the threshold OF_FLAGGED.
        """
        if not units:
            return []
        best = {clause: model.best(units) for clause, model in self.models.items()}
        flagged = flagged or any(
            score >= self.models[clause].threshold for clause, (score, _) in best.items()
        )
        return [
            Found(clause, unit, 1 / (1 + math.exp(-score)))
            for clause, (score, unit) in best.items()
            if score >= self.models[clause].threshold or (flagged and score >= OF_FLAGGED)
        ]


def load(file: Path) -> TextModel:
    """Return the model of a JSON file. Raise OSError, or ValueError for a file that contains none."""
    try:
        return TextModel.from_json(json.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{file} contains no text model: {error!r}.") from None
