"""`manage.py find_token_components`: find the directions to which the text model reduces tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from tutoring.checks.labelled_drafts import CorpusError, read_drafts
from tutoring.review.text_model_training import TRAINING_FILES
from tutoring.rules.sentence_encoder import FEATURES, TOKEN_COMPONENTS, CachedEncoder
from tutoring.rules.texts import sentences

COUNT = 256
"""Directions. They hold 98 % of the variance of the shipped drafts' tokens."""

_SENTENCES = 500
"""Sentences that are encoded at once."""


class Command(BaseCommand):
    help = (
        "Find the directions in which the tokens of labelled drafts vary most (principal components), and write them "
        "to a file. The text model reads tokens reduced to them. This is needed after a change of the sentence encoder "
        "only, and every text model must be trained again after it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--corpus",
            type=Path,
            nargs="+",
            default=TRAINING_FILES,
            metavar="FILE",
            help="labelled drafts; default: the training splits",
        )
        parser.add_argument(
            "--output",
            type=Path,
            default=TOKEN_COMPONENTS,
            metavar="FILE",
            help="the file to write; default: %(default)s",
        )

    def handle(self, *_: Any, corpus: list[Path], output: Path, **__: Any) -> None:
        try:
            texts = [draft.text for file in corpus for draft in read_drafts(file)]
        except CorpusError as error:
            raise CommandError(str(error)) from None
        known = sorted({one.text.strip() for text in texts for one in sentences(text) if one.text.strip()})
        encoder = CachedEncoder(np.eye(FEATURES, dtype=np.float32))
        count, total, products = 0, np.zeros(FEATURES), np.zeros((FEATURES, FEATURES))
        for first in range(0, len(known), _SENTENCES):
            encoded = encoder.encode(known[first : first + _SENTENCES])
            rows = np.concatenate([one.tokens for one in encoded], dtype=np.float32)
            count += len(rows)
            total += rows.sum(0, dtype=np.float64)
            products += rows.T @ rows
        mean = total / count
        variances, directions = np.linalg.eigh(products / count - np.outer(mean, mean))
        components = directions[:, : -COUNT - 1 : -1]
        highest = np.abs(components).argmax(0)
        components *= np.sign(components[highest, np.arange(COUNT)])  # the sign of a direction is arbitrary
        np.save(output, components.astype(np.float16))
        share = variances[-COUNT:].sum() / variances.sum()
        self.stdout.write(
            f"{len(known)} sentences, {count} tokens: "
            f"{COUNT} of {FEATURES} directions have {share:.1%} of the variance."
        )
