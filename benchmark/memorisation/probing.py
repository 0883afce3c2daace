"""The probes of a model: their prompts, the requests without a stored reply, and the rows of the replies."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from benchmark.memorisation.scoring import ProblemOrigin, others_of, score
from benchmark.memorisation.texts import KINDS, Split, share_of, split_problem
from benchmark.model_calls import catalogue
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.reply_cache import reply_columns
from benchmark.model_calls.requests import ModelRequest
from benchmark.models import Dataset, LanguageModel, MemoryProbe, Problem
from benchmark.prompts import Prompt, completion_prompt
from benchmark.providers import ModelReply, ModelSpec, Parameters, address_of
from benchmark.reports.cutoffs import cutoff_of

DEFAULT_SEED = 307


@dataclass(frozen=True)
class ProbedModel:
    """A model with its sampling parameters."""

    spec: ModelSpec
    parameters: Parameters

    def row(self) -> LanguageModel | None:
        """Return the newest row of this model with these parameters; None without one."""
        return catalogue.matching(self.spec, self.parameters)

    def cutoff(self) -> date | None:
        """Return the cutoff of the newest row of the model that has one, else the known one; None if unknown."""
        rows = LanguageModel.objects.filter(spec=str(self.spec), cutoff__isnull=False).order_by("-pk")
        return rows.values_list("cutoff", flat=True).first() or cutoff_of(self.spec.model)


@dataclass(frozen=True)
class ProbeDesign:
    """The texts to probe of each problem; `seed` decides the shares after the first draw, and the other problems."""

    kinds: Sequence[str] = KINDS
    draws: int = 1
    seed: int = DEFAULT_SEED


@dataclass(frozen=True)
class Probe:
    """A text to complete: a draw of one kind for one problem."""

    problem: Problem
    kind: str
    draw: int
    split: Split
    prompt: Prompt
    key: str
    others: tuple[str, ...]
    """The rests of other problems."""

    @property
    def name(self) -> str:
        """The probe in words."""
        return f"{self.problem.external_id} {self.kind} {self.draw}"


@dataclass(frozen=True)
class ProbePlan:
    """The probes of a command, and the chosen problems without one, with the reason."""

    probes: tuple[Probe, ...]
    left_out: Mapping[str, str]

    def stored(self) -> list[MemoryProbe]:
        """Return the rows of the probes with a reply."""
        keys = {probe.key for probe in self.probes}
        rows = MemoryProbe.objects.filter(problem__in={probe.problem.pk for probe in self.probes})
        return [row for row in rows.defer("messages", "reasoning", "reply", "rest") if row.key in keys]


def plan_probes(
    dataset: Dataset, chosen: Sequence[Problem], author: ProbedModel, design: ProbeDesign
) -> ProbePlan:
    """Return the probes of the chosen problems, in their order."""
    everything = list(
        dataset.problems.only(
            "external_id", "title", "statement", "tier", "contest", "contest_date", "content_hash"
        )
    )
    places = {
        one.pk: ProblemOrigin(one.contest or str(one.contest_date or ""), one.tier) for one in everything
    }
    texts = {one.pk: one for one in everything}
    probes: list[Probe] = []
    left_out: dict[str, str] = {}
    splits: dict[tuple[int, str, float], Split | None] = {}

    def split(problem: int, kind: str, share: float) -> Split | None:
        place = (problem, kind, share if kind == "statement" else 0.0)
        if place not in splits:
            splits[place] = split_problem(texts[problem], kind, share)
        return splits[place]

    for problem in chosen:
        others = others_of(problem.pk, places, design.seed)
        before = len(probes)
        for kind in design.kinds:
            for draw in range(design.draws):
                share = share_of(design.seed, problem.external_id, draw)
                if (own := split(problem.pk, kind, share)) is None:
                    continue
                prompt = completion_prompt(kind, _source(texts[problem.pk]), own.beginning)
                foreign = (split(other, kind, share) for other in others)
                rests = tuple(other.rest for other in foreign if other)
                key = probe_key(author, texts[problem.pk], kind, draw, prompt, seed=design.seed)
                probes.append(Probe(texts[problem.pk], kind, draw, own, prompt, key, rests))
        if len(probes) == before:
            left_out[problem.external_id] = "its texts are too short to be completed"
    return ProbePlan(tuple(probes), left_out)


def _source(problem: Problem) -> str:
    return ", ".join(filter(None, [problem.title, problem.contest]))


def probe_key(
    author: ProbedModel, problem: Problem, kind: str, draw: int, prompt: Prompt, *, seed: int
) -> str:
    """Return the sha256 of everything that a completion and its scores depend on, and of the problem.

    The seed chooses the other problems; probes with the default seed have the keys of earlier versions.
    """
    model = f"{author.spec} {address_of(author.spec)}"
    parts = [model, author.parameters.to_json(), prompt.hash, problem.pk, problem.content_hash, kind, draw]
    parts += [] if seed == DEFAULT_SEED else [seed]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def requests_for(
    material: ProbePlan, author: ProbedModel, there: Sequence[MemoryProbe]
) -> list[ModelRequest]:
    """Return the requests for the probes without a stored reply."""
    stored = {row.key for row in there}
    model = author.row()

    def request(probe: Probe) -> ModelRequest:
        def store(reply: ModelReply) -> None:
            _store(probe, author, model, reply)

        return ModelRequest(probe.name, probe.prompt, store)

    return [request(probe) for probe in material.probes if probe.key not in stored]


def _store(probe: Probe, author: ProbedModel, model: LanguageModel | None, reply: ModelReply) -> None:
    MemoryProbe.objects.get_or_create(
        key=probe.key,
        defaults={
            "problem": probe.problem,
            "problem_hash": probe.problem.content_hash,
            "model": model,
            "model_spec": str(author.spec),
            "parameters": author.parameters.to_json(),
            "kind": probe.kind,
            "draw": probe.draw,
            "share": probe.split.share,
            "rest": probe.split.rest,
            "messages": probe.prompt.to_json(),
            "prompt_hash": probe.prompt.hash,
            "template_hash": probe.prompt.template_hash,
            "reply": reply.text,
            **reply_columns(reply),
            **score(reply.text, probe.split.rest, probe.others),
        },
    )


def paid_for(rows: Sequence[MemoryProbe]) -> Spending:
    """Return the spending on these probes."""
    paid = (Spending.of_reply(row.input_tokens, row.output_tokens, row.cached_input_tokens) for row in rows)
    return sum(paid, Spending())
