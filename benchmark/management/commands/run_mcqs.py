"""manage.py run_mcqs: answer questions about similar problems, or go on with such a run."""

import asyncio
import json
from contextlib import ExitStack
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.datasets.question_sets import LETTERS
from benchmark.management.arguments import find_question_set, find_similarity_run, not_negative, positive
from benchmark.management.encoding import add_encoding, encoding
from benchmark.management.model_options import (
    add_model_options,
    estimates_json,
    estimates_table,
    price_of,
    run_interruptibly,
    run_options,
    sampling,
    try_to_open,
)
from benchmark.management.progress import progress_bar, write_line
from benchmark.model_calls import Stop
from benchmark.model_calls.heartbeat import CarriedOut, alone_with
from benchmark.model_calls.requests import SpendTracker
from benchmark.models import SimilarityRun
from benchmark.providers import ModelSpecError, ProviderError, parse_model_spec
from benchmark.reports.formatting import faults_told
from benchmark.representations import KINDS
from benchmark.retrieval import TOKENIZERS
from benchmark.runner import CannotRunError, Draws, RunOptions
from benchmark.similarity.encoders import Encoder, NoEncoder
from benchmark.similarity.estimates import estimate_run
from benchmark.similarity.figures import measure
from benchmark.similarity.report import text_of
from benchmark.similarity.runs import Plan, Work, execute, resume_run, start_run, unwritten
from benchmark.similarity.scorers import STATISTICS, Scorer

_OF_NEW_RUNS = (
    "questions",
    "task",
    "representation",
    "model",
    "scorer",
    "shuffle",
    "correct_at",
    "limit",
    "draws",
)
_REQUIRED = ("questions", "task", "representation")


