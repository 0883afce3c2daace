"""Runs over a set of questions: plans, execution, and resumption."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from benchmark.datasets.question_sets import LETTERS
from benchmark.model_calls import Spending, Stop, catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.reply_cache import cache_key, draw_name, find_paid, reused_columns
from benchmark.model_calls.requests import ModelRequest, RequestMonitor, SpendTracker, send_all
from benchmark.models import (
    LanguageModel,
    Option,
    Problem,
    Question,
    QuestionAnswer,
    QuestionSet,
    Representation,
    SimilarityRun,
)
from benchmark.prompts import Prompt, our_templates
from benchmark.providers import ModelSpec, Parameters, is_scripted, parse_model_spec
from benchmark.representations import (
    KINDS,
    Author,
    RepresentationKind,
    find,
    generation_of,
    own_texts,
    prompt_columns,
    representation_prompt,
    store_reply,
    stored_columns,
    texts_of,
)
from benchmark.runner import CannotRunError, RunOptions
from benchmark.runner.draws import reserve_draws
from benchmark.runner.manifest import dataset_hash, environment
from benchmark.similarity.choice import TEMPLATES, choice_prompt, read_letter, shown_order
from benchmark.similarity.encoders import Encoder
from benchmark.similarity.figures import measure
from benchmark.similarity.scorers import Scorer
from benchmark.similarity.ties import Placing, tied_best

logger = logging.getLogger(__name__)

Task = SimilarityRun.Task
PROVIDERS_DEFAULT = Parameters()


@dataclass(frozen=True)
class SimilarityPlan:
    """A run before it is stored; `limit` is the number of questions. Raises CannotRunError for conflicting options."""

    question_set: QuestionSet
    task: str
    kind: RepresentationKind
    spec: ModelSpec | None = None
    sampling: Parameters = PROVIDERS_DEFAULT
    scorer: Scorer | None = None
    shuffle: int | None = None
    correct_at: str = ""
    limit: int | None = None
    draw: int | None = 0
    """The draw number of the choices; None: a fresh one, reserved when the run starts."""
    model: LanguageModel | None = None
    """The row that a label named. The run has this row, or a version of it with this sampling."""

    def __post_init__(self) -> None:
        needs_model = self.kind.generated or self.task == Task.CHOOSE
        if needs_model and self.spec is None:
            raise CannotRunError(
                f"A model is needed to {self.task} by {self.kind.name}: name one with --model."
            )
        if not needs_model and self.spec is not None:
            raise CannotRunError(f"--model has no use: ranking by {self.kind.name} needs no model.")

    @property
    def parameters(self) -> dict[str, object]:
        """The options of the run, as they are stored."""
        return {
            "sampling": self.sampling.to_json(),
            "scorer": asdict(self.scorer) if self.scorer else None,
            "shuffle": self.shuffle,
            "correct_at": self.correct_at,
            "limit": self.limit,
            "draw": self.draw,
        }

    @classmethod
    def of(cls, run: SimilarityRun) -> "SimilarityPlan":
        """Return the plan of a stored run."""
        given = run.parameters
        return cls(
            run.question_set,
            run.task,
            KINDS[run.representation],
            parse_model_spec(run.model_spec) if run.model_spec else None,
            Parameters.from_json(given["sampling"]),
            Scorer(**given["scorer"]) if given["scorer"] else None,
            given["shuffle"],
            given["correct_at"],
            given["limit"],
            given.get("draw", 0),
            run.model,
        )

    @property
    def stored_model(self) -> LanguageModel | None:
        """The row whose price and context apply; None: no row has this model and this sampling."""
        return self.model or (catalogue.matching(self.spec, self.sampling) if self.spec else None)

    @property
    def author(self) -> Author | None:
        """The model of representations and answers."""
        return Author(str(self.spec), self.sampling) if self.spec else None

    def questions(self) -> list[Question]:
        """Return the questions with their references and options."""
        problems = Problem.objects.only("external_id", "statement", "dataset").prefetch_related("references")
        options = Option.objects.prefetch_related(Prefetch("problem", problems))
        rows = self.question_set.questions.prefetch_related(
            Prefetch("reference", problems), Prefetch("options", options)
        )
        return list(rows[: self.limit])


def start_run(plan: SimilarityPlan, options: RunOptions) -> SimilarityRun:
    """Store and return a new run. Raises CannotRunError."""
    run = SimilarityRun(
        question_set=plan.question_set,
        task=plan.task,
        representation=plan.kind.name,
        model_spec=str(plan.spec) if plan.spec else "",
        parameters=plan.parameters,
        manifest={
            **run_inputs(plan),
            "scripted_model": plan.spec is not None and is_scripted(plan.spec),
            "environment": environment("python"),
        },
    )
    options.apply_to(run)
    with transaction.atomic():
        run.model = _frozen_model(plan)
        if plan.task == Task.CHOOSE:
            run.parameters["draw"] = reserve_draws(run.model_spec, 1, plan.draw)
        run.save()
    return run


def _frozen_model(plan: SimilarityPlan) -> LanguageModel | None:
    """Return the row of the plan's model, created if there is none; None without a model. Raises CannotRunError."""
    if plan.spec is None:
        return None
    try:
        return catalogue.frozen_row(plan.model, plan.spec, plan.sampling)
    except CatalogueError as error:
        raise CannotRunError(str(error)) from None


