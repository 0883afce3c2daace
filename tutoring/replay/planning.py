"""The placements of a replay: states with a wrong program, the cards at each, and the texts of the arms."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import cast

from django.db import transaction

import judge
from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.rate_limit import check_length
from benchmark.models import Generation, Judgement, LanguageModel, Problem, Run
from benchmark.prompts import Prompt, VisibleProblem
from benchmark.providers import Message, ModelSpec, Parameters, ProviderError, is_scripted
from benchmark.runner import RunOptions
from benchmark.runner.manifest import environment
from tutoring.arms.control_policies import NOT_CORRECT, TRY_AGAIN
from tutoring.models import HintCard, Placement, ReplayRun, ReplayState
from tutoring.models.payloads import MessageSent, SessionOpened
from tutoring.replay.applicability import label_orders
from tutoring.replay.cards import CardDraft, Excluded, FoundCards, Selection, find_cards
from tutoring.replay.estimates import Fit
from tutoring.replay.programs import judge_all
from tutoring.replay.signatures import Thresholds, compare, several_answers, signature_of
from tutoring.sessions.dialogue import messages_of, opening_prompt, sent_text

FIXED_TEXTS: dict[str, str] = {"neutral": TRY_AGAIN, "verdict": NOT_CORRECT}
"""The arms whose text is the same everywhere: that of the control arms of the same name."""

OVER_CONTEXT = "the dialogue is longer than the model's context"
RIGHT_ALREADY = "the program is right already"
JUDGE_FAULT = "the judge could not judge the program"
NO_OWN_PROGRAM = "the model has no wrong program of this problem in the run"


class CannotReplayError(Exception):
    """A replay that cannot be planned or continued. The message says why and what to do."""


@dataclass(frozen=True)
class ReplayDesign:
    """The cards, model and mode of a replay; `programs` is the run with the model's own programs (None: transplant)."""

    spec: ModelSpec
    parameters: Parameters
    row: LanguageModel | None
    selection: Selection
    draws: int
    seed: int
    dataset: str | None = None
    programs: Run | None = None


@dataclass
class PlannedState:
    """A dialogue that ends with a program, and the cards that are placed at it."""

    problem: Problem
    language: str
    prefix: tuple[Message, ...]
    program: str
    cards: list[CardDraft] = field(default_factory=list)

    @property
    def sessions(self) -> list[str]:
        """The ids of the sessions of its cards."""
        return [str(card.event.session_id) for card in self.cards]

    @property
    def key(self) -> str:
        """The sha256 of the dialogue."""
        return Prompt(self.prefix, "").hash


@dataclass
class ReplayPlan:
    """The states of a replay in order, the cards from which the shams are drawn, and what is excluded by reason."""

    design: ReplayDesign
    states: list[PlannedState]
    pool: list[CardDraft]
    excluded: Excluded
    judgements: dict[tuple[int, str, str], Judgement] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """The number of draws."""
        return self.design.draws * sum(3 + len(state.cards) for state in self.states)

    def prompts(self) -> list[Prompt]:
        """Return the prompts of all draws, for an estimate."""
        found = []
        for state in self.states:
            texts = [*FIXED_TEXTS.values(), *(card.text for card in (*state.cards, state.cards[0]))]
            found += [arm_prompt(state.prefix, text, state.language) for text in texts] * self.design.draws
        return found


def arm_prompt(prefix: Sequence[Message], text: str, language: str) -> Prompt:
    """Return the prompt of a draw: the dialogue and the text with the code line, as a session sends them."""
    sent = sent_text(text, "code", language)
    return Prompt((*prefix, Message("user", sent)), "")


def plan_replay(design: ReplayDesign, context: int | None) -> ReplayPlan:
    """Return the plan, without a call and without writing. `context` is that of the model in tokens (None: unknown).

    Raises CannotReplayError if nothing can be replayed.
    """
    found = find_cards(design.selection, design.dataset)
    states = _transplants(found) if design.programs is None else _own_states(found, design.programs)
    plan = ReplayPlan(design, [], found.cards, found.excluded)
    for state in states:
        if _fits(state, design, context):
            plan.states.append(state)
        else:
            plan.excluded[OVER_CONTEXT] += state.sessions
    if not plan.states:
        raise CannotReplayError(f"There is nothing to replay. {excluded_text(plan.excluded)}".strip())
    _check_shams(plan)
    return plan


