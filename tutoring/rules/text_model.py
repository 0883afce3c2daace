"""The text model: a kernel machine that compares passages of a message with labelled messages, as data.

It has a score for each forbidden clause and one for "some clause is broken", between about -1 and 1. The kernel is a
sum of three parts: the cosine of the features, weighted by their rarity; a Gaussian of the distance of the sentence
vectors; and a Gaussian of the distance of the measures. The first part is linear, so its weights explain a score.
`fitting.py` computes the model; applying it needs only numpy.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tutoring.rules.detection import WARNING, Detection
from tutoring.rules.reading import MEASURES, Unit

Floats = npt.NDArray[np.float32]

VECTOR_SHARPNESS, MEASURE_SHARPNESS, MEASURE_SHARE = 2.0, 0.02, 0.5
"""Inverse widths of the two Gaussians, and the share of the second one."""

BEST_UNIT_SHARE = 0.3
"""Share of the best passage in the score of a message; the rest is the score of the whole message."""

CLAUSE_SHARE, FOUND_SHARE = 0.7, 0.2
"""Shares of the highest clause and of a finding of another detector in the suspicion."""

MANY = 3
"""Number of warnings that makes those of one clause certain: 47 forbidden labelled drafts reach it, no allowed ones."""

LONG, PASSAGE_MARGIN = 170, 0.2
"""Characters of a long message, whose score says little about one of its sentences: a warning in it is also reported
if its own passage exceeds the threshold by the margin. Nine out of ten labelled drafts are shorter."""

_HIGHEST_BYTE = 127.0


class Found(NamedTuple):
    """A clause that a message probably breaks, the passage that shows it, and whether it is the likeliest clause."""

    clause: str
    unit: Unit
    likeliest: bool
    features: list[str]


@dataclass(frozen=True)
class Judgement:
    """The scores of a message by clause, and its suspicion: how likely it is to break some clause."""

    clauses: npt.NDArray[np.float32]
    suspicion: float
    passages: npt.NDArray[np.float32]
    """The suspicion of each unit alone, without the share of a finding."""

    @classmethod
    def of(cls, scores: Floats, found: bool, lenience: Floats) -> Judgement:
        """Return the judgement on the message whose units have these scores.

        `found` states whether another detector has a finding; `lenience` is added to the scores of the clauses.
        """
        combined = (1 - BEST_UNIT_SHARE) * scores[0] + BEST_UNIT_SHARE * scores.max(0)
        suspicion = combined[-1] + CLAUSE_SHARE * (combined[:-1] + lenience).max() + FOUND_SHARE * found
        passages = scores[:, -1] + CLAUSE_SHARE * (scores[:, :-1] + lenience).max(1)
        return cls(combined[:-1], float(suspicion), passages)

    def highest_threshold(
        self, detection: Detection, found: Sequence[Detection], units: Sequence[Unit]
    ) -> float:
        """Return the highest threshold of a model at which the detection in the message of these units is reported.

        `found` are all detections of other detectors in the message.
        """
        if detection.certain or _is_one_of_many(detection, found):
            return math.inf
        if detection.weight < WARNING or units[0].end - units[0].start < LONG:
            return self.suspicion
        passages = [
            float(suspicion) - PASSAGE_MARGIN
            for unit, suspicion in zip(units, self.passages, strict=True)
            if unit is not units[0] and unit.start < detection.end and detection.start < unit.end
        ]
        return max([self.suspicion, *passages])


def _is_one_of_many(detection: Detection, found: Sequence[Detection]) -> bool:
    """Return whether the detection is one of MANY warnings of its clause."""
    warnings = sum(one.clause == detection.clause and one.weight >= WARNING for one in found)
    return detection.weight >= WARNING and warnings >= MANY


@dataclass(frozen=True)
class TextModel:
    """A fitted model with its thresholds, and the figures of its cross-validation as lines of text.

    `shares` has a row for each labelled message and a column for each clause and for "some clause"; so has `weights`
    for each feature.
    """

    version: int
    clauses: tuple[str, ...]
    features: tuple[str, ...]
    rarity: Floats
    weights: Floats
    components: Floats
    """The directions in which the vectors of labelled messages vary most, one per column."""
    vectors: Floats
    measures: Floats
    measure_means: Floats
    measure_deviations: Floats
    shares: Floats
    bias: Floats
    threshold: float = 0.0
    """Suspicion from which a message is reported."""
    clause_thresholds: tuple[float, ...] = ()
    """Score from which a clause of a reported message is reported beside the likeliest one."""
    lenience: tuple[float, ...] = ()
    """What the suspicion adds to the score of each clause."""
    figures: tuple[str, ...] = ()

    def judgement(self, scores: Floats, found: bool) -> Judgement:
        """Return the judgement on a message whose units have these scores.

        `found` states whether another detector has a finding.
        """
        return Judgement.of(scores, found, np.array(self.lenience, np.float32))

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {feature: number for number, feature in enumerate(self.features)}

    @cached_property
    def _vector_kernel(self) -> GaussianKernel:
        return GaussianKernel(self.vectors, VECTOR_SHARPNESS)

    @cached_property
    def _measure_kernel(self) -> GaussianKernel:
        return GaussianKernel(self.measures, MEASURE_SHARPNESS)

    def scores(self, units: Sequence[Unit]) -> Floats:
        """Return a row of scores for each unit."""
        scores = self._linear(units) + self.bias
        vectors = np.array([unit.vector for unit in units]) @ self.components
        measures = self.standardized([unit.measures for unit in units])
        scores += self._vector_kernel.weighted(vectors, self.shares)
        scores += MEASURE_SHARE * self._measure_kernel.weighted(measures, self.shares)
        return np.asarray(scores, np.float32)

    def standardized(self, measures: Sequence[Sequence[float]]) -> Floats:
        """Return the measures, scaled so that those of the labelled messages have the mean 0 and the deviation 1.

        Models up to version 10, and those of sites from that time, have one measure more, which is 0 for every message:
        whether the student had said something. Only allowed messages were labelled with what the student had said.
        """
        rows = np.zeros((len(measures), len(self.measure_means)), np.float32)
        rows[:, : len(MEASURES)] = measures
        scaled: Floats = (rows - self.measure_means) / self.measure_deviations
        return scaled

    def _linear(self, units: Sequence[Unit]) -> npt.NDArray[np.float64]:
        """Return the linear part of the scores of each unit."""
        numbers = [set(map(self._numbers.get, unit.features)) - {None} for unit in units]
        lengths = [len(own) for own in numbers]
        indices = np.array([number for own in numbers for number in own], np.intp)
        # The order of a set differs between processes, and with it the rounding of a sum.
        places = np.repeat(np.arange(len(units)) * len(self.features), lengths)
        indices = np.sort(indices + places) - places
        values = self.rarity[indices]
        parts = np.concatenate([values[:, None] * self.weights[indices], values[:, None] ** 2], axis=1)
        totals = np.concatenate([np.zeros((1, parts.shape[1])), parts.cumsum(0, dtype=np.float64)])
        ends = np.cumsum(lengths)
        sums = totals[ends] - totals[ends - lengths]
        linear: npt.NDArray[np.float64] = sums[:, :-1] / np.maximum(np.sqrt(sums[:, -1:]), 1e-9)
        return linear

    def _contributions(self, unit: Unit) -> tuple[list[str], Floats]:
        """Return the known features of the unit, and the relative contribution of each to every score."""
        known = sorted(feature for feature in unit.features if feature in self._numbers)
        numbers = [self._numbers[feature] for feature in known]
        return known, self.rarity[numbers][:, None] * self.weights[numbers]

    def strongest(self, unit: Unit, clause: str, most: int) -> list[str]:
        """Return the features of the unit that contribute most to the score of the clause, at most `most`."""
        known, contributions = self._contributions(unit)
        column = contributions[:, self.clauses.index(clause)]
        return [known[number] for number in np.argsort(-column, kind="stable")[:most] if column[number] > 0]

    def reported(self, judgement: Judgement) -> list[str]:
        """Return the clauses that a message with this judgement is reported for, the likeliest first."""
        if judgement.suspicion < self.threshold:
            return []
        likeliest = int(judgement.clauses.argmax())
        others = [
            number
            for number, threshold in enumerate(self.clause_thresholds)
            if number != likeliest and judgement.clauses[number] >= threshold
        ]
        return [self.clauses[number] for number in (likeliest, *others)]

    def find(self, units: Sequence[Unit], scores: Floats, judgement: Judgement, *, most: int) -> list[Found]:
        """Return the clauses that the message of these units probably breaks, each with at most `most` features."""
        passages = range(1, len(units)) if len(units) > 1 else range(1)
        reported: list[Found] = []
        for clause in self.reported(judgement):
            column = scores[:, self.clauses.index(clause)]
            unit = units[max(passages, key=lambda number: float(column[number]))]
            reported.append(Found(clause, unit, not reported, self.strongest(unit, clause, most)))
        return reported


class GaussianKernel:
    """The function exp(-sharpness * squared distance) of rows to fixed rows, the centres.

    One product of matrices gives all exponents, because each row is extended by the square of its length.
    """

    def __init__(self, centres: Floats, sharpness: float) -> None:
        self._sharpness = sharpness
        squares = np.einsum("ij,ij->i", centres, centres)
        self._columns = np.vstack([2 * centres.T, -np.ones_like(squares), -squares], dtype=np.float32)

    def __call__(self, rows: Floats) -> Floats:
        """Return a column for each centre."""
        return _exponentials(self._extended(rows), self._columns)

    def weighted(self, rows: Floats, weights: Floats) -> Floats:
        """Return the product of the columns for all centres with the weights, which have a row for each centre."""
        extended = self._extended(rows)
        centres = max(1, _BLOCK // max(1, len(rows)))
        total = np.zeros((len(rows), weights.shape[1]), np.float32)
        for first in range(0, len(weights), centres):
            block = slice(first, first + centres)
            total += _exponentials(extended, self._columns[:, block]) @ weights[block]
        return total

    def _extended(self, rows: Floats) -> Floats:
        squares = np.einsum("ij,ij->i", rows, rows)
        extended = np.column_stack([rows, squares, np.ones_like(squares)]).astype(np.float32)
        extended *= self._sharpness
        return extended


_BLOCK = 25_000
"""Numbers of a block of a kernel, 100 kB: a larger array gets new pages, which the system clears, each time."""


def _exponentials(rows: Floats, columns: Floats) -> Floats:
    exponents: Floats = rows @ columns
    np.minimum(exponents, 0, out=exponents)
    return np.exp(exponents, out=exponents)


_TEXTS = ("version", "clauses", "features", "threshold", "clause_thresholds", "lenience", "figures")
_NUMBERS = ("rarity", "weights", "measures", "measure_means", "measure_deviations", "shares", "bias")


def packed(model: TextModel) -> bytes:
    """Return the model as the content of a file of numpy arrays. The same model always gives the same bytes."""
    texts = json.dumps({name: getattr(model, name) for name in _TEXTS}, ensure_ascii=False)
    arrays: dict[str, Any] = {name: np.asarray(getattr(model, name), np.float32) for name in _NUMBERS}
    scale = float(np.abs(model.vectors).max()) / _HIGHEST_BYTE
    content = io.BytesIO()
    np.savez_compressed(
        content,
        texts=np.frombuffer(texts.encode(), np.uint8),
        components=model.components,
        vectors=np.round(model.vectors / scale).astype(np.int8),
        scale=np.float32(scale),
        **arrays,
    )
    return content.getvalue()


def write(content: bytes, file: Path) -> None:
    """Replace the file atomically by a packed model, so that no process reads a partial file."""
    temporary = file.with_suffix(".new")
    temporary.write_bytes(content)
    temporary.replace(file)


def load(file: Path) -> TextModel:
    """Return the model of a file. Raise OSError, or ValueError for a file that contains none.

    Models up to version 6, and those of sites from that time, have neither components nor lenience.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            texts = json.loads(arrays["texts"].tobytes())
            vectors = arrays["vectors"].astype(np.float32) * arrays["scale"]
            model = TextModel(
                version=texts["version"],
                clauses=tuple(texts["clauses"]),
                features=tuple(texts["features"]),
                threshold=texts["threshold"],
                clause_thresholds=tuple(texts["clause_thresholds"]),
                lenience=tuple(texts.get("lenience", [0.0] * len(texts["clauses"]))),
                figures=tuple(texts["figures"]),
                components=arrays.get("components", np.eye(vectors.shape[1], dtype=np.float32)),
                vectors=vectors,
                **{name: arrays[name] for name in _NUMBERS},
            )
    except (KeyError, TypeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} contains no text model: {error!r}.") from None
    if model.measures.shape[1] not in (len(MEASURES), len(MEASURES) + 1):
        raise ValueError(f"{file} contains a text model with other measures.")
    return model
