"""The text by which a problem is found."""

from benchmark.models import Dataset, ReferenceSolution
from benchmark.retrieval import SearchCorpus, problem_corpus
from benchmark.retrieval.documents import MEMOIZED
from tests.benchmark.retrieval.conftest import AddProblem


def test_documents_join_statement_analysis_and_the_program_of_the_language(add_problem: AddProblem) -> None:
    dataset = Dataset.objects.create(name="d", format="usaco")
    problem = add_problem(dataset, "b", "Statement.", "Analysis.")
    for order, (language, source) in enumerate(
        [("cpp", "int main() {}"), ("python", "print(1)"), ("python", "no")]
    ):
        ReferenceSolution.objects.create(
            problem=problem, language=language, source=source, name="x", order=order
        )
    add_problem(dataset, "a", "Other.", "Words.")
    first, second = problem_corpus(dataset, "python").documents
    assert (first.id, first.text) == ("a", "Other.\nSolution: \nWords.")
    assert second.text == "Statement.\nSolution: \nAnalysis.\nSolution Code: \nprint(1)"
    assert "int main" in problem_corpus(dataset, "cpp").documents[1].text


def test_a_program_that_stands_in_the_analysis_is_not_repeated(add_problem: AddProblem) -> None:
    dataset = Dataset.objects.create(name="d", format="usaco")
    problem = add_problem(dataset, "b", "Statement.", "So:\nprint(1)\nDone.")
    ReferenceSolution.objects.create(problem=problem, language="python", source="print(1)\n", name="x")
    assert problem_corpus(dataset, "python").documents[0].text.count("print(1)") == 1


def test_a_search_of_a_collection_is_made_again_only_when_it_was_long_ago() -> None:
    corpus = SearchCorpus(())
    made: list[int] = []

    def found(asked: int) -> list[int]:
        def find() -> list[int]:
            made.append(asked)
            return [asked]

        return corpus.memoize(asked, find)

    for asked in (*range(MEMOIZED), *range(MEMOIZED), MEMOIZED, 1, 0):
        assert found(asked) == [asked]
    assert made == [*range(MEMOIZED + 1), 0]
