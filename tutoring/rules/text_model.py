"""The text model: a kernel machine that compares passages of a message with labelled messages, as data.

It has a score for each forbidden clause and one for "some clause is broken", between about -1 and 1. The kernel is a
sum of three parts: the cosine of the features, weighted by their rarity; a Gaussian of the distance of the sentence
vectors; and a Gaussian of the distance of the measures. The first part is linear, so its weights explain a score.
The odds that a message breaks a clause depend on the scores of the whole message and of its sentences, on what the
attention over its tokens says (`attention.py`), and on what other detectors find. `fitting.py` computes the model;
applying it needs only numpy.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tutoring.rules.attention import Attention
from tutoring.rules.detection import WARNING, Detection
from tutoring.rules.reading import MEASURES, Unit

Floats = npt.NDArray[np.float32]

VECTOR_SHARPNESS, MEASURE_SHARPNESS, MEASURE_SHARE = 2.0, 0.02, 0.5
"""Inverse widths of the two Gaussians, and the share of the second one."""

MANY = 3
"""Number of warnings that makes those of one clause certain: few allowed labelled drafts reach it."""

LONG, PASSAGE_MARGIN = 170, 1.0
"""Characters of a long message, whose suspicion says little about one of its sentences: a warning in it is also
reported if the suspicion of its own passage exceeds the threshold by the margin."""

_HIGHEST_BYTE = 127.0


class Found(NamedTuple):
    """A clause that a message probably breaks, the passage that shows it, and whether it is the likeliest clause."""

    clause: str
    unit: Unit
    likeliest: bool
    features: list[str]


@dataclass(frozen=True)
class Judgement:
    """The log odds that a message breaks each clause, and its suspicion: the log odds that it breaks some clause.

    `passages` holds the suspicion of each unit that contains a warning, as if it were the whole message.
    """

    clauses: Floats
    suspicion: float
    passages: Mapping[int, float]

    def highest_threshold(
        self, detection: Detection, found: Sequence[Detection], units: Sequence[Unit]
    ) -> float:
        """Return the highest threshold of a model at which the detection in the message of these units is reported.

        `found` are all detections of other detectors in the message.
        """
        if detection.certain or _is_one_of_many(detection, found):
            return math.inf
        if detection.weight < WARNING:
            return self.suspicion
        own = (
            suspicion - PASSAGE_MARGIN
            for number, suspicion in self.passages.items()
            if _overlaps(detection, units[number])
        )
        return max([self.suspicion, *own])


def judge(numbers: MessageNumbers, odds: Floats) -> Judgement:
    """Return the judgement on a message with these numbers. `odds` are those of a model."""
    whole = numbers.whole @ odds[1:] + odds[0]
    passages = {number: float(own @ odds[1:, -1] + odds[0, -1]) for number, own in numbers.passages.items()}
    return Judgement(whole[:-1], float(whole[-1]), passages)


def _overlaps(detection: Detection, unit: Unit) -> bool:
    return unit.start < detection.end and detection.start < unit.end


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
    attention: Attention
    odds: Floats
    """What each of the `message_numbers` adds to the log odds of each clause and of "some clause", below a constant."""
    threshold: float = 0.0
    """Suspicion from which a message is reported."""
    clause_thresholds: tuple[float, ...] = ()
    """Score from which a clause of a reported message is reported beside the likeliest one."""
    figures: tuple[str, ...] = ()

    def judgement(self, scores: Floats, units: Sequence[Unit], found: Sequence[Detection]) -> Judgement:
        """Return the judgement on a message of these units and scores, in which other detectors have found `found`."""
        return judge(message_numbers(scores, self.attention, units, found, self.clauses), self.odds)

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
        measures = np.array([unit.measures for unit in units], np.float32)
        measures = (measures - self.measure_means) / self.measure_deviations
        scores += self._vector_kernel.weighted(vectors, self.shares)
        scores += MEASURE_SHARE * self._measure_kernel.weighted(measures, self.shares)
        return np.asarray(scores, np.float32)

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
        likeliest, *others = map(int, np.argsort(-judgement.clauses, kind="stable")[:_MOST_CLAUSES])
        others = [number for number in others if judgement.clauses[number] >= self.clause_thresholds[number]]
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


class MessageNumbers(NamedTuple):
    """The numbers that the log odds of a message depend on, and those of its passages with a warning, by unit."""

    whole: Floats
    passages: Mapping[int, Floats]


def message_numbers(
    scores: Floats,
    attention: Attention,
    units: Sequence[Unit],
    found: Sequence[Detection],
    clauses: Sequence[str],
) -> MessageNumbers:
    """Return the numbers of a message of these units and scores. Only a long message has passages."""
    numbers: list[int] = []
    if units[0].end - units[0].start >= LONG:
        warnings = [one for one in found if one.weight >= WARNING]
        numbers = [
            number
            for number, unit in enumerate(units[1:], 1)
            if any(_overlaps(one, unit) for one in warnings)
        ]
    whole, *log_odds = attention.log_odds([units[1:] or units, *([units[number]] for number in numbers)])
    passages = {}
    for number, own in zip(numbers, log_odds, strict=True):
        inside = [one for one in found if _overlaps(one, units[number])]
        passages[number] = _numbers(scores[number : number + 1], own, [units[number]], inside, clauses)
    return MessageNumbers(_numbers(scores, whole, units, found, clauses), passages)


def _numbers(
    scores: Floats,
    log_odds: Floats,
    units: Sequence[Unit],
    found: Sequence[Detection],
    clauses: Sequence[str],
) -> Floats:
    """Return the scores of the whole and of its passages, what others found, the length, and the attention's log odds.

    Of the passages there are the highest and the mean scores; of both, the two highest scores of a clause. Some numbers
    occur times the length as well: in a long message one sentence says more than the whole.
    """
    whole, passages = scores[0], scores[1:] if len(scores) > 1 else scores
    highest = passages.max(0)
    tops = np.concatenate([np.sort(whole[:-1])[-2:], np.sort(highest[:-1])[-2:]])
    length = math.log((units[0].end - units[0].start) / _USUAL_LENGTH)
    weights = [max((one.weight for one in found if one.clause == clause), default=0.0) for clause in clauses]
    findings = [*weights, min(len(found), _MOST_FINDINGS), bool(found)]
    with_length = np.array([1, whole[-1], highest[-1], tops[1], tops[3], bool(found)]) * length
    count = min(len(passages), _MOST_PASSAGES)
    return np.concatenate(
        [whole, highest, passages.mean(0), tops, findings, with_length, [count], log_odds], dtype=np.float32
    )


_USUAL_LENGTH, _MOST_FINDINGS, _MOST_PASSAGES = 110, 5, 20

_MOST_CLAUSES = 3
"""Clauses that a message is reported for: with all, the cross-validation finds 0.1 % more breaches."""


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


_ATTENTION = "attention_"
"""Beginning of the names of the arrays of the attention in a file."""

_ATTENTION_NUMBERS = tuple(field.name for field in fields(Attention) if field.name != "features")
_TEXTS = ("version", "clauses", "features", "threshold", "clause_thresholds", "figures")
_NUMBERS = (
    "rarity",
    "weights",
    "components",
    "measures",
    "measure_means",
    "measure_deviations",
    "shares",
    "bias",
    "odds",
)


def packed(model: TextModel) -> bytes:
    """Return the model as the content of a file of numpy arrays. The same model always gives the same bytes."""
    named = {name: getattr(model, name) for name in _TEXTS}
    texts = json.dumps({**named, "attention_features": model.attention.features}, ensure_ascii=False)
    arrays: dict[str, Any] = {name: np.asarray(getattr(model, name), np.float32) for name in _NUMBERS}
    scale = float(np.abs(model.vectors).max()) / _HIGHEST_BYTE
    content = io.BytesIO()
    np.savez_compressed(
        content,
        texts=np.frombuffer(texts.encode(), np.uint8),
        vectors=np.round(model.vectors / scale).astype(np.int8),
        scale=np.float32(scale),
        **{
            _ATTENTION + name: getattr(model.attention, name).astype(np.float16)
            for name in _ATTENTION_NUMBERS
        },
        **arrays,
    )
    return content.getvalue()


def write(content: bytes, file: Path) -> None:
    """Replace the file atomically by a packed model, so that no process reads a partial file."""
    temporary = file.with_suffix(".new")
    temporary.write_bytes(content)
    temporary.replace(file)


class OutdatedModelError(Exception):
    """A text model, of this `version`, is of an earlier version of Hintbench, which this one cannot use."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(
            f"{name} contains a text model (version {version}) of an earlier version of Hintbench."
        )
        self.version = version


