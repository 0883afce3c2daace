"""The oracle-assisted control: the prompt shows the official analysis (docs/spec.md 1.2, extras in the code).

It measures the share of failures that are due to not knowing the idea, and is an upper bound for any retrieval.
"""

from benchmark.methods.composition import Retriever, fixed_templates
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import ContextSettings, Retrieved
from benchmark.prompts import ANALYSIS_TEMPLATES, PromptContext
from benchmark.retrieval import split_analysis


async def retrieve_analysis(chain: Chain, _settings: ContextSettings, _query: str) -> Retrieved:
    """Return the official analysis of the problem under test without its programs or reference solutions."""
    corpus = await chain.problems()
    [problem] = [document.problem for document in corpus.documents if document.id == chain.task.id]
    analysis = split_analysis(problem.analysis)[0] if problem else ""
    return Retrieved(PromptContext(analysis=analysis), {"oracle": {"characters": len(analysis)}})


ORACLE_ASSISTED = Retriever(
    name="oracle-assisted",
    summary="Show the official analysis of the problem itself, without its programs.",
    source="control; the USACO code has it",
    warning="Oracle-assisted: the model was shown the official analysis of each problem. Not a score of a method.",
    settings=ContextSettings,
    templates=fixed_templates(*ANALYSIS_TEMPLATES),
    retrieve=retrieve_analysis,
    needs_analysis=True,
)
