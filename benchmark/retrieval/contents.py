"""Document contents of a problem: statement, analysis, programs, or some of these (docs/spec.md 1.3, T7)."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from benchmark.retrieval.masking import mask
from benchmark.text.program_lines import find_programs

Content = Literal["all", "statement", "statement+analysis", "statement+code", "masked"]
"""The parts of a problem that its document contains; `masked` contains all parts, with masked programs."""
CONTENTS: tuple[str, ...] = get_args(Content)

DocumentForm = Literal["analysis", "published"]
"""The source of the solution in a document. `analysis`: the whole official analysis and the first reference program.
`published`: the English explanation and the Python program into which the USACO authors split it (docs/spec.md 1.2,
method A4).
"""

_FENCE = re.compile(r"^\s*(```|~~~)")


@dataclass(frozen=True)
class ProblemText:
    """The parts of a problem that can help to solve other problems.

    In the form `published`, `analysis` is the English explanation and `program` the Python program.
    """

    statement: str
    analysis: str
    program: str
    form: DocumentForm = "analysis"

    def holding(self, content: Content) -> str:
        """Return the text of the document.

        "all" joins statement, analysis and program as the USACO paper's code does (docs/spec.md 1.2, A4). In the form
        `analysis`, a program that the analysis already contains is not repeated; Figure 9's counts (docs/spec.md 1.4)
        hold for exactly this form. In the other contents, programs in the text of the analysis count as programs.
        """
        if content == "statement":
            return self.statement
        if content == "all":
            return self._joined(self.analysis, self.program)
        prose, programs = split_analysis(self.analysis)
        match content:
            case "statement+analysis":
                return self._joined(prose, "")
            case "statement+code":
                return self._joined("", self.program or "\n\n".join(programs))
            case "masked":
                masked = self.analysis
                for program in programs:
                    masked = masked.replace(program, mask(program))
                repeated = self.program.strip() in self.analysis
                return self._joined(masked, "" if repeated else mask(self.program))

    def _joined(self, analysis: str, program: str) -> str:
        if self.form == "published" and analysis and program:
            return f"{self.statement}\nSolution: \n{analysis}\nSolution Code: \n{program}"
        text = self.statement + (f"\nSolution: \n{analysis}" if analysis or not program else "")
        if program and program.strip() not in analysis:
            text += f"\nSolution Code: \n{program}"
        return text


def split_analysis(analysis: str) -> tuple[str, list[str]]:
    """Return the analysis without its programs, fenced or in running text, and the programs."""
    lines = analysis.split("\n")
    fenced: list[range] = []
    opened = None
    for number, line in enumerate(lines):
        if mark := _FENCE.match(line):
            if opened is None:
                opened, fence = number, mark[1]
            elif mark[1] == fence:
                fenced.append(range(opened, number + 1))
                opened = None
    taken = [any(number in block for block in fenced) for number in range(len(lines))]
    running = list(find_programs(lines, taken))
    inside = {number for block in (*fenced, *running) for number in block}
    blocks = [*(block[1:-1] for block in fenced), *running]
    prose = "\n".join(line for number, line in enumerate(lines) if number not in inside).strip()
    return prose, ["\n".join(lines[block.start : block.stop]) for block in blocks if block]
