"""HTML of LaTeX statements and analyses of problem packages, made by pandoc in its sandbox mode."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from xml.etree.ElementTree import ParseError, fromstring, tostring

import pypandoc

from benchmark.rendering.operator_names import space_operator_names
from benchmark.rendering.sanitising import footnote_prefix, notice_above, plain, sanitise

MAXIMUM_LATEX = 300_000
"""Characters; a longer text is shown as plain text."""

_TIMEOUT = 20
"""Time limit per text in seconds; real packages need 0.2."""

_MEMORY = "512M"

# Commands of the ICPC problem formats and of slides that pandoc lacks, defined as plain structure.
_PRELUDE = r"""
\newcommand{\problemname}[1]{}
\newcommand{\illustration}[3]{\begin{figure}\includegraphics[width=#1\textwidth]{#2}\caption{#3}\end{figure}}
\newcommand{\nextsample}{}
\newcommand{\remainingsamples}{}
\newcommand{\pause}{}
\newcommand{\centerimage}[2]{\begin{figure}\includegraphics{#2}\end{figure}}
\newenvironment{Input}{\section*{Input}}{}
\newenvironment{Output}{\section*{Output}}{}
\newenvironment{Interaction}{\section*{Interaction}}{}
\newenvironment{Notes}{\section*{Notes}}{}
\newenvironment{afterSample}{}{}
\newenvironment{block}[1]{\subsection*{#1}}{}
\newcommand{\fbox}[1]{#1}
\newcommand{\framebox}[2][]{#2}
\newcommand{\scalebox}[2]{#2}
\newcommand{\resizebox}[3]{#3}
\newenvironment{wrapfigure}[3][]{\begin{figure}}{\end{figure}}
\newenvironment{wraptable}[3][]{\begin{table}}{\end{table}}
"""
_PLACEHOLDER = re.compile(r"\{\{\s*(?:nextsample|remainingsamples)\s*\}\}")
_FRAME = re.compile(r"\\begin\{frame\}(?:<[^>]*>)?(?:\[[^\]]*\])?(?:\{([^{}]*)\})?")
_OVERLAY = re.compile(r"(\\(?:item|only|uncover|visible|onslide|alert|textbf|emph))<[^<>\n]{1,20}>")
_VSPACE = re.compile(r"\\[vh]space\*?\{[^{}]*\}")
_NAMED = re.compile(r"%%\s*plainproblemname:\s*(.+)|\\problemname\{((?:[^{}]|\{[^{}]*\})*)\}")
_WIDTH = re.compile(r'(<img\b[^>]*?)\sstyle="width:(\d+(?:\.\d+)?)%"')
_SOURCE = re.compile(r'<img\b[^>]*?\bsrc="([^"]*)"')
_FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
_NAMESPACE = re.compile(r'\sxmlns="[^"]*"')
_SKIPPED = re.compile(r"^\[INFO\] Skipped '(\\.*?)' at (?:\S+ )?line \d", re.DOTALL | re.MULTILINE)
_BRACKET = re.compile(r"\\(?:begin|end)\{[^{}]*\}")
_SETTINGS = re.compile(
    r"\\(?:usetikzlibrary|tikzset|pgfplotsset|setlength|addtolength|setcounter|addtocounter|hypersetup|geometry"
    r"|pagestyle|thispagestyle|definecolor|fontsize|usepackage|documentclass|bibliographystyle|[hv]?phantom)\b"
)
"""Commands that print nothing."""
_NAMED_SKIPS, _SHOWN_SKIP = 5, 60
"""Number of passages that the notice names, and characters of each."""
_SECTION_ID = re.compile(r'(<h\d\b[^>]*?)\sid="[^"]*"')


def render_latex(text: str, figures: Mapping[str, str] | None = None) -> str:
    r"""Return sanitised HTML of a statement or an analysis in LaTeX, with formulas as MathML.

    `figures` maps file names to addresses; \includegraphics and \illustration may omit the suffix. A notice names
    commands that pandoc does not know, whose text is lost. Text that pandoc cannot read within its time and memory
    limits is shown as source below a notice. Never raises.
    """
    if len(text) > MAXIMUM_LATEX:
        return plain(
            text[:MAXIMUM_LATEX],
            f"Too long to format: the first {MAXIMUM_LATEX:,} of {len(text):,} characters.",
        )
    body = _VSPACE.sub("", _OVERLAY.sub(r"\1", _FRAME.sub(_frame, _PLACEHOLDER.sub("", text))))
    body = body.replace(r"\end{frame}", "")
    try:
        markup, lost = _pandoc(_PRELUDE + body, footnote_prefix(text))
    except (OSError, subprocess.SubprocessError, UnicodeError) as error:
        return plain(text, f"pandoc could not read this LaTeX ({_reason(error)}); its source follows.")
    markup = _WIDTH.sub(lambda match: f'{match[1]} width="{min(float(match[2]), 100):g}%"', markup)
    markup = _SECTION_ID.sub(r"\1", markup)
    markup = _FORMULA.sub(_with_spaces, markup)
    return notice_above(_notice_of(lost)) + sanitise(markup, _with_bare_names(markup, figures or {}))


def _notice_of(lost: Sequence[str]) -> str:
    if not lost:
        return ""
    named = "; ".join(
        one if len(one) <= _SHOWN_SKIP else f"{one[:_SHOWN_SKIP]}…" for one in lost[:_NAMED_SKIPS]
    )
    more = f"; and {len(lost) - _NAMED_SKIPS} more" if len(lost) > _NAMED_SKIPS else ""
    return f"This text contains LaTeX that cannot be shown: {named}{more}"


def problem_name(latex: str) -> str:
    r"""Return the problem's name from `%% plainproblemname:` or \problemname, or "" if both are missing."""
    names = [(match[1] or "", match[2] or "") for match in _NAMED.finditer(latex)]
    plain_names = [first.strip() for first, _ in names if first.strip()]
    tex_names = [re.sub(r"[{}~]|\\[A-Za-z]+\s?", " ", second) for _, second in names if second.strip()]
    return " ".join((plain_names + tex_names + [""])[0].split())


def _frame(match: re.Match[str]) -> str:
    title = (match[1] or "").strip(" .")
    return f"\\section*{{{title}}}" if title else ""


def _pandoc(latex: str, prefix: str) -> tuple[str, list[str]]:
    """Return the HTML, and the passages with text that pandoc skipped."""
    command = [pypandoc.get_pandoc_path(), "+RTS", f"-M{_MEMORY}", "-RTS", "--sandbox"]
    command += ["--from=latex", "--to=html5", "--mathml", "--wrap=none", "--shift-heading-level-by=2"]
    command += [f"--id-prefix={prefix}", "--verbose"]
    finished = subprocess.run(
        command, input=latex.encode("utf-8", "replace"), capture_output=True, timeout=_TIMEOUT, check=True
    )
    skipped = _SKIPPED.findall(finished.stderr.decode("utf-8", "replace"))
    # A second pass over the text inside an environment reports the same passages again.
    passages = dict.fromkeys(" ".join(one.split()) for one in skipped)
    lost = [
        one for one in passages if "{" in one and not _BRACKET.fullmatch(one) and not _SETTINGS.match(one)
    ]
    return finished.stdout.decode("utf-8", "replace"), lost


def _with_spaces(match: re.Match[str]) -> str:
    try:
        formula = fromstring(_NAMESPACE.sub("", match[0], count=1))  # noqa: S314  (written by pandoc, no DTD)
    except ParseError:  # a control character of the source
        return match[0]
    space_operator_names(formula)
    return tostring(formula, encoding="unicode", short_empty_elements=False)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took longer than {_TIMEOUT} s"
    if isinstance(error, subprocess.CalledProcessError):
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[0][:200] if lines else f"exit status {error.returncode}"
    return str(error)


def _with_bare_names(markup: str, figures: Mapping[str, str]) -> dict[str, str]:
    """Return the figures by every name in the text, with or without folder and suffix."""
    by_stem = {PurePosixPath(name).stem: address for name, address in figures.items()}
    known = dict(figures)
    for source in _SOURCE.findall(markup):
        path = PurePosixPath(source)
        address = figures.get(path.name) or by_stem.get(path.stem) or by_stem.get(path.name)
        if address and source not in known:
            known[source] = address
    return known
