"""Fitting of the attention over tokens to labelled messages.

The network is trained by gradient descent (AdamW: Loshchilov and Hutter, ICLR 2019) on the cross entropy of the labels.
Parts of the input and of the layers are left out at random (dropout: Srivastava et al., JMLR 2014). All chance comes
from a fixed seed, so the same examples give the same network on the same machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tutoring.rules.attention import Attention, Batch, combined, pool, shares_of_tokens
from tutoring.rules.reading import MEASURES, Unit

Floats = npt.NDArray[np.float32]
Weights = dict[str, Floats]

NEURONS, HEADS = 128, 8
"""Neurons of the hidden layer, and heads."""

EPOCHS, MESSAGES_A_STEP = 12, 64

RATE, WARM_UP, DECAY = 4e-3, 0.15, 0.02
"""Highest learning rate, the share of the steps until it is reached, and the decay of the weights."""

TOKEN_DROPOUT, HIDDEN_DROPOUT, POOLED_DROPOUT = 0.1, 0.3, 0.3

SMOOTHING = 0.01
"""Probability that a label is taken to be wrong."""

RAREST = 20
"""Lowest number of sentences in which a feature must occur."""

_KINDS = frozenset("apsrqnlc")
"""Kinds of features that the network reads: all but those of words, which it reads as tokens."""

_SAMPLE = 2_000
"""Sentences from whose tokens the size of the first weights follows."""

_MOMENT, _SQUARE_MOMENT = 0.9, 0.999
_SEED = 0


def fit_attention(messages: Sequence[Sequence[Unit]], labels: Floats, weights: Floats) -> Attention:
    """Return the network for messages, each given by its sentences.

    `labels` has a row of zeros and ones for each message, `weights` the weight of each.
    """
    random = np.random.default_rng(_SEED)
    attention = _initial(messages, labels.shape[1], random)
    step = _Steps(attention, math.ceil(len(messages) / MESSAGES_A_STEP) * EPOCHS)
    for _ in range(EPOCHS):
        order = random.permutation(len(messages))
        for first in range(0, len(order), MESSAGES_A_STEP):
            chosen = order[first : first + MESSAGES_A_STEP]
            batch = attention.batch([messages[number] for number in chosen])
            step.take(_gradients(step.weights, batch, labels[chosen], weights[chosen], random))
    return _with_weights(attention, step.weights)


def _initial(messages: Sequence[Sequence[Unit]], outputs: int, random: np.random.Generator) -> Attention:
    """Return the network before its first step."""
    sentences = [sentence for message in messages for sentence in message]
    counts = Counter(feature for one in sentences for feature in one.features if _is_read(feature))
    features = tuple(sorted(feature for feature, count in counts.items() if count >= RAREST))
    measures = np.array([one.measures for one in sentences], np.float32)
    tokens = np.concatenate([one.tokens for one in sentences[:_SAMPLE]], dtype=np.float32)
    spread = math.sqrt(tokens.var(0).sum())

    def normal(rows: int, columns: int, deviation: float) -> Floats:
        return random.normal(0, deviation, (rows, columns)).astype(np.float32)

    return Attention(
        features=features,
        measure_means=measures.mean(0),
        measure_deviations=np.maximum(measures.std(0), 1e-6),
        of_tokens=normal(tokens.shape[1], NEURONS, 1 / max(spread, 1e-6)),
        of_sentences=normal(len(features) + len(MEASURES), NEURONS, 0.05),
        hidden_constants=np.zeros(NEURONS, np.float32),
        queries=normal(NEURONS, HEADS, 0.1),
        outputs=normal(HEADS * NEURONS, outputs, 1 / math.sqrt(HEADS * NEURONS)),
        output_constants=np.zeros(outputs, np.float32),
    )


def _is_read(feature: str) -> bool:
    return feature[0] in _KINDS and feature[1] == ":" and ">" not in feature


_FITTED = ("of_tokens", "of_sentences", "hidden_constants", "queries", "outputs", "output_constants")


def _with_weights(attention: Attention, weights: Weights) -> Attention:
    return Attention(attention.features, attention.measure_means, attention.measure_deviations, **weights)


class _Steps:
    """Steps of AdamW. The learning rate rises linearly, then falls with the cosine."""

    def __init__(self, attention: Attention, count: int) -> None:
        self.weights: Weights = {name: getattr(attention, name).copy() for name in _FITTED}
        self._means = {name: np.zeros_like(own) for name, own in self.weights.items()}
        self._squares = {name: np.zeros_like(own) for name, own in self.weights.items()}
        self._count = count
        self._taken = 0

    def take(self, gradients: Weights) -> None:
        """Change the weights by a step against the gradients, whose length is cut to 1."""
        self._taken += 1
        rate = self._rate(self._taken / self._count)
        length = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
        for name in _FITTED:
            gradient = gradients[name] * min(1.0, 1 / max(length, 1e-9))
            mean = self._means[name] = _MOMENT * self._means[name] + (1 - _MOMENT) * gradient
            square = self._squares[name] = (
                _SQUARE_MOMENT * self._squares[name] + (1 - _SQUARE_MOMENT) * gradient**2
            )
            mean = mean / (1 - _MOMENT**self._taken)
            deviation = np.sqrt(square / (1 - _SQUARE_MOMENT**self._taken)) + 1e-8
            self.weights[name] -= np.float32(rate) * (mean / deviation + DECAY * self.weights[name])

    @staticmethod
    def _rate(done: float) -> float:
        if done < WARM_UP:
            return RATE * done / WARM_UP
        return RATE * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP))) / 2


def _kept(shape: tuple[int, ...], dropout: float, random: np.random.Generator) -> Floats:
    """Return factors with the mean 1: zero for what is left out."""
    kept = random.random(shape, np.float32) > dropout
    return np.asarray(kept / np.float32(1 - dropout), np.float32)


def _gradients(
    weights: Weights, batch: Batch, labels: Floats, message_weights: Floats, random: np.random.Generator
) -> Weights:
    """Return the gradients of the mean cross entropy of the labels, with dropout."""
    tokens = batch.tokens * _kept(batch.tokens.shape, TOKEN_DROPOUT, random)
    hidden = combined(tokens, batch, weights["of_tokens"], weights["of_sentences"])
    hidden += weights["hidden_constants"]
    factors = (hidden > 0) * _kept(hidden.shape, HIDDEN_DROPOUT, random)
    hidden *= factors
    shares = shares_of_tokens(hidden, weights["queries"], batch)
    pooled = pool(hidden, shares, batch)
    kept = _kept(pooled.shape, POOLED_DROPOUT, random)
    pooled *= kept
    log_odds = pooled @ weights["outputs"] + weights["output_constants"]

    wanted = labels * (1 - 2 * SMOOTHING) + SMOOTHING
    by_log_odds = ((expit(log_odds) - wanted) * message_weights[:, None] / labels.size).astype(np.float32)
    by_pooled = (by_log_odds @ weights["outputs"].T) * kept
    by_pooled = by_pooled.reshape(len(labels), -1, hidden.shape[1])[batch.message_of]
    by_shares = np.einsum("thu,tu->th", by_pooled, hidden)
    means = np.add.reduceat(shares * by_shares, batch.starts)[batch.message_of]
    by_scores = shares * (by_shares - means)
    by_hidden = np.einsum("th,thu->tu", shares, by_pooled) + by_scores @ weights["queries"].T
    by_hidden *= factors
    firsts = np.flatnonzero(np.diff(batch.sentence_of, prepend=-1))
    by_sentences = np.zeros((len(batch.sentences), hidden.shape[1]), np.float32)
    by_sentences[batch.sentence_of[firsts]] = np.add.reduceat(by_hidden, firsts)
    return {
        "of_tokens": tokens.T @ by_hidden,
        "of_sentences": batch.sentences.T @ by_sentences,
        "hidden_constants": by_hidden.sum(0),
        "queries": hidden.T @ by_scores,
        "outputs": pooled.T @ by_log_odds,
        "output_constants": by_log_odds.sum(0),
    }
