"""`manage.py train_text_model`: train the text model of the draft check on labels, and replace the former one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from tutoring.checks.labelled_drafts import CorpusError
from tutoring.review.text_model_training import (
    SUPPLEMENT,
    TRAINING_FILES,
    TooFewExamplesError,
    next_version,
    read_examples,
    train,
)
from tutoring.rules.detectors.text_model import current_model
from tutoring.rules.text_model import packed, write


class Command(BaseCommand):
    help = (
        "Train the text model of the draft check on labelled drafts, the examples of the codebook and the messages of "
        "this site's settled reviews. Print the figures of a cross-validation that leaves writers and their problems "
        "out, and those of the former model. Nothing is replaced without --replace. A replaced model is "
        "used after the next start of ./run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--corpus",
            type=Path,
            nargs="*",
            default=TRAINING_FILES,
            metavar="FILE",
            help="labelled drafts for training and validation, one file for each writer; default: the training splits",
        )
        parser.add_argument(
            "--supplement",
            type=Path,
            nargs="*",
            default=[SUPPLEMENT],
            metavar="FILE",
            help="labelled drafts for training only; default: the supplement of the development split",
        )
        parser.add_argument("--no-reviews", action="store_true", help="leave out the settled reviews")
        parser.add_argument("--replace", action="store_true", help="replace the model that is in use")
        parser.add_argument(
            "--output",
            type=Path,
            default=settings.TEXT_MODEL,
            metavar="FILE",
            help="the file that --replace writes; default: %(default)s",
        )

    def handle(
        self, *_: Any, corpus: list[Path], supplement: list[Path], output: Path, **options: Any
    ) -> None:
        try:
            examples = read_examples(corpus, supplement, reviews=not options["no_reviews"])
            model = train(examples.all(), next_version(output)).model
        except (CorpusError, TooFewExamplesError, ValueError) as error:
            raise CommandError(str(error)) from None
        former = current_model()
        self._print(f"Former model, version {former.version}", former.figures)
        self._print(
            f"New model, version {model.version}, of {len(examples.drafts) + len(examples.codebook)} labelled drafts "
            f"and {len(examples.reviewed)} messages with settled reviews",
            model.figures,
        )
        if options["replace"]:
            write(packed(model), output)
            self.stdout.write(f"Wrote {output}.")
        else:
            self.stdout.write("Nothing was replaced. Repeat the command with --replace to use the new model.")

    def _print(self, title: str, figures: Any) -> None:
        self.stdout.write(title)
        for line in figures or ["no figures"]:
            self.stdout.write(f"  {line}")