def counted(excluded: Excluded) -> dict[str, int]:
    """Return the number of sessions by reason."""
    return {reason: len(sessions) for reason, sessions in sorted(excluded.items())}


def excluded_text(excluded: Excluded) -> str:
    """Return the exclusions as a sentence; blank without any."""
    if not excluded:
        return ""
    return f"Left out: {'; '.join(f'{reason} ({number})' for reason, number in counted(excluded).items())}."


def _check_shams(plan: ReplayPlan) -> None:
    """Raise CannotReplayError if a state has no card of another problem, whose text the arm sham could send."""
    problems = {card.problem.pk for card in plan.pool}
    if len(problems) < 2:
        raise CannotReplayError(
            "The arm sham needs a card of another problem for each card; all cards are of one problem. Record or "
            "import sessions on a second problem."
        )


def _transplants(found: FoundCards) -> list[PlannedState]:
    states: dict[tuple[int, str], PlannedState] = {}
    for card in found.cards:
        state = PlannedState(card.problem, card.language, card.prefix, card.program)
        states.setdefault((card.problem.pk, state.key), state).cards.append(card)
    return [*states.values()]


def _own_states(found: FoundCards, run: Run) -> list[PlannedState]:
    """Return a state for the first wrong program of the run at each problem of a card."""
    language = run.parameters["language"]
    first = Generation.objects.filter(work_item__run=run, hidden_judgement__state=Judgement.State.DONE)
    wrong = first.exclude(hidden_judgement__verdict=judge.Verdict.AC).exclude(code="")
    own: dict[int, Generation] = {}
    for one in wrong.order_by("work_item__chain", "step").select_related("work_item"):
        own.setdefault(one.work_item.problem_id, one)
    states: dict[int, PlannedState] = {}
    for card in found.cards:
        if (answer := own.get(card.problem.pk)) is None or card.language != language:
            found.excluded[NO_OWN_PROGRAM].append(str(card.event.session_id))
            continue
        if card.problem.pk not in states:
            prefix = without_hint(VisibleProblem.of(card.problem), language, answer.text)
            states[card.problem.pk] = PlannedState(card.problem, language, prefix, answer.code)
        states[card.problem.pk].cards.append(card)
    return [*states.values()]


def without_hint(task: VisibleProblem, language: str, reply: str) -> tuple[Message, ...]:
    """Return the dialogue of a session whose first reply is this one."""
    opened = SessionOpened(
        prompt=opening_prompt(task, language), problem_hash=None, protocol="", protocol_hash=None,
        model_spec=None, consent=None,
    )  # fmt: skip
    asked = MessageSent(mode="code", text="", sent=sent_text("", "code", language))
    before = messages_of([opened, asked])
    return (*before, Message("assistant", reply))


def _fits(state: PlannedState, design: ReplayDesign, context: int | None) -> bool:
    longest = max([*FIXED_TEXTS.values(), *(card.text for card in state.cards)], key=len)
    try:
        check_length(arm_prompt(state.prefix, longest, state.language).messages, design.parameters, context)
    except ProviderError:
        return False
    return True


def judge_states(plan: ReplayPlan, *, jobs: int, judged: Callable[[], object]) -> None:
    """Judge the programs of states and cards on all tests, and leave out the states whose program is not wrong.

    Raises CannotReplayError if no state is left.
    """
    sources: list[PlannedState | CardDraft] = [*plan.states]
    sources += [card for state in plan.states for card in state.cards]
    wanted = {
        (one.problem.pk, one.program, one.language): (one.problem, one.program, one.language)
        for one in sources
    }

    def store(program: tuple[Problem, str, str], judgement: Judgement) -> None:
        plan.judgements[program[0].pk, program[1], program[2]] = judgement
        judged()

    judge_all(wanted.values(), jobs=jobs, purpose=Judgement.Purpose.SCORE, judged=store)
    kept = []
    for state in plan.states:
        judgement = plan.judgements[state.problem.pk, state.program, state.language]
        if judgement.state != Judgement.State.DONE:
            plan.excluded[JUDGE_FAULT] += state.sessions
        elif judgement.verdict == judge.Verdict.AC:
            plan.excluded[RIGHT_ALREADY] += state.sessions
        else:
            kept.append(state)
    plan.states = kept
    if not kept:
        raise CannotReplayError(f"There is nothing to replay. {excluded_text(plan.excluded)}")


