"""BuildMCQ: questions from the tags of any dataset (docs/spec.md 4.1, 15).

The right option has the labels of the reference and reads least like it; the wrong ones share no label and no
subcategory with it and read most like it. So whoever compares the wording of problems does worse than chance.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from benchmark.datasets.question_sets import OPTIONS, write_question_set
from benchmark.datasets.records import QuestionRecord
from benchmark.models import Dataset, QuestionSet
from benchmark.similarity.encoders import DEFAULT, Encoder, Encoding
from benchmark.similarity.labels import label, label_similarity, subcategories
from benchmark.similarity.scorers import Scorer
from benchmark.text.tags import tag_key, tag_keys

Progress = Callable[[int, int], object]
"""Called with the problems done and their total."""


@dataclass(frozen=True)
class Builder:
    """Parameters of the procedure. The paper names its thresholds' kinds and not their values: these are ours.

    `similarity` compares statements: tfidf or encoder:NAME (cosines), since BM25 scores have no scale for the
    thresholds. Raises ValueError, which names what is not possible.
    """

    similarity: str = "tfidf"
    tokenizer: str = "words"
    max_sim_positive: float = 0.5
    min_sim_negative: float = 0.05
    label_sim_max: float = 0.8
    per_label: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.similarity == "bm25":
            raise ValueError("similarity is bm25, whose scores have no scale; use tfidf or encoder:NAME")
        for name in ("max_sim_positive", "min_sim_negative", "label_sim_max"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"{name} is {value:g}, but must be from 0 to 1")

    def build(
        self,
        dataset: Dataset,
        name: str,
        progress: Progress | None = None,
        encoding: Encoding = DEFAULT,
    ) -> QuestionSet:
        """Store the questions under the name. Problems without one are listed in it with the reason.

        Raises QuestionsInUseError and NoEncoder.
        """
        rows = dataset.problems.order_by("external_id").values_list("external_id", "statement", "tags")
        statements = {external_id: statement for external_id, statement, _ in rows}
        made, left_out = self.questions(
            statements, {name: list(tags) for name, _, tags in rows}, progress, encoding
        )
        return write_question_set(
            name,
            dataset,
            made,
            seed=self.seed,
            built=True,
            parameters=asdict(self),
            left_out=[{"id": reference, "reason": reason} for reference, reason in left_out.items()],
        )

    def questions(
        self,
        statements: Mapping[str, str],
        tags: Mapping[str, list[str]],
        progress: Progress | None = None,
        encoding: Encoding = DEFAULT,
    ) -> tuple[list[QuestionRecord], dict[str, str]]:
        """The questions in the order of their references' ids, and why other problems have none.

        Problems are gone through in an order by lot, so that the cap of questions a label favours none. Raises
        NoEncoder.
        """
        scorer = Scorer(self.similarity, self.tokenizer)
        encoder = Encoder(scorer.encoder, encoding) if scorer.encoder else None
        compare = scorer.over(statements, encoder)
        order = list(statements)
        random.Random(self.seed).shuffle(order)  # noqa: S311 (an order that can be had again)
        asked: Counter[str] = Counter()
        made: list[QuestionRecord] = []
        left_out: dict[str, str] = {}
        for done, reference in enumerate(order, 1):
            others = [other for other in statements if other != reference]
            try:
                self._refuse_capped(tags[reference], asked)
                likeness = dict(zip(others, compare(reference, others), strict=True))
                made.append(self._question(reference, tags, likeness))
            except _NoQuestion as reason:
                left_out[reference] = str(reason)
            else:
                asked.update(tag_keys(tags[reference]))
            if progress is not None:
                progress(done, len(order))
        return sorted(made, key=lambda record: record.reference), dict(sorted(left_out.items()))

    def _refuse_capped(self, tags: list[str], asked: Counter[str]) -> None:
        if not tags:
            raise _NoQuestion("it has no label")
        for tag in tags:
            if asked[tag_key(tag)] >= self.per_label:
                raise _NoQuestion(f"the label {label(tag)} has {self.per_label} questions already")

    def _question(
        self, reference: str, tags: Mapping[str, list[str]], likeness: Mapping[str, float]
    ) -> QuestionRecord:
        """Raises _NoQuestion."""
        own = tags[reference]
        alike = [other for other in likeness if tag_keys(tags[other]) == tag_keys(own)]
        if not alike:
            raise _NoQuestion("no other problem has exactly its labels")
        positive = min(alike, key=lambda other: likeness[other])
        if likeness[positive] >= self.max_sim_positive:
            raise _NoQuestion(
                f"all problems with its labels read too much like it: the least, {positive}, {likeness[positive]:.2f}"
            )
        apart = [other for other in likeness if tags[other] and self._is_apart(own, tags[other])]
        near = [other for other in apart if likeness[other] >= self.min_sim_negative]
        if len(near) < OPTIONS - 1:
            raise _NoQuestion(
                f"{len(apart)} problems are solved otherwise, and {len(near)} of them read enough like it, but "
                f"{OPTIONS - 1} are needed"
            )
        negatives = sorted(near, key=lambda other: -likeness[other])[: OPTIONS - 1]
        return QuestionRecord(reference, positive, tuple(negatives))

    def _is_apart(self, ones: list[str], others: list[str]) -> bool:
        """Whether nothing in the labels says that the problems may be solved alike."""
        return (
            not tag_keys(ones) & tag_keys(others)
            and not subcategories(ones) & subcategories(others)
            and label_similarity(ones, others) < self.label_sim_max
        )


class _NoQuestion(Exception):
    """Why a problem is no reference."""
