"""The oracle-assisted control: the model is shown how the problem is solved (docs/spec.md 1.2, extras in the code).

It says how much of a model's failure is not knowing the idea, and bounds what any retrieval could do.
"""

from benchmark.methods.composition import Retriever, always
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import ContextSettings, Retrieved
from benchmark.prompts import ANALYSIS_TEMPLATES, PromptContext
from benchmark.retrieval import split_analysis


async def show_analysis(chain: Chain, settings: ContextSettings, query: str) -> Retrieved:
    """The official analysis of the problem under test without the programs in it. Reference solutions are not shown."""
    corpus = await chain.problems()
    [problem] = [document.problem for document in corpus.documents if document.id == chain.task.id]
    analysis = split_analysis(problem.analysis)[0] if problem else ""
    return Retrieved(PromptContext(analysis=analysis), {"oracle": {"characters": len(analysis)}})


ORACLE_ASSISTED = Retriever(
    name="oracle-assisted",
    summary="Show the official analysis of the problem itself, without its programs.",
    source="control; the USACO code has it",
    caveat="Oracle-assisted: the model was shown the official analysis of each problem. No score of a method.",
    settings=ContextSettings,
    templates=always(ANALYSIS_TEMPLATES),
    find=show_analysis,
    needs_analysis=True,
)