def run_inputs(plan: SimilarityPlan) -> dict[str, object]:
    """Return everything that must not change before a run resumes."""
    templates = our_templates()
    names = [plan.kind.template] if plan.kind.generated else []
    names += TEMPLATES if plan.task == Task.CHOOSE else []
    return {
        "questions": plan.question_set.content_hash,
        "dataset": {
            "name": plan.question_set.dataset.name,
            "content_hash": dataset_hash(plan.question_set.dataset),
        },
        "templates": {name: templates.hash(name) for name in names},
    }


def resume_run(run: SimilarityRun, options: RunOptions) -> SimilarityPlan:
    """Open the run again with these options. Raises CannotRunError when its inputs have changed."""
    plan = SimilarityPlan.of(run)
    for name, now in run_inputs(plan).items():
        if run.manifest[name] != now:
            raise CannotRunError(
                f"The {name} changed since run {run.pk} began, so its answers would not be comparable. "
                "Restore the former version, or start a new run."
            )
    options.apply_to(run)
    run.state, run.finished_at, run.stop_reason, run.faults = SimilarityRun.State.OPEN, None, "", []
    run.save(update_fields=["state", "finished_at", "stop_reason", "faults", "price", "budget", "limits"])
    return plan


@dataclass
class Work:
    """The remaining work of a run: representations to generate and questions to answer."""

    plan: SimilarityPlan
    run: SimilarityRun | None = None
    questions: list[Question] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Representation] = field(default_factory=dict)

    def load(self) -> None:
        """Read the remaining questions and the stored representations."""
        answered = self.run.answers.values_list("question_id", flat=True) if self.run else ()
        done = set(answered)
        self.questions = [question for question in self.plan.questions() if question.pk not in done]
        problems = list(self.problems().values())
        if self.plan.kind.generated:
            assert self.plan.author is not None
            self.rows = find(self.plan.kind, self.plan.author, problems)
            self.texts = {external_id: row.text for external_id, row in self.rows.items()}
        else:
            self.texts = own_texts(self.plan.kind, problems)
            missing = sorted(self.problems().keys() - self.texts.keys())
            if missing:
                raise CannotRunError(f"Without a {self.plan.kind.name}: {', '.join(missing)}.")

    def problems(self) -> dict[str, Problem]:
        """Return the problems of the remaining questions by external id."""
        return {
            problem.external_id: problem for question in self.questions for problem in _problems(question)
        }

    def missing(self) -> list[Problem]:
        """Return the problems without a representation."""
        return [problem for name, problem in self.problems().items() if name not in self.texts]

    def prompts(self) -> list[Prompt]:
        """Return the prompts of the missing representations."""
        return [representation_prompt(self.plan.kind, problem.statement) for problem in self.missing()]


def _problems(question: Question) -> list[Problem]:
    return [question.reference, *(option.problem for option in question.options.all())]


async def execute(
    run: SimilarityRun, tracker: SpendTracker, monitor: RequestMonitor, encoder: Encoder | None = None
) -> None:
    """Generate the missing representations, then answer the remaining questions.

    Every result is stored when it arrives; the process may end at any time. The faults of the provider are stored in
    the run's row; a resumed run repeats these requests. Raises ProviderError, CannotRunError and NoEncoderError.
    """
    work = Work(SimilarityPlan.of(run), run)
    await sync_to_async(work.load)()
    plan, author, stop = work.plan, work.plan.author, monitor.stop
    faults: dict[str, str] = {}

    async def send(requests: list[ModelRequest]) -> None:
        assert author is not None
        outcome = await send_all(requests, parse_model_spec(author.spec), author.parameters, tracker, monitor)
        faults.update(outcome.faults)

    missing = work.missing()
    monitor.begin(len(missing) + len(work.questions))
    if missing:
        assert author is not None
        await send(generation_requests(plan.kind, author, missing))
        await sync_to_async(work.load)()
    if plan.task == Task.RANK and not work.missing():
        await sync_to_async(_rank)(work, encoder, monitor.advance)
    elif plan.task == Task.CHOOSE and not stop.reason:
        ready = [q for q in work.questions if all(p.external_id in work.texts for p in _problems(q))]
        await send(await sync_to_async(_choices)(work, ready, monitor.advance))
    await sync_to_async(_conclude)(run, stop, faults)


def missing_generation(plan: SimilarityPlan, run: SimilarityRun | None) -> str:
    """Return the name of the lock under which the run generates representations; blank when none is missing."""
    if not plan.kind.generated:
        return ""
    assert plan.author is not None
    work = Work(plan, run)
    work.load()
    return generation_of(plan.kind, plan.question_set.dataset, plan.author) if work.missing() else ""


