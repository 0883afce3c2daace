"""manage.py build_mcqs: questions about similar problems, from the tags of a dataset."""

import json
from collections import Counter
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug

from benchmark.datasets.question_sets import QuestionsInUseError
from benchmark.management.arguments import find_dataset, not_negative, positive
from benchmark.management.encoding import add_encoding, encoding
from benchmark.management.progress import progress_bar
from benchmark.retrieval import TOKENIZERS
from benchmark.similarity.building import Builder
from benchmark.similarity.encoders import NoEncoderError

THRESHOLDS = {
    "max-sim-positive": "maximum similarity of the right option's statement to the reference's",
    "min-sim-negative": "minimum similarity of the wrong options' statements to the reference's",
    "label-sim-max": "labels with more similar spelling than this (Jaro-Winkler) count as related",
}


class Command(BaseCommand):
    help = (
        "Make multiple-choice questions from the tags of a dataset. The right option has the labels of the reference "
        "and the least similar statement. The three wrong options share no label with the reference and have the "
        "most similar statements. The same parameters always make the same questions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True, metavar="NAME", help="dataset of the problems")
        parser.add_argument(
            "--name", required=True, help="name of the question set: letters, digits, - and _"
        )
        parser.add_argument(
            "--similarity",
            default=Builder.similarity,
            metavar="tfidf|encoder:NAME",
            help=f"how statements are compared; default: {Builder.similarity}",
        )
        parser.add_argument(
            "--tokenizer", choices=TOKENIZERS, default=Builder.tokenizer, help="tokenizer of tfidf"
        )
        for name, text in THRESHOLDS.items():
            default = getattr(Builder, name.replace("-", "_"))
            parser.add_argument(f"--{name}", type=float, default=default, help=f"{text}; default: {default}")
        parser.add_argument(
            "--per-label",
            type=positive,
            default=Builder.per_label,
            metavar="N",
            help=f"maximum number of questions per label; default: {Builder.per_label}",
        )
        parser.add_argument(
            "--seed",
            type=not_negative,
            default=Builder.seed,
            help="seed for the order of the reference problems and of the options; default: 0",
        )
        add_encoding(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        try:
            validate_slug(options["name"])
        except ValidationError:
            raise CommandError(
                f"--name {options['name']!r}: a name has letters, digits, - and _ only"
            ) from None
        fields = (
            "similarity",
            "tokenizer",
            "per_label",
            "seed",
            *(name.replace("-", "_") for name in THRESHOLDS),
        )
        try:
            builder = Builder(**{name: options[name] for name in fields})
            with progress_bar(unit="problem", total=dataset.problems.count()) as bar:
                made = builder.build(
                    dataset, options["name"], lambda done, _total: bar.update(done - bar.n), encoding(options)
                )
        except (ValueError, NoEncoderError, QuestionsInUseError) as error:
            raise CommandError(f"{error}.") from None
        count = made.questions.count()
        if options["json"]:
            document = {"questions": count, "name": made.name, "left_out": made.skipped}
            self.stdout.write(json.dumps(document | {"content_hash": made.content_hash}, ensure_ascii=False))
        else:
            self.stdout.write(f"{made.name}: {count} questions from {dataset.problems.count()} problems")
            for reason, times in Counter(entry["reason"] for entry in made.skipped).most_common():
                names = [entry["id"] for entry in made.skipped if entry["reason"] == reason]
                more = f" and {times - 3} more" if times > 3 else ""
                self.stdout.write(f"  no question for {', '.join(names[:3])}{more}: {reason}")
        if not count:
            raise CommandError("No problem gave a question: see the reasons above.")
