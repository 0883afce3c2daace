"""manage.py run_mcqs: answer questions about similar problems, or resume such a run."""

import asyncio
import json
from contextlib import ExitStack
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.datasets.question_sets import LETTERS
from benchmark.management.arguments import find_question_set, find_similarity_run, not_negative, positive
from benchmark.management.encoding import add_encoding, encoding
from benchmark.management.interrupts import run_interruptibly
from benchmark.management.model_options import (
    MODEL_METAVAR,
    add_model_options,
    chosen_model,
    estimates_json,
    estimates_table,
    monitor_under,
    price_of,
    run_options,
    sampling,
    try_to_open,
    with_context,
)
from benchmark.management.progress import progress_bar
from benchmark.model_calls import Stop
from benchmark.model_calls.heartbeat import AlreadyRunningError, exclusive_lock
from benchmark.model_calls.requests import SpendTracker
from benchmark.models import SimilarityRun
from benchmark.providers import ModelSpecError, ProviderError
from benchmark.reports.formatting import format_faults
from benchmark.representations import KINDS
from benchmark.retrieval import TOKENIZERS
from benchmark.runner import CannotRunError, Draws, RunOptions
from benchmark.similarity.encoders import Encoder, NoEncoderError
from benchmark.similarity.estimates import estimate_run
from benchmark.similarity.figures import measure
from benchmark.similarity.report import text_of
from benchmark.similarity.runs import SimilarityPlan, Work, execute, missing_generation, resume_run, start_run
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
        "Answer multiple-choice questions about similar problems. choose: a model reads the question and names a "
        "letter. rank: the options are ranked by their similarity to the reference, and the first is the answer. "
        "Missing representations are generated first, once for all runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--questions", metavar="NAME", help="name of the question set")
        parser.add_argument(
            "--task", choices=SimilarityRun.Task.values, help="how the questions are answered"
        )
        parser.add_argument("--representation", choices=KINDS, help="representation of a problem")
        parser.add_argument(
            "--model",
            metavar=MODEL_METAVAR,
            help="model that writes and chooses; none for ranking by statement or solution",
        )
        parser.add_argument(
            "--scorer",
            metavar="bm25|tfidf|encoder:NAME",
            help=f"scorer of the task rank; default: {Scorer.name}. An encoder is any model that "
            "sentence-transformers loads",
        )
        parser.add_argument(
            "--tokenizer", choices=TOKENIZERS, default=Scorer.tokenizer, help="default: %(default)s"
        )
        for name in ("k1", "b", "epsilon"):
            default = getattr(Scorer, name)
            parser.add_argument(
                f"--{name}", type=float, default=default, help=f"parameter of BM25; default: {default}"
            )
        parser.add_argument(
            "--statistics",
            choices=STATISTICS,
            default=Scorer.statistics,
            help="texts of the word statistics: every problem of the dataset that has the representation (default), or "
            "the four options alone",
        )
        parser.add_argument(
            "--shuffle",
            type=not_negative,
            metavar="SEED",
            help="seed for a new order of the options; default: as stored",
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
            help="repeat: choices with a paid reply get the stored reply (default); fresh: every choice is requested "
            "again. Representations are generated once in any case",
        )
        parser.add_argument("--resume", metavar="RUN", help="resume this run")
        add_encoding(parser)
        add_model_options(parser, "the whole run, with all its resumptions, has")

    def handle(self, **options: Any) -> None:
        try:
            stored = find_similarity_run(options["resume"]) if options["resume"] else None
            plan = self._resumed(options, stored) if stored else self._planned(options)
            former = RunOptions.of_run(stored) if stored else with_context(RunOptions(), plan.stored_model)
            price = price_of(options, plan.spec, row=plan.stored_model, former=former.price)
            chosen = run_options(options, price, former)
            if options["dry_run"]:
                work = Work(plan, stored)
                work.load()
                self._print_estimates(work, price, options["json"])
                return
            if plan.spec:
                asyncio.run(try_to_open(plan.spec))
            run, stop = self._run(plan, stored, chosen, options)
        except (
            CannotRunError,
            AlreadyRunningError,
            ModelSpecError,
            NoEncoderError,
            ProviderError,
            ValueError,
        ) as error:
            raise CommandError(str(error)) from None
        run.refresh_from_db()
        figures = measure(run)
        self.stdout.write(
            json.dumps(figures.to_json(), ensure_ascii=False) if options["json"] else text_of(figures)
        )
        if run.state != SimilarityRun.State.FINISHED:
            reasons = [f"Stopped: {stop.reason}"] if stop.reason else []
            reasons += format_faults({one["about"]: one["fault"] for one in run.faults})
            reasons.append(f"Not finished. Resume with: manage.py run_mcqs --resume {run.pk}")
            raise CommandError("\n".join(reasons))

    def _run(
        self, plan: SimilarityPlan, stored: SimilarityRun | None, chosen: RunOptions, options: dict[str, Any]
    ) -> tuple[SimilarityRun, Stop]:
        """Execute the stored or a new run, and return it with the stop that ended it, if one did."""
        name = plan.scorer.encoder if plan.scorer else ""
        encoder = Encoder(name, encoding(options)) if name else None  # loaded before a run is stored
        with ExitStack() as alone, progress_bar(unit="step", desc=plan.task) as bar:
            if generation := missing_generation(plan, stored):
                alone.enter_context(exclusive_lock(generation))
            run = stored or start_run(plan, chosen)
            alone.enter_context(exclusive_lock(f"Run {run.pk}"))
            if stored:
                stored.refresh_from_db()  # another process may have paid since it was read
                resume_run(stored, chosen)
            tracker, stop = SpendTracker.of_run(run), Stop()
            self.stderr.write(f"Run {run.pk}")
            monitor = monitor_under(bar, stop, tracker if plan.spec else None)
            run_interruptibly(execute(run, tracker, monitor, encoder), stop)
        return run, stop

    def _planned(self, options: dict[str, Any]) -> SimilarityPlan:
        """Return the plan of a new run. Raises the errors of invalid options before anything is stored."""
        missing = [f"--{name}" for name in _REQUIRED if not options[name]]
        if missing:
            raise CommandError(f"Missing: {', '.join(missing)} (or --resume RUN to resume a run).")
        rank = options["task"] == SimilarityRun.Task.RANK
        if options["scorer"] and not rank:
            raise CommandError("--scorer cannot be used with --task choose: the model compares.")
        if options["draws"] and rank:
            raise CommandError("--draws cannot be used with --task rank: no model chooses.")
        names = ("tokenizer", "k1", "b", "epsilon", "statistics")
        scorer = Scorer(options["scorer"] or Scorer.name, **{name: options[name] for name in names})
        model = chosen_model(options) if options["model"] else None
        return SimilarityPlan(
            find_question_set(options["questions"]),
            options["task"],
            KINDS[options["representation"]],
            model.spec if model else None,
            model.parameters if model else sampling(options),
            scorer if rank else None,
            options["shuffle"],
            options["correct_at"] or "",
            options["limit"],
            None if options["draws"] == "fresh" else 0,
            model.row if model else None,
        )

    def _resumed(self, options: dict[str, Any], run: SimilarityRun) -> SimilarityPlan:
        given = [f"--{name.replace('_', '-')}" for name in _OF_NEW_RUNS if options[name] is not None]
        if given:
            raise CommandError(
                f"A resumed run keeps its options: leave out {', '.join(given)} with --resume."
            )
        return SimilarityPlan.of(run)

    def _print_estimates(self, work: Work, price: Any, as_json: bool) -> None:
        estimates = estimate_run(work)
        written, answers = len(work.missing()), len(work.questions)
        if as_json:
            document = {"dry_run": True, "representations": written, "questions": answers}
            self.stdout.write(json.dumps(document | {"estimates": estimates_json(estimates, price)}))
            return
        self.stdout.write(
            f"{answers} questions to be answered, {written} representations to be written. No call was made."
        )
        self.stdout.write("\n".join(estimates_table(estimates, price)))
