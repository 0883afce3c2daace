"""Attention over the tokens of a message: a small network that is one part of the text model, as data.

A hidden layer combines each token with the features and measures of its sentence. Several heads then weigh the tokens
of the whole message (Lin et al., "A structured self-attentive sentence embedding", ICLR 2017), so that few words of a
long message can decide. `attention_fitting.py` computes the weights; applying them needs only numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tutoring.rules.reading import MEASURES, Unit

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.intp]

_FARTHEST_MEASURE = 4.0
"""Deviations from the mean beyond which a measure counts as this far."""

HIGHEST = 8.0
"""Highest log odds that are returned, and the negative of the lowest ones."""


class Batch(NamedTuple):
    """Messages as the network reads them: a row for each token, and for each sentence.

    `sentence_of` and `message_of` have the number of the sentence and of the message for each token, `starts` the first
    token of each message. Every message has tokens.
    """

    tokens: Floats
    sentences: Floats
    sentence_of: Numbers
    message_of: Numbers
    starts: Numbers


@dataclass(frozen=True)
class Attention:
    """The fitted network. Its hidden layer has a column for each neuron; `queries` has one for each head.

    `of_sentences` has a row for each of the `features`, then one for each of MEASURES. `outputs` has the neurons of the
    first head, then those of the second … as rows, and a column for each clause and for "some clause is broken".
    """

    features: tuple[str, ...]
    measure_means: Floats
    measure_deviations: Floats
    of_tokens: Floats
    of_sentences: Floats
    hidden_constants: Floats
    queries: Floats
    outputs: Floats
    output_constants: Floats

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {feature: number for number, feature in enumerate(self.features)}

    def batch(self, messages: Sequence[Sequence[Unit]]) -> Batch:
        """Return the messages, each given by its sentences."""
        sentences = [sentence for message in messages for sentence in message]
        rows = np.zeros((len(sentences), len(self.features) + len(MEASURES)), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            row[[self._numbers[feature] for feature in sentence.features if feature in self._numbers]] = 1
        measures = (
            np.array([one.measures for one in sentences]) - self.measure_means
        ) / self.measure_deviations
        rows[:, len(self.features) :] = measures.clip(-_FARTHEST_MEASURE, _FARTHEST_MEASURE)
        lengths = np.array([len(sentence.tokens) for sentence in sentences])
        ends = lengths.cumsum()[np.cumsum([len(message) for message in messages]) - 1]
        return Batch(
            np.concatenate([sentence.tokens for sentence in sentences], dtype=np.float32),
            rows,
            np.repeat(np.arange(len(sentences)), lengths),
            np.repeat(np.arange(len(messages)), np.diff(ends, prepend=0)),
            np.concatenate([[0], ends[:-1]]),
        )

    def log_odds(self, messages: Sequence[Sequence[Unit]]) -> Floats:
        """Return for each message, given by its sentences, the log odds of each clause and of "some clause".

        They are between -HIGHEST and HIGHEST.
        """
        batch = self.batch(messages)
        hidden = combined(batch.tokens, batch, self.of_tokens, self.of_sentences) + self.hidden_constants
        np.maximum(hidden, 0, out=hidden)
        pooled = pool(hidden, shares_of_tokens(hidden, self.queries, batch), batch)
        log_odds: Floats = pooled @ self.outputs + self.output_constants
        return log_odds.clip(-HIGHEST, HIGHEST)


def combined(tokens: Floats, batch: Batch, of_tokens: Floats, of_sentences: Floats) -> Floats:
    """Return for each of the tokens of a batch the sum of its row and that of its sentence, weighted."""
    hidden: Floats = tokens @ of_tokens
    hidden += (batch.sentences @ of_sentences)[batch.sentence_of]
    return hidden


def shares_of_tokens(hidden: Floats, queries: Floats, batch: Batch) -> Floats:
    """Return each head's weights of the tokens. The weights of the tokens of a message have the sum 1."""
    scores = hidden @ queries
    highest = np.maximum.reduceat(scores, batch.starts)
    shares: Floats = np.exp(scores - highest[batch.message_of])
    shares /= np.add.reduceat(shares, batch.starts)[batch.message_of]
    return shares


def pool(hidden: Floats, shares: Floats, batch: Batch) -> Floats:
    """Return for each message the mean of its tokens' hidden layers for each head, one head after another."""
    return np.concatenate(
        [np.add.reduceat(share[:, None] * hidden, batch.starts) for share in shares.T], axis=1
    )
