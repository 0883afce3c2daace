"""BuildMCQ: questions from the tags of any dataset (docs/spec.md 4.1, 15).

The right option has the labels of the reference and the least similar text. The wrong options share no label and no
subcategory with the reference and have the most similar texts. A comparison of texts is therefore worse than chance.
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

OnProgress = Callable[[int, int], object]
"""A function that is called with the numbers of done and of all problems."""


@dataclass(frozen=True)
class Builder:
    """The parameters of the procedure. The paper does not give the values of its thresholds: these are ours.

    `similarity` compares statements by cosines, tfidf or encoder:NAME; BM25 scores have no scale for the thresholds.
    Raises ValueError for invalid parameters.
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
        progress: OnProgress | None = None,
        encoding: Encoding = DEFAULT,
    ) -> QuestionSet:
        """Build and store a set of questions. The set lists the problems without a question and the reasons.

        Raises QuestionsInUseError and NoEncoderError.
        """
        rows = dataset.problems.order_by("external_id").values_list("external_id", "statement", "tags")
        statements = {external_id: statement for external_id, statement, _ in rows}
        made, skipped = self.questions(
            statements, {name: list(tags) for name, _, tags in rows}, progress, encoding
        )
        return write_question_set(
            name,
            dataset,
            made,
            seed=self.seed,
            built=True,
            parameters=asdict(self),
            skipped=[{"id": reference, "reason": reason} for reference, reason in skipped.items()],
        )

    def questions(
        self,
        statements: Mapping[str, str],
        tags: Mapping[str, list[str]],
        progress: OnProgress | None = None,
        encoding: Encoding = DEFAULT,
    ) -> tuple[list[QuestionRecord], dict[str, str]]:
        """Return the questions in the order of their references' ids, and the reasons of problems without one.

        Problems are processed in random order, so that the limit of questions per label favours none of them. Raises
        NoEncoderError.
        """
        scorer = Scorer(self.similarity, self.tokenizer)
        encoder = Encoder(scorer.encoder, encoding) if scorer.encoder else None
        compare = scorer.over(statements, encoder)
        order = list(statements)
        random.Random(self.seed).shuffle(order)  # noqa: S311 (reproducible order)
        asked: Counter[str] = Counter()
        made: list[QuestionRecord] = []
        skipped: dict[str, str] = {}
        for done, reference in enumerate(order, 1):
            others = [other for other in statements if other != reference]
            try:
                self._refuse_capped(tags[reference], asked)
                similarities = dict(zip(others, compare(reference, others), strict=True))
                made.append(self._question(reference, tags, similarities))
            except _NoQuestionError as reason:
                skipped[reference] = str(reason)
            else:
                asked.update(tag_keys(tags[reference]))
            if progress is not None:
                progress(done, len(order))
        return sorted(made, key=lambda record: record.reference), dict(sorted(skipped.items()))

    def _refuse_capped(self, tags: list[str], asked: Counter[str]) -> None:
        if not tags:
            raise _NoQuestionError("it has no label")
        for tag in tags:
            if asked[tag_key(tag)] >= self.per_label:
                raise _NoQuestionError(f"the label {label(tag)} has {self.per_label} questions already")

    def _question(
        self, reference: str, tags: Mapping[str, list[str]], similarities: Mapping[str, float]
    ) -> QuestionRecord:
        """Return the question with this reference. Raises _NoQuestionError."""
        own = tags[reference]
        alike = [other for other in similarities if tag_keys(tags[other]) == tag_keys(own)]
        if not alike:
            raise _NoQuestionError("no other problem has exactly its labels")
        positive = min(alike, key=lambda other: similarities[other])
        if similarities[positive] >= self.max_sim_positive:
            raise _NoQuestionError(
                f"all problems with its labels are too similar: at least {similarities[positive]:.2f} ({positive})"
            )
        apart = [other for other in similarities if tags[other] and self._is_apart(own, tags[other])]
        near = [other for other in apart if similarities[other] >= self.min_sim_negative]
        if len(near) < OPTIONS - 1:
            raise _NoQuestionError(
                f"{len(near)} of {len(apart)} problems with other solutions have similar enough texts, but "
                f"{OPTIONS - 1} are needed"
            )
        negatives = sorted(near, key=lambda other: -similarities[other])[: OPTIONS - 1]
        return QuestionRecord(reference, positive, tuple(negatives))

    def _is_apart(self, ones: list[str], others: list[str]) -> bool:
        """Return whether no label suggests that the problems have similar solutions."""
        return (
            not tag_keys(ones) & tag_keys(others)
            and not subcategories(ones) & subcategories(others)
            and label_similarity(ones, others) < self.label_sim_max
        )


class _NoQuestionError(Exception):
    """A problem that cannot be a reference; the message is the reason."""