def fix_placements(plan: ReplayPlan, options: RunOptions) -> ReplayRun:
    """Store the run with its states, cards and placements, after which nothing of them changes.

    Raises CannotReplayError for a model that cannot be stored.
    """
    design, thresholds = plan.design, Thresholds.of_site()
    run = ReplayRun(
        model_spec=str(design.spec),
        parameters=design.parameters.to_json(),
        mode=ReplayRun.Mode.OWN if design.programs else ReplayRun.Mode.TRANSPLANT,
        selection=design.selection,
        draws=design.draws,
        seed=design.seed,
        manifest={
            "thresholds": asdict(thresholds),
            "programs": str(design.programs.pk) if design.programs else None,
            "excluded": counted(plan.excluded),
            "excluded_sessions": dict(plan.excluded),
            "scripted_model": is_scripted(design.spec),
            "texts": FIXED_TEXTS,
            "environment": environment("python"),
        },
    )
    options.apply_to(run)
    with transaction.atomic():
        try:
            run.model = catalogue.frozen_row(design.row, design.spec, design.parameters)
        except CatalogueError as error:
            raise CannotReplayError(str(error)) from None
        run.save()
        cards = {card.key: _store_card(card, plan) for state in plan.states for card in state.cards}
        cards |= {card.key: _store_card(card, plan) for card in plan.pool if card.key not in cards}
        placements = [
            placement
            for state in plan.states
            for placement in _store_state(run, state, plan, cards, thresholds)
        ]
        if design.programs is not None:
            orders = label_orders([cast(Fit, one.fit) for one in placements], design.seed)
            for placement, order in zip(placements, orders, strict=True):
                placement.label_order = order
        Placement.objects.bulk_create(placements)
    return run


def _store_card(card: CardDraft, plan: ReplayPlan) -> HintCard:
    stored, _ = HintCard.objects.get_or_create(
        key=card.key,
        defaults={
            "event": card.event,
            "problem": card.problem,
            "text": card.text,
            "requested_code": card.requested_code,
            "position": card.position,
            "language": card.language,
            "program": card.program,
            "distance": card.distance,
            "judgement": plan.judgements.get((card.problem.pk, card.program, card.language)),
            "rule_set": card.rule_set,
            "level": card.labels.level,
            "stage": card.labels.stage,
            "clauses": list(card.labels.clauses),
        },
    )
    return stored


def _store_state(
    run: ReplayRun,
    state: PlannedState,
    plan: ReplayPlan,
    cards: dict[str, HintCard],
    thresholds: Thresholds,
) -> list[Placement]:
    """Store a state, and return its placements, which are not stored yet."""
    judgement = plan.judgements[state.problem.pk, state.program, state.language]
    stored = ReplayState.objects.create(
        run=run,
        key=state.key,
        problem=state.problem,
        messages=[{"role": one.role, "content": one.content} for one in state.prefix],
        language=state.language,
        program=state.program,
        judgement=judgement,
        shams=[cards[card.key].pk for card in shams_of(state, plan.pool, plan.design.draws)],
    )
    own = run.mode == ReplayRun.Mode.OWN
    several = several_answers(state.problem)
    signature = None if several else signature_of(judgement)
    placements = []
    for card in state.cards:
        columns = {}
        if own:
            of_card = plan.judgements[card.problem.pk, card.program, card.language]
            columns = asdict(compare(signature, signature_of(of_card), thresholds))
        placements.append(Placement(state=stored, card=cards[card.key], **columns))
    return placements


def shams_of(state: PlannedState, pool: Sequence[CardDraft], draws: int) -> list[CardDraft]:
    """Return the card of another problem whose text the arm sham sends in each draw.

    They have the level and the length nearest to those of the state's first card; with fewer cards than draws they
    are repeated.
    """
    model = state.cards[0]

    def difference(card: CardDraft) -> tuple[float, int, str]:
        level = abs((card.labels.level or 0) - (model.labels.level or 0))
        return (
            level,
            abs(len(card.text) - len(model.text)),
            hashlib.sha256(json.dumps([state.key, card.key]).encode()).hexdigest(),
        )

    others = sorted((card for card in pool if card.problem.pk != state.problem.pk), key=difference)
    return [others[number % len(others)] for number in range(draws)]
