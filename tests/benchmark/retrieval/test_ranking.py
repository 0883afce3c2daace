"""Leave-one-out BM25: what rank_bm25 gives on an index rebuilt without the problem, in a defined order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from benchmark.retrieval import TOKENIZERS, Bm25, Document, NothingToRankError, SearchCorpus, make_query, rank

WORD = st.sampled_from(["cow", "Cow", "barn", "milk", "graph", "tree,", "path\n"])
TEXTS = st.lists(st.lists(WORD, min_size=1, max_size=8).map(" ".join), min_size=2, max_size=7)


def corpus_of(*texts: str) -> SearchCorpus:
    return SearchCorpus(
        tuple(Document(f"id{place}", f"Title {place}", text) for place, text in enumerate(texts))
    )


@pytest.mark.slow
@given(TEXTS, st.data())
def test_scores_are_those_of_an_index_that_never_held_the_problem(
    texts: list[str], data: st.DataObject
) -> None:
    held_out = data.draw(st.integers(0, len(texts) - 1))
    rest = [place for place in range(len(texts)) if place != held_out]
    expected = BM25Okapi([texts[place].split(" ") for place in rest]).get_scores(texts[held_out].split(" "))
    hits = rank(corpus_of(*texts), texts[held_out], top=len(texts), without=f"id{held_out}")
    assert {hit.index: hit.score for hit in hits} == dict(zip(rest, expected, strict=True))
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.index))


def test_equal_scores_keep_the_order_of_the_corpus() -> None:
    corpus = corpus_of("query", "x a", "y b", "x a", "x a", "z c")
    assert [hit.id for hit in rank(corpus, "a", top=3, without="id0")] == ["id1", "id3", "id4"]


def test_the_same_name_can_be_excluded_of_the_index() -> None:
    documents = (
        Document("1", "Cow  Tours", "cow"),
        Document("2", "COW tours", "cow"),
        Document("3", "Else (bronze age)", "cow b"),
        Document("4", "Cow Tours (Bronze Level)", "cow"),
        Document("5", "Cow Tours (gold)", "cow"),
    )
    for asked in "145":
        hits = rank(SearchCorpus(documents), "cow", top=5, without=asked, exclude_same_name=True)
        assert [hit.id for hit in hits] == ["3"]
    found = {hit.id for hit in rank(SearchCorpus(documents), "cow", top=5, without="1")}
    assert found == {"2", "3", "4", "5"}


def test_parameters_of_the_formula_change_the_scores() -> None:
    corpus = corpus_of("q", "cow cow cow barn", "cow milk", "path", "tree")
    default, other = (
        rank(corpus, "cow barn", top=4, without="id0", bm25=bm25) for bm25 in (Bm25(), Bm25(k1=0.9, b=0.1))
    )
    assert [hit.score for hit in default] != [hit.score for hit in other]


@pytest.mark.parametrize("texts", [["alone"], ["alone", "", ""]])
def test_without_words_to_search_in_there_is_nothing_to_rank(texts: list[str]) -> None:
    with pytest.raises(NothingToRankError, match="apart from id0"):
        rank(corpus_of(*texts), "alone", top=2, without="id0", bm25=Bm25("words"))


def test_tokenizers_differ_as_their_names_say() -> None:
    text = "Farmer John's\n\ncows,  twice"
    assert TOKENIZERS["usaco_split"](text) == ["Farmer", "John's\n\ncows,", "", "twice"]
    assert TOKENIZERS["words"](text) == ["farmer", "john", "s", "cows", "twice"]


def test_queries_add_the_program_or_the_whole_reply_on_a_new_line() -> None:
    assert make_query("statement", "S", reply="R", code="C") == "S"
    assert make_query("statement+code", "S", reply="R", code="C") == "S\nC"
    assert make_query("reply", "S", reply="R", code="C") == "S\nR"


def test_the_corpus_hash_changes_with_any_text_id_or_order() -> None:
    hashes = {
        corpus_of("a", "b").content_hash,
        corpus_of("b", "a").content_hash,
        corpus_of("a", "bc").content_hash,
        corpus_of("ab", "c").content_hash,
    }
    assert len(hashes) == 4
    assert corpus_of("a", "b").content_hash in hashes
