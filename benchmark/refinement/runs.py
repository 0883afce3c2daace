"""The chains of a run of the method refine, and the attempts of another run beside them."""

from collections import defaultdict

from benchmark.models import Generation, Run, WorkItem
from benchmark.refinement.curves import Beside, Refinement, Resampling, pass_beside
from judge import Verdict

METHOD = "refine"


class NotRefined(ValueError):
    """The run is not one whose figures are asked for; the message says what it is."""


def attempts_allowed(run: Run) -> int:
    """K: the most attempts in a chain, restarts included."""
    return int(run.parameters["k"]) * int(run.parameters["g"])


def refinements_of(run: Run) -> list[Refinement]:
    """The finished chains of the run. Raises NotRefined for a run of another method."""
    if run.method != METHOD:
        raise NotRefined(f"run {run.pk} is one of {run.method}; a curve takes a run of {METHOD}")
    chains: dict[int, list[tuple[str | None, int | None]]] = defaultdict(list)
    names: dict[int, str] = {}
    rows = Generation.objects.filter(work_item__run=run, work_item__state=WorkItem.State.DONE).order_by(
        "work_item_id", "step"
    )
    for item, name, verdict, given, made in rows.values_list(
        "work_item_id",
        "work_item__problem__external_id",
        "hidden_judgement__verdict",
        "input_tokens",
        "output_tokens",
    ):
        names[item] = name
        chains[item].append((verdict, None if given is None or made is None else given + made))
    return [_refinement(names[item], attempts) for item, attempts in chains.items()]


def _refinement(name: str, attempts: list[tuple[str | None, int | None]]) -> Refinement:
    accepted = next((place for place, (verdict, _) in enumerate(attempts, 1) if verdict == Verdict.AC), None)
    tokens = [count for _, count in attempts if count is not None]
    return Refinement(name, len(attempts), accepted, sum(tokens) if len(tokens) == len(attempts) else None)


def beside(run: Run, other: Run) -> Beside:
    """Refine@K of a run beside pass@K of another, which must have at least K attempts a problem.

    Raises NotRefined, TooFewAttempts, and ValueError for runs without a problem in common.
    """
    if other.method == METHOD or other.dataset_id != run.dataset_id:
        raise NotRefined(
            f"run {other.pk} cannot be set beside: it takes independent attempts on the same dataset"
        )
    attempts: dict[str, list[tuple[bool, int | None]]] = defaultdict(list)
    rows = (
        other.items.filter(state=WorkItem.State.DONE)
        .prefetch_related("generations")
        .select_related("judgement")
    )
    for item in rows.select_related("problem"):
        spent = [
            None
            if one.input_tokens is None or one.output_tokens is None
            else one.input_tokens + one.output_tokens
            for one in item.generations.all()
        ]
        known = [count for count in spent if count is not None]
        accepted = item.judgement is not None and item.judgement.verdict == Verdict.AC
        attempts[item.problem.external_id].append(
            (accepted, sum(known) if len(known) == len(spent) else None)
        )
    resampled = {}
    for name, made in attempts.items():
        counts = [count for _, count in made if count is not None]
        mean = sum(counts) / len(counts) if len(counts) == len(made) else None
        resampled[name] = Resampling(len(made), sum(accepted for accepted, _ in made), mean)
    return pass_beside(refinements_of(run), resampled, attempts_allowed(run))
