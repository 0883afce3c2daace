"""The attention over tokens: its gradients, what it can learn, and that messages are read independently."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutoring.rules import attention, attention_fitting
from tutoring.rules.attention import Attention
from tutoring.rules.attention_fitting import fit_attention
from tutoring.rules.reading import MEASURES, Unit

COMPONENTS = 12
DROPOUTS = ("TOKEN_DROPOUT", "HIDDEN_DROPOUT", "POOLED_DROPOUT")

Message = list[Unit]


def sentence(tokens: np.ndarray, features: Sequence[str], random: np.random.Generator) -> Unit:
    measures = tuple(random.normal(size=len(MEASURES)).tolist())
    return Unit(0, 1, frozenset(features), np.zeros(1, np.float32), measures, tokens.astype(np.float16))


def messages_of(random: np.random.Generator, count: int) -> tuple[list[Message], np.ndarray]:
    """Return messages of random tokens, and a label for each: whether one token among them is large in two numbers,
    in a sentence with the feature p:code."""
    messages, labels = [], []
    for _ in range(count):
        number_of_sentences = random.integers(1, 4)
        tokens = [random.normal(size=(random.integers(2, 9), COMPONENTS)) for _ in range(number_of_sentences)]
        features = [["p:code"] if random.random() < 0.5 else [] for _ in tokens]
        chosen = random.integers(number_of_sentences)
        marked = random.random() < 0.6
        if marked:
            tokens[chosen][random.integers(len(tokens[chosen])), :2] = 4
        messages.append([sentence(*one, random) for one in zip(tokens, features, strict=True)])
        labels.append(marked and bool(features[chosen]))
    return messages, np.array(labels, np.float32)[:, None]


def test_the_network_finds_one_telling_token_in_a_message_of_many() -> None:
    random = np.random.default_rng(1)
    messages, labels = messages_of(random, 3_000)
    further, wanted = messages_of(random, 500)
    network = fit_attention(messages, labels, np.ones(len(messages), np.float32))
    right = (network.log_odds(further) > 0) == wanted
    assert right.mean() >= 0.95  # the more frequent answer alone is right in 70 % of the messages
    again = fit_attention(messages[:200], labels[:200], np.ones(200, np.float32))
    same = fit_attention(messages[:200], labels[:200], np.ones(200, np.float32))
    np.testing.assert_array_equal(again.outputs, same.outputs)


def small_attention(random: np.random.Generator) -> Attention:
    def normal(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32) / 2

    return Attention(
        ("p:code",),
        normal(len(MEASURES)),
        np.ones(len(MEASURES), np.float32),
        normal(COMPONENTS, 5),
        normal(1 + len(MEASURES), 5),
        normal(5),
        normal(5, 3),
        normal(15, 2),
        normal(2),
    )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_a_message_is_read_alike_beside_any_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    network = small_attention(random)
    messages, _ = messages_of(random, 6)
    together = network.log_odds(messages)
    for message, row in zip(messages, together, strict=True):
        np.testing.assert_allclose(network.log_odds([message])[0], row, atol=1e-4)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_gradients_are_those_of_the_weighted_cross_entropy(seed: int) -> None:
    random = np.random.default_rng(seed)
    network = small_attention(random)
    messages, _ = messages_of(random, 4)
    labels = random.integers(0, 2, (4, 2)).astype(np.float32)
    message_weights = random.random(4).astype(np.float32)
    weights = {name: getattr(network, name) for name in attention_fitting._FITTED}
    with pytest.MonkeyPatch.context() as patch:
        for name in DROPOUTS:
            patch.setattr(attention_fitting, name, 0.0)
        gradients = attention_fitting._gradients(
            weights, network.batch(messages), labels, message_weights, random
        )
    step, smoothing = 1e-3, attention_fitting.SMOOTHING
    targets = labels * (1 - 2 * smoothing) + smoothing

    def loss(changed: dict[str, np.ndarray]) -> float:
        other = attention_fitting._with_weights(network, changed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attention, "HIGHEST", np.inf)
            odds = other.log_odds(messages).astype(np.float64)
        entropies = np.logaddexp(0, odds) - targets * odds
        return float((entropies * message_weights[:, None]).mean())

    direction = {name: random.normal(size=own.shape).astype(np.float32) for name, own in weights.items()}
    after, before = (
        loss({name: own + sign * step * direction[name] for name, own in weights.items()}) for sign in (1, -1)
    )
    slope = sum(float((gradients[name] * direction[name]).sum()) for name in weights)
    size = np.sqrt(sum(float((own**2).sum()) for own in direction.values()))
    assert abs((after - before) / (2 * step) - slope) <= 0.02 * size


@pytest.mark.parametrize("name", DROPOUTS)
def test_what_is_left_out_keeps_the_mean(name: str) -> None:
    kept = attention_fitting._kept((400, 400), getattr(attention_fitting, name), np.random.default_rng(0))
    assert abs(kept.mean() - 1) < 0.02
    assert (kept == 0).any()
