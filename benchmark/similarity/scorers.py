"""Similarity of texts: BM25, TF-IDF, or the cosine of an encoder's vectors (docs/spec.md 4.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from benchmark.retrieval import TOKENIZERS, NothingToRankError
from benchmark.retrieval.index import Bm25Index
from benchmark.similarity.encoders import Encoder

Statistics = Literal["corpus", "options"]
STATISTICS: tuple[str, ...] = get_args(Statistics)
ENCODER = "encoder:"
_FORMULAS = {"bm25": "okapi", "tfidf": "tfidf"}

Compare = Callable[[str, Sequence[str]], list[float]]
"""A function that returns the similarities of some texts to another one, all named by their ids."""


@dataclass(frozen=True)
class Scorer:
    """A scorer with its parameters. The defaults are those of AlgoSimBench, if the paper names them.

    `statistics` says where words are counted: in the whole corpus, or only in the four options, where words of two
    options have almost no weight. An encoder counts no words. Raises ValueError for an unknown name.
    """

    name: str = "bm25"
    tokenizer: str = "words"
    k1: float = 1.2
    b: float = 0.75
    epsilon: float = 0.25
    statistics: Statistics = "corpus"

    def __post_init__(self) -> None:
        if self.name not in _FORMULAS and not self.name.removeprefix(ENCODER).strip():
            raise ValueError(f"{self.name!r} names no encoder; write {ENCODER}NAME")
        if self.name not in _FORMULAS and not self.name.startswith(ENCODER):
            raise ValueError(f"there is no scorer {self.name!r}; there are: bm25, tfidf, {ENCODER}NAME")

    @property
    def encoder(self) -> str:
        """Return the name of the encoder; blank for scorers that count words."""
        return self.name.removeprefix(ENCODER) if self.name.startswith(ENCODER) else ""

    def over(self, texts: Mapping[str, str], encoder: Encoder | None = None) -> Compare:
        """Return a function that compares texts of this corpus, with the open `encoder` if one is given.

        Raises NoEncoderError.
        """
        if self.encoder:
            return self._dense(texts, encoder or Encoder(self.encoder))
        return self._among_options(texts) if self.statistics == "options" else self._sparse(texts)

    def _dense(self, texts: Mapping[str, str], encoder: Encoder) -> Compare:
        places = {name: place for place, name in enumerate(texts)}
        vectors = encoder.vectors(list(texts.values()))

        def compare(reference: str, others: Sequence[str]) -> list[float]:
            # One score for each distinct text, so that equal texts tie in spite of rounding.
            scores = {
                texts[name]: float(vectors[places[reference]] @ vectors[places[name]]) for name in others
            }
            return [scores[texts[name]] for name in others]

        return compare

    def _sparse(self, texts: Mapping[str, str]) -> Compare:
        """Compare by words. The text that is compared is left out of the statistics, as in retrieval."""
        places = {name: place for place, name in enumerate(texts)}
        words = {name: TOKENIZERS[self.tokenizer](text) for name, text in texts.items()}
        index = Bm25Index(words.values())

        def compare(reference: str, others: Sequence[str]) -> list[float]:
            out = places[reference]
            scores = self._scores(index, words[reference], len(words), out)
            return [scores[places[name] - (places[name] > out)] for name in others]

        return compare

    def _among_options(self, texts: Mapping[str, str]) -> Compare:
        def compare(reference: str, others: Sequence[str]) -> list[float]:
            tokenize = TOKENIZERS[self.tokenizer]
            return self._scores(
                Bm25Index(tokenize(texts[name]) for name in others), tokenize(texts[reference]), len(others)
            )

        return compare

    def _scores(self, index: Bm25Index, query: list[str], count: int, *excluded: int) -> list[float]:
        try:
            scores = index.scores(
                query,
                k1=self.k1,
                b=self.b,
                epsilon=self.epsilon,
                formula=_FORMULAS[self.name],
                excluded=excluded,
            )
        except NothingToRankError:  # all texts are empty and therefore equally similar
            return [0.0] * count
        return [float(score) for score in scores]
