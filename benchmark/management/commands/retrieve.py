"""manage.py retrieve: run the retrieval of the methods without a model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.extraction import extract_program
from benchmark.management.arguments import find_corpus, find_dataset, find_problem, positive
from benchmark.management.progress import progress_bar
from benchmark.models import Dataset, Problem
from benchmark.retrieval import (
    CONTENTS,
    ENGINES,
    FORMULAS,
    QUERY_KINDS,
    TOKENIZERS,
    Bm25,
    NoDateError,
    NothingToRankError,
    SearchCorpus,
    article_corpus,
    make_query,
    problem_corpus,
    rank,
    training_part,
)
from judge import LANGUAGES

PARAMETERS = {
    "k1": "saturation of repeated words",
    "b": "weight of a document's length",
    "epsilon": "weight of words in more than half of the documents",
}
EXCLUSIONS = {
    "same-name": "leave out problems of the same name",
    "near-duplicates": "leave out problems with nearly the same statement",
    "not-earlier": "leave out problems that were not in an earlier contest",
}


class Command(BaseCommand):
    help = (
        "Find the problems of a dataset that are most similar to one problem or to each, or the articles of a "
        "textbook, best first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True, help="dataset of the problems")
        parser.add_argument(
            "--corpus",
            metavar="NAME",
            help="search the articles of this textbook instead of the other problems",
        )
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--problem", metavar="ID", help="search for this problem")
        which.add_argument(
            "--all", action="store_true", help="search for every problem; needs --query statement"
        )
        parser.add_argument("--query", choices=QUERY_KINDS, default="statement", help="default: statement")
        parser.add_argument(
            "--reply-file",
            type=Path,
            metavar="FILE",
            help="the model's reply, for queries other than statement; for statement+code, a file without a code block "
            "is the program",
        )
        parser.add_argument("--top", type=positive, default=2, metavar="P", help="default: 2")
        parser.add_argument(
            "--tokenizer", choices=TOKENIZERS, default=Bm25.tokenizer, help="default: %(default)s"
        )
        parser.add_argument("--formula", choices=FORMULAS, default=Bm25.formula, help="default: okapi")
        for name, text in PARAMETERS.items():
            default = getattr(Bm25, name)
            parser.add_argument(f"--{name}", type=float, default=default, help=f"{text}; default: {default}")
        parser.add_argument(
            "--language", choices=LANGUAGES, default="python", help="language of the reference solutions"
        )
        parser.add_argument(
            "--corpus-content", choices=CONTENTS, default="all", help="texts to search; default: all"
        )
        parser.add_argument(
            "--train",
            type=positive,
            metavar="N",
            help="search only N problems, sampled from all tiers, with --all for all others; default: leave-one-out",
        )
        parser.add_argument("--split-seed", type=int, default=123, metavar="SEED", help="default: 123")
        for name, text in EXCLUSIONS.items():
            parser.add_argument(f"--exclude-{name}", action="store_true", help=text)
        parser.add_argument(
            "--engine",
            choices=ENGINES,
            default=Bm25.engine,
            help="rank_bm25 rebuilds its index for every problem, for comparison; default: index",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        reply = self._read_reply(options)
        code = ""
        if options["query"] == "statement+code":
            code = extract_program(reply, options["language"]).code or reply
        problems = self._problems(dataset, options)
        corpus = self._searched(dataset, options)
        try:
            bm25 = Bm25(*(options[name] for name in ("tokenizer", *PARAMETERS, "formula", "engine")))
        except ValueError as error:
            raise CommandError(f"{error}.") from None
        exclusions = {key: given for key, given in options.items() if key.startswith("exclude_")}
        if options["train"] is not None:
            exclusions["only"] = self._training_part(dataset, options)
            if options["all"]:
                problems = [one for one in problems if one.external_id not in exclusions["only"]]

        def search(problem: Problem) -> dict[str, Any]:
            query = make_query(options["query"], problem.statement, reply=reply, code=code)
            without = None if options["corpus"] else problem.external_id
            try:
                hits = rank(corpus, query, top=options["top"], without=without, bm25=bm25, **exclusions)
            except (NothingToRankError, NoDateError) as error:
                return {"problem": problem.external_id, "results": [], "reason": str(error)}
            return {
                "problem": problem.external_id,
                "results": [{"id": hit.id, "score": hit.score} for hit in hits],
            }

        bar = progress_bar(problems, unit="problem", disable=not options["all"])
        answers = [search(problem) for problem in bar]
        if answers and all("reason" in answer for answer in answers):
            raise CommandError(f"{options['corpus'] or dataset.name}: {answers[0]['reason']}.")
        if options["json"]:
            document: dict[str, Any] = {"results": answers} if options["all"] else answers[0]
            document |= {"corpus_form": corpus.form, "corpus_hash": corpus.content_hash}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self._print(answers)

    def _print(self, answers: Sequence[dict[str, Any]]) -> None:
        for answer in answers:
            reason = f": nothing, because {answer['reason']}" if "reason" in answer else ""
            self.stdout.write(answer["problem"] + reason)
            for number, hit in enumerate(answer["results"], 1):
                self.stdout.write(f"  {number}. {hit['score']:10.2f}  {hit['id']}")

    def _problems(self, dataset: Dataset, options: dict[str, Any]) -> list[Problem]:
        """Return the problems to search for, in the order of their ids. Raises CommandError."""
        if options["all"]:
            return sorted(dataset.problems.only("external_id", "statement"), key=lambda p: p.external_id)
        return [find_problem(dataset, options["problem"])]

    def _training_part(self, dataset: Dataset, options: dict[str, Any]) -> frozenset[str]:
        """Return the ids of the problems of --train. Raises CommandError."""
        if options["corpus"]:
            raise CommandError("--train cannot be used with --corpus: a textbook has no problems.")
        tiers = dataset.problems.values_list("external_id", "tier")
        try:
            return training_part(tiers, options["train"], options["split_seed"])
        except ValueError as error:
            raise CommandError(f"{dataset.name}: {error}.") from None

    def _searched(self, dataset: Dataset, options: dict[str, Any]) -> SearchCorpus:
        """Return the textbook of --corpus, or the problems. Raises CommandError."""
        if options["corpus"] is None:
            return problem_corpus(dataset, options["language"]).holding(options["corpus_content"])
        for name in EXCLUSIONS:
            if options[f"exclude_{name.replace('-', '_')}"]:
                raise CommandError(
                    f"--exclude-{name} cannot be used with --corpus: a textbook has no problems."
                )
        return article_corpus(find_corpus(options["corpus"]))

    def _read_reply(self, options: dict[str, Any]) -> str:
        """Return the text of --reply-file; blank for a query that needs none. Raises CommandError."""
        path: Path | None = options["reply_file"]
        if options["query"] == "statement":
            if path:
                raise CommandError(
                    "--reply-file cannot be used with --query statement. Leave one of them out."
                )
            return ""
        if options["all"]:
            raise CommandError(
                "--all needs --query statement, because a reply belongs to one problem. Use --problem."
            )
        if path is None:
            raise CommandError(
                f"--query {options['query']} needs the model's reply: give it with --reply-file FILE."
            )
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"--reply-file {path} cannot be read: {error}") from None