def load(file: Path) -> TextModel:
    """Return the model of a file. Raise OSError, and the errors of `unpacked`, which name the file."""
    return unpacked(file.read_bytes(), str(file))


def unpacked(content: bytes, name: str) -> TextModel:
    """Return a packed model. Raise OutdatedModelError, or ValueError for content that is no model."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            texts = json.loads(arrays["texts"].tobytes())
            version = int(texts["version"])
            if _ATTENTION + "queries" not in arrays or arrays["measures"].shape[1] != len(MEASURES):
                raise OutdatedModelError(name, version)
            vectors = arrays["vectors"].astype(np.float32) * arrays["scale"]
            return TextModel(
                version=version,
                clauses=tuple(texts["clauses"]),
                features=tuple(texts["features"]),
                threshold=texts["threshold"],
                clause_thresholds=tuple(texts["clause_thresholds"]),
                figures=tuple(texts["figures"]),
                vectors=vectors,
                attention=Attention(
                    tuple(texts["attention_features"]),
                    **{name: arrays[_ATTENTION + name].astype(np.float32) for name in _ATTENTION_NUMBERS},
                ),
                **{name: arrays[name] for name in _NUMBERS},
            )
    except (KeyError, TypeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{name} contains no text model: {error!r}.") from None


def version_in(file: Path) -> int:
    """Return the version of the model of a file, even if it is outdated. Raise OSError or ValueError."""
    try:
        return load(file).version
    except OutdatedModelError as error:
        return error.version
