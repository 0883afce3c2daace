"""Rendering of problems and chat messages as safe HTML, on the server.

All results have passed `sanitising.sanitise`. Problems store the RENDERER_VERSION of their HTML, so
raising it makes the next import render every statement again.
"""

from collections.abc import Mapping

from benchmark.rendering.highlighting import highlight, pygments_css
from benchmark.rendering.latex import render_latex
from benchmark.rendering.markdown import render_markdown
from benchmark.rendering.program_diff import program_diff
from benchmark.rendering.text_diff import text_diff
from benchmark.rendering.usaco import render_usaco

__all__ = [
    "RENDERER_VERSION", "highlight", "program_diff", "pygments_css", "render", "render_latex", "render_markdown",
    "render_usaco", "text_diff",
]  # fmt: skip

RENDERER_VERSION = "5"


def render(text: str, text_format: str, figures: Mapping[str, str] | None = None) -> str:
    """Return the HTML of a statement or an analysis in one of the formats of benchmark.models.TextFormat.

    Raises ValueError for an unknown format.
    """
    match text_format:
        case "usaco":
            return render_usaco(text)
        case "markdown":
            for placeholder in ("{{nextsample}}", "{{remainingsamples}}"):
                text = text.replace(placeholder, "")
            return render_markdown(text, figures)
        case "latex":
            return render_latex(text, figures)
    raise ValueError(f"no renderer for the text format {text_format!r}")