class Command(BaseCommand):
    help = (
        "Answer multiple-choice questions about similar problems. choose: a model sees the question and names a "
        "letter. rank: the options are ranked by how much they are like the reference, and the first is the answer. "
        "Representations that a model has to write are written first, once for all runs."
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--questions", metavar="NAME", help="as build_mcqs or an import named them")
        parser.add_argument("--task", choices=SimilarityRun.Task.values)
        parser.add_argument("--representation", choices=KINDS, help="what stands for a problem")
        parser.add_argument(
            "--model",
            metavar="PROVIDER:MODEL",
            help="who writes and chooses; none for ranking by statement or solution",
        )
        parser.add_argument(
            "--scorer",
            metavar="bm25|tfidf|encoder:NAME",
            help=f"for rank; default: {Scorer.name}. An encoder is anything that sentence-transformers loads",
        )
        parser.add_argument("--tokenizer", choices=TOKENIZERS, default=Scorer.tokenizer)
        for name in ("k1", "b", "epsilon"):
            default = getattr(Scorer, name)
            parser.add_argument(f"--{name}", type=float, default=default, help=f"of BM25; default: {default}")
        parser.add_argument(
            "--statistics",
            choices=STATISTICS,
            default=Scorer.statistics,
            help="where words are counted: in every problem of the dataset that has the representation (default), or "
            "in the four options alone",
        )
        parser.add_argument(
            "--shuffle",
            type=not_negative,
            metavar="SEED",
            help="shuffle the options anew; default: as stored",
        )
        parser.add_argument(
            "--correct-at",
            choices=tuple(LETTERS),
            help="put the right option at this letter in every question",
        )
        parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
        parser.add_argument(
            "--draws",
            choices=get_args(Draws),
            help="repeat: choices that were paid for are answered with the stored replies (default); fresh: every "
            "choice is asked again. Representations are written once in any case",
        )
        parser.add_argument("--resume", metavar="RUN", help="go on with this run")
        add_encoding(parser)
        add_model_options(parser, "the whole run, however often it goes on, has")

    def handle(self, **options: Any) -> None:
        try:
            stored = find_similarity_run(options["resume"]) if options["resume"] else None
            plan = self._resumed(options, stored) if stored else self._planned(options)
            former = RunOptions.of_run(stored) if stored else RunOptions()
            asked = run_options(options, price_of(options, plan.spec, former=former.price), former)
            if options["dry_run"]:
                work = Work(plan, stored)
                work.load()
                return self._tell_cost(work, asked.price, options["json"])
            if plan.spec:
                asyncio.run(try_to_open(plan.spec))
            name = plan.scorer.encoder if plan.scorer else ""
            encoder = Encoder(name, encoding(options)) if name else None  # both before a run is stored
            with ExitStack() as alone, progress_bar(unit="step", desc=plan.task) as bar:
                if writing := unwritten(plan, stored):
                    alone.enter_context(alone_with(writing))
                run = stored or start_run(plan, asked)
                alone.enter_context(alone_with(f"Run {run.pk}"))
                if stored:
                    stored.refresh_from_db()  # another process may have paid since it was read
                    resume_run(stored, asked)
                ledger, stop = SpendTracker.of_run(run), Stop()
                self.stderr.write(f"Run {run.pk}")

                def advance() -> None:
                    if plan.spec:
                        bar.set_postfix(dollars=ledger.shown, refresh=False)
                    bar.update()

                run_interruptibly(
                    execute(
                        run,
                        ledger=ledger,
                        stop=stop,
                        encoder=encoder,
                        begin=bar.reset,
                        advance=advance,
                        tell=write_line,
                    ),
                    stop,
                )
        except (CannotRunError, CarriedOut, ModelSpecError, NoEncoder, ProviderError, ValueError) as error:
            raise CommandError(str(error)) from None
        run.refresh_from_db()
        figures = measure(run)
        self.stdout.write(
            json.dumps(figures.to_json(), ensure_ascii=False) if options["json"] else text_of(figures)
        )
        if run.state != SimilarityRun.State.FINISHED:
            reasons = [f"Stopped: {stop.reason}"] if stop.reason else []
            reasons += faults_told({one["about"]: one["fault"] for one in run.faults})
            reasons.append(f"Not finished. Go on with: manage.py run_mcqs --resume {run.pk}")
            raise CommandError("\n".join(reasons))

    def _planned(self, options: dict[str, Any]) -> Plan:
        """Raises what is wrong with the options before anything is stored."""
        missing = [f"--{name}" for name in _REQUIRED if not options[name]]
        if missing:
            raise CommandError(f"Missing: {', '.join(missing)} (or --resume RUN to go on with a run).")
        rank = options["task"] == SimilarityRun.Task.RANK
        if options["scorer"] and not rank:
            raise CommandError("--scorer has no use with --task choose: the model compares.")
        if options["draws"] and rank:
            raise CommandError("--draws has no use with --task rank: no model chooses.")
        names = ("tokenizer", "k1", "b", "epsilon", "statistics")
        scorer = Scorer(options["scorer"] or Scorer.name, **{name: options[name] for name in names})
        return Plan(
            find_question_set(options["questions"]),
            options["task"],
            KINDS[options["representation"]],
            parse_model_spec(options["model"]) if options["model"] else None,
            sampling(options),
            scorer if rank else None,
            options["shuffle"],
            options["correct_at"] or "",
            options["limit"],
            None if options["draws"] == "fresh" else 0,
        )

    def _resumed(self, options: dict[str, Any], run: SimilarityRun) -> Plan:
        given = [f"--{name.replace('_', '-')}" for name in _OF_NEW_RUNS if options[name] is not None]
        if given:
            raise CommandError(f"A run goes on as it began: leave out {', '.join(given)} with --resume.")
        return Plan.of(run)

    def _tell_cost(self, work: Work, price: Any, as_json: bool) -> None:
        estimates = estimate_run(work)
        written, answers = len(work.missing()), len(work.questions)
        if as_json:
            document = {"dry_run": True, "representations": written, "questions": answers}
            self.stdout.write(json.dumps(document | {"estimates": estimates_json(estimates, price)}))
            return
        self.stdout.write(
            f"{answers} questions to be answered, {written} representations to be written. Nobody was called."
        )
        self.stdout.write("\n".join(estimates_table(estimates, price)))
