"""Runs over a set of questions: what one is made of, and how it is carried out and carried on."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from asgiref.sync import sync_to_async
from django.db.models import Prefetch
from django.utils import timezone

from benchmark.models import (
    Option,
    Problem,
    Question,
    QuestionAnswer,
    QuestionSet,
    Representation,
    SimilarityRun,
)
from benchmark.prompts import Prompt, our_templates
from benchmark.providers import ModelSpec, Parameters, Reply, is_scripted, parse_model_spec
from benchmark.runner import CannotRun, Stop
from benchmark.runner.manifest import dataset_hash, environment
from benchmark.similarity.calls import Call, Outcome, Spending, ask_all
from benchmark.similarity.choice import TEMPLATES, choice_prompt, read_letter, shown_order
from benchmark.similarity.figures import measure
from benchmark.similarity.question_sets import LETTERS
from benchmark.similarity.representations import (
    KINDS,
    Author,
    Kind,
    find,
    keep,
    own_texts,
    representation_prompt,
    stored_columns,
    texts_of,
)
from benchmark.similarity.scorers import Scorer

Task = SimilarityRun.Task
PROVIDERS_DEFAULT = Parameters()


@dataclass(frozen=True)
class Plan:
    """A run before it is stored. `limit`: the first questions only. Raises CannotRun for what does not go together."""

    question_set: QuestionSet
    task: str
    kind: Kind
    spec: ModelSpec | None = None
    sampling: Parameters = PROVIDERS_DEFAULT
    scorer: Scorer | None = None
    shuffle: int | None = None
    correct_at: str = ""
    limit: int | None = None

    def __post_init__(self) -> None:
        asked = self.kind.made or self.task == Task.CHOOSE
        if asked and self.spec is None:
            raise CannotRun(f"A model is needed to {self.task} by {self.kind.name}: name one with --model.")
        if not asked and self.spec is not None:
            raise CannotRun(f"--model has no use: no model is asked to rank by {self.kind.name}.")

    @property
    def parameters(self) -> dict[str, object]:
        """Everything asked for, as it is stored."""
        return {
            "sampling": self.sampling.to_json(),
            "scorer": asdict(self.scorer) if self.scorer else None,
            "shuffle": self.shuffle,
            "correct_at": self.correct_at,
            "limit": self.limit,
        }

    @classmethod
    def of(cls, run: SimilarityRun) -> "Plan":
        """What a stored run consists of."""
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
        )

    @property
    def author(self) -> Author | None:
        """Who writes representations and answers."""
        return Author(str(self.spec), self.sampling) if self.spec else None

    def questions(self) -> list[Question]:
        """With their references and options."""
        problems = Problem.objects.only("external_id", "statement", "dataset").prefetch_related("references")
        options = Option.objects.prefetch_related(Prefetch("problem", problems))
        rows = self.question_set.questions.prefetch_related(
            Prefetch("reference", problems), Prefetch("options", options)
        )
        return list(rows[: self.limit])


def start_run(plan: Plan) -> SimilarityRun:
    """Store a new run."""
    return SimilarityRun.objects.create(
        question_set=plan.question_set,
        task=plan.task,
        representation=plan.kind.name,
        model_spec=str(plan.spec) if plan.spec else "",
        parameters=plan.parameters,
        manifest={
            **_inputs(plan),
            "scripted_model": plan.spec is not None and is_scripted(plan.spec),
            "environment": environment("python"),
        },
    )


def _inputs(plan: Plan) -> dict[str, object]:
    """What may not change while a run is carried on."""
    templates = our_templates()
    names = [plan.kind.template] if plan.kind.made else []
    names += TEMPLATES if plan.task == Task.CHOOSE else []
    return {
        "questions": plan.question_set.content_hash,
        "dataset": {
            "name": plan.question_set.dataset.name,
            "content_hash": dataset_hash(plan.question_set.dataset),
        },
        "templates": {name: templates.hash(name) for name in names},
    }


def resume_run(run: SimilarityRun) -> Plan:
    """Open the run again. Raises CannotRun when it would not go on with what it began with."""
    plan = Plan.of(run)
    for name, now in _inputs(plan).items():
        if run.manifest[name] != now:
            raise CannotRun(
                f"The {name} changed since run {run.pk} began, so its answers would not belong together. "
                "Go back to the former version, or start a new run."
            )
    run.state, run.finished_at = SimilarityRun.State.OPEN, None
    run.save(update_fields=["state", "finished_at"])
    return plan


@dataclass
class Work:
    """What is left to do of a run: representations to be written, and questions to be answered."""

    plan: Plan
    run: SimilarityRun | None = None
    questions: list[Question] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Representation] = field(default_factory=dict)

    def load(self) -> None:
        """Read what there is."""
        answered = self.run.answers.values_list("question_id", flat=True) if self.run else ()
        done = set(answered)
        self.questions = [question for question in self.plan.questions() if question.pk not in done]
        problems = list(self.problems().values())
        if self.plan.kind.made:
            assert self.plan.author is not None
            self.rows = find(self.plan.kind, self.plan.author, problems)
            self.texts = {external_id: row.text for external_id, row in self.rows.items()}
        else:
            self.texts = own_texts(self.plan.kind, problems)
            missing = sorted(self.problems().keys() - self.texts.keys())
            if missing:
                raise CannotRun(f"Without a {self.plan.kind.name}: {', '.join(missing)}.")

    def problems(self) -> dict[str, Problem]:
        """Those of the questions that are left, by external id."""
        return {
            problem.external_id: problem for question in self.questions for problem in _problems(question)
        }

    def missing(self) -> list[Problem]:
        """The problems whose representation has yet to be written."""
        return [problem for name, problem in self.problems().items() if name not in self.texts]

    def prompts(self) -> list[Prompt]:
        """Those of the missing representations."""
        return [representation_prompt(self.plan.kind, problem.statement) for problem in self.missing()]


def _problems(question: Question) -> list[Problem]:
    return [question.reference, *(option.problem for option in question.options.all())]


async def execute(
    run: SimilarityRun,
    *,
    concurrency: int,
    stop: Stop,
    spending: Spending,
    begin: Callable[[int], object] = lambda total: None,
    advance: Callable[[], object] = lambda: None,
) -> Outcome:
    """Write the representations that are missing, then answer the questions that are not answered.

    Everything is stored as it comes, so the process may end at any point. `begin` is told the number of steps.
    Raises ProviderError, CannotRun and NoEncoder.
    """
    work = Work(Plan.of(run), run)
    await sync_to_async(work.load)()
    plan, author = work.plan, work.plan.author
    asking = partial(ask_all, concurrency=concurrency, stop=stop, spending=spending, advance=advance)
    faults: Counter[str] = Counter()
    missing = work.missing()
    begin(len(missing) + len(work.questions))
    if missing:
        assert author is not None
        calls = write_calls(plan.kind, author, missing)
        faults += (await asking(calls, author)).faults
        await sync_to_async(work.load)()
    if plan.task == Task.RANK and not work.missing():
        await sync_to_async(_rank)(work, advance)
    elif plan.task == Task.CHOOSE and not stop.reason:
        assert author is not None
        ready = [q for q in work.questions if all(p.external_id in work.texts for p in _problems(q))]
        faults += (await asking([_choice(work, question) for question in ready], author)).faults
    await sync_to_async(_conclude)(run)
    return Outcome(faults=faults)


def write_calls(kind: Kind, author: Author, problems: Sequence[Problem]) -> list[Call]:
    """The calls that write the representations of these problems."""
    prompts = ((problem, representation_prompt(kind, problem.statement)) for problem in problems)
    return [Call(prompt, partial(keep, kind, author, problem, prompt)) for problem, prompt in prompts]


def _choice(work: Work, question: Question) -> Call:
    options = list(question.options.all())
    right = next(option.place for option in options if option.similar)
    order = shown_order(question.number, right, work.plan.shuffle, work.plan.correct_at)
    shown = [work.texts[options[place].problem.external_id] for place in order]
    prompt = choice_prompt(work.plan.kind, work.texts[question.reference.external_id], shown)

    def keep_answer(reply: Reply) -> None:
        letter = read_letter(reply.text)
        chosen = None if letter is None else order[LETTERS.index(letter)]
        QuestionAnswer.objects.get_or_create(
            run=work.run,
            question=question,
            defaults={
                "order": order,
                "chosen": chosen,
                "correct": chosen == right,
                "representations": _used(work, question),
                **stored_columns(prompt, reply),
            },
        )

    return Call(prompt, keep_answer)


def _used(work: Work, question: Question) -> list[int]:
    return [work.rows[problem.external_id].pk for problem in _problems(question)] if work.rows else []


def _rank(work: Work, advance: Callable[[], object]) -> None:
    """Rank the options of every question left; equal scores stand in the order of the letters."""
    plan, run = work.plan, work.run
    assert plan.scorer is not None
    assert run is not None
    author = plan.author if plan.kind.made else None
    corpus = dict(texts_of(plan.kind, author, plan.question_set.dataset))
    compare = plan.scorer.over(corpus)
    answers = []
    for question in work.questions:
        options = list(question.options.all())
        right = next(option.place for option in options if option.similar)
        scores = compare(question.reference.external_id, [option.problem.external_id for option in options])
        order = shown_order(question.number, right, plan.shuffle, plan.correct_at)
        best_first = sorted(order, key=[-score for score in scores].__getitem__)
        rank = best_first.index(right) + 1
        answers.append(
            QuestionAnswer(
                run=run,
                question=question,
                messages=[],
                order=order,
                chosen=best_first[0],
                correct=rank == 1,
                scores=scores,
                rank=rank,
                representations=_used(work, question),
            )
        )
        advance()
    QuestionAnswer.objects.bulk_create(answers, ignore_conflicts=True)
    run.manifest["corpus_texts"] = len(corpus)
    run.save(update_fields=["manifest"])


def _conclude(run: SimilarityRun) -> None:
    plan = Plan.of(run)
    if run.answers.count() == len(plan.questions()):
        run.state, run.finished_at = SimilarityRun.State.FINISHED, timezone.now()
    else:
        run.state = SimilarityRun.State.STOPPED
    run.figures = measure(run).to_json()
    run.save(update_fields=["state", "finished_at", "figures"])