def paid_for(rows: Iterable[Representation]) -> Spending:
    """Return the spending of the representations, for any run."""
    return sum(
        (Spending.of_reply(row.input_tokens, row.output_tokens, row.cached_input_tokens) for row in rows),
        Spending(),
    )


def generation_requests(
    kind: RepresentationKind, author: Author, problems: Sequence[Problem]
) -> list[ModelRequest]:
    """Return the requests that generate the representations of these problems."""
    prompts = ((problem, representation_prompt(kind, problem.statement)) for problem in problems)
    return [
        ModelRequest(
            f"{kind.name} of {problem.external_id}",
            prompt,
            partial(store_reply, kind, author, problem, prompt),
        )
        for problem, prompt in prompts
    ]


def _choices(work: Work, questions: Sequence[Question], advance: Callable[[], object]) -> list[ModelRequest]:
    """Return the requests for these questions; those with a paid reply are answered with it at once."""
    choices = [_Choice.of(work, question) for question in questions]
    requests = []
    for choice, paid in zip(choices, find_paid(QuestionAnswer, [one.key for one in choices]), strict=True):
        if paid:
            choice.store(paid.reply, prompt_columns(choice.prompt) | reused_columns(paid))
            advance()
        else:
            requests.append(choice.request())
    return requests


@dataclass(frozen=True)
class _Choice:
    """A question in the form in which the model of a run gets it."""

    work: Work
    question: Question
    right: int
    order: list[int]
    prompt: Prompt
    key: str

    @classmethod
    def of(cls, work: Work, question: Question) -> "_Choice":
        assert work.plan.spec is not None
        options = list(question.options.all())
        right = next(option.place for option in options if option.similar)
        order = shown_order(question.number, right, work.plan.shuffle, work.plan.correct_at)
        shown = [work.texts[options[place].problem.external_id] for place in order]
        prompt = choice_prompt(work.plan.kind, work.texts[question.reference.external_id], shown)
        draw = draw_name(work.plan.draw or 0, 0, 0)
        key = cache_key(work.plan.spec, work.plan.sampling.to_json(), prompt.hash, draw)
        return cls(work, question, right, order, prompt, key)

    def request(self) -> ModelRequest:
        """Return the request for the answer."""
        return ModelRequest(
            f"question {self.question.number}",
            self.prompt,
            lambda reply: self.store(reply.text, stored_columns(self.prompt, reply)),
        )

    def store(self, reply: str, columns: dict[str, object]) -> None:
        """Store the answer, unless another process has stored one."""
        letter = read_letter(reply)
        chosen = None if letter is None else self.order[LETTERS.index(letter)]
        QuestionAnswer.objects.get_or_create(
            run=self.work.run,
            question=self.question,
            defaults={
                "order": self.order,
                "chosen": chosen,
                "correct": chosen == self.right,
                "representations": _used(self.work, self.question),
                "cache_key": self.key,
                "reply": reply,
                **columns,
            },
        )


def _used(work: Work, question: Question) -> list[int]:
    return [work.rows[problem.external_id].pk for problem in _problems(question)] if work.rows else []


def _rank(work: Work, encoder: Encoder | None, advance: Callable[[], object]) -> None:
    """Rank the options of every remaining question."""
    plan, run = work.plan, work.run
    assert plan.scorer is not None
    assert run is not None
    author = plan.author if plan.kind.generated else None
    corpus = dict(texts_of(plan.kind, author, plan.question_set.dataset))
    compare = plan.scorer.over(corpus, encoder)
    answers = []
    for question in work.questions:
        options = list(question.options.all())
        right = next(option.place for option in options if option.similar)
        scores = compare(question.reference.external_id, [option.problem.external_id for option in options])
        order = shown_order(question.number, right, plan.shuffle, plan.correct_at)
        placing, best = Placing.of(scores, right), tied_best(scores)
        answers.append(
            QuestionAnswer(
                run=run,
                question=question,
                messages=[],
                order=order,
                chosen=best[0] if len(best) == 1 else None,
                correct=placing.accuracy == 1,
                scores=scores,
                rank=placing.first,
                representations=_used(work, question),
            )
        )
        advance()
    QuestionAnswer.objects.bulk_create(answers, ignore_conflicts=True)
    run.manifest["corpus_texts"] = len(corpus)
    run.save(update_fields=["manifest"])


def _conclude(run: SimilarityRun, stop: Stop, faults: dict[str, str]) -> None:
    run.refresh_from_db()
    if run.answers.count() == len(SimilarityPlan.of(run).questions()):
        run.state, run.finished_at = SimilarityRun.State.FINISHED, timezone.now()
    else:
        run.state, run.stop_reason = SimilarityRun.State.STOPPED, stop.reason
    run.faults = [{"about": about, "fault": fault} for about, fault in faults.items()]
    run.figures = measure(run).to_json()
    run.save(update_fields=["state", "finished_at", "stop_reason", "faults", "figures"])
