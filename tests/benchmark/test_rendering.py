"""Rendering: formulas, programs and text come out right, nothing is lost, and nothing hostile gets through."""

import html
import json
import re
import time
from pathlib import Path

import pytest
from django.utils.html import strip_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES

from benchmark.rendering import highlight, pygments_css, render, render_latex, render_markdown, render_usaco
from benchmark.rendering.markdown import MAXIMUM_MARKDOWN
from benchmark.rendering.sanitising import sanitise
from tests.benchmark.datasets.rendered_text import assert_nothing_lost

FORBIDDEN = re.compile(
    r"<script|<iframe|<style|<form|<input|<svg|<object|<[^>]*\s(?:on\w+|style|srcset|formaction)\s*=|<img|"
    r"href=\"(?!https?:|mailto:|#)",
    re.IGNORECASE,
)


def assert_harmless(markup: str) -> None:
    assert not FORBIDDEN.search(markup), FORBIDDEN.search(markup)


# Markdown


@pytest.mark.parametrize("source", ["$n^2$", r"\(n^2\)", "$$n^2$$", r"\[n^2\]", "text $$\nn^2\n$$ text"])
def test_every_way_of_writing_a_formula_gives_mathml(source: str) -> None:
    rendered = render_markdown(source)
    assert "<msup><mi>n</mi><mn>2</mn></msup>" in rendered
    assert '<annotation encoding="application/x-tex">n^2</annotation>' in rendered


@pytest.mark.parametrize(
    "source",
    [
        "It costs $5 or $6.",
        "between US$5 and US$6",
        "a 5$ note and 6$",
        r"an escaped \$x\$",
        "$HOME and $PATH",
    ],
)
def test_prices_and_variables_are_no_formulas(source: str) -> None:
    assert "<math" not in render_markdown(source)


def test_lines_of_a_display_formula_are_no_lists_or_headings() -> None:
    rendered = render_markdown("\\[\n- x\n+ y\n= z\n\\]\n\n$$\n# a\n$$")
    assert rendered.count('display="block"') == 2
    assert "<li>" not in rendered
    assert "<h3>" not in rendered


@pytest.mark.parametrize(
    ("source", "levels"),
    [
        ("# A\n\n## B\n\n### C\n\n## D\n\n# E", "34543"),
        ("### A\n\n##### B\n\n## C\n\n###### D", "3434"),
        ("# A\n\n## B\n\n### C\n\n#### D\n\n##### E\n\n###### F", "345666"),
    ],
)
def test_headings_stand_below_those_of_the_page_without_gaps(source: str, levels: str) -> None:
    assert "".join(re.findall(r"<h(\d)>", render_markdown(source))) == levels
    assert "".join(re.findall(r"</h(\d)>", render_markdown(source))) == levels


def test_dollars_and_brackets_in_code_stay() -> None:
    rendered = render_markdown("`$x$ \\(y\\)`\n\n```\n$$z$$\n```")
    assert "<math" not in rendered
    assert "$x$ \\(y\\)" in rendered
    assert "$$z$$" in rendered


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"O(N\log N)", "O(N log N)"),
        (r"(a+1)\log\log n", "(a+1) log log n"),
        (r"\log_2 n", "log2 n"),
        (r"\max_i a + 2\gcd(b, c)", "maxi a+2 gcd(b,c)"),
        (r"1-\ln(1-x)", "1−ln(1−x)"),
        (r"\operatorname{lcm} x", "lcm x"),
    ],
)
def test_names_of_functions_are_spaced_as_tex_does(latex: str, shown: str) -> None:
    for rendered in (render_markdown(f"${latex}$"), render_latex(f"${latex}$")):
        formula = re.sub(r"<annotation.*?</annotation>|\u2061", "", rendered, flags=re.DOTALL)
        spaced = re.sub(r"<mspace[^>]*></mspace>", " ", formula)
        assert html.unescape(re.sub(r"<[^>]+>", "", spaced)).replace("-", "−").strip() == shown
        for operator in re.findall(r"<mo[^>]*>[a-z]+</mo>", formula):
            assert 'rspace="0"' in operator, "browsers would put a wide space before a parenthesis"


def test_text_in_a_formula_keeps_its_signs() -> None:
    assert "<mtext>a&lt;b</mtext>" in render_markdown(r"$\text{a<b}$")


@pytest.mark.parametrize("latex", [r"\frac{", "a^b^c", "{", r"\begin{array}{cc", "_", "{" * 500, r"\left("])
def test_a_broken_formula_is_shown_as_code(latex: str) -> None:
    rendered = render_markdown(f"before ${latex}$ after")
    assert html.escape(latex) in rendered
    assert "before" in rendered
    assert "after" in rendered


def test_a_fenced_program_is_coloured_and_labelled_without_inline_styles() -> None:
    rendered = render_markdown("```python\ndef f():\n    return '<b>'\n```")
    assert "<figcaption>Python</figcaption>" in rendered
    assert '<span class="k">def</span>' in rendered
    assert "&lt;b&gt;" in rendered
    assert "style=" not in rendered


def test_tables_are_rendered() -> None:
    assert "<th>a</th>" in render_markdown("|a|b|\n|-|-|\n|1|2|")


def test_pictures_of_other_sites_become_links() -> None:
    rendered = render_markdown("![a cat](https://example.org/cat.png) ![d](data:image/png;base64,AAAA)")
    assert "<img" not in rendered
    assert (
        '<a href="https://example.org/cat.png" rel="noopener noreferrer nofollow">[picture: a cat]</a>'
        in rendered
    )


def test_known_pictures_are_shown_from_this_site() -> None:
    rendered = render_markdown("![a cat](cat.png)", {"cat.png": "/problems/d/p/figures/cat.png"})
    assert '<img src="/problems/d/p/figures/cat.png" alt="a cat">' in rendered


def test_links_lead_to_other_sites_only() -> None:
    rendered = render_markdown(
        "[a](/admin/logout) [b](javascript:alert(1)) [c](//evil.example) [d](https://x.example)"
    )
    assert rendered.count("href=") == 1
    assert 'href="https://x.example" rel="noopener noreferrer nofollow"' in rendered


def test_an_absurdly_long_message_is_shown_as_plain_text_with_a_notice() -> None:
    rendered = render_markdown("**x** " * MAXIMUM_MARKDOWN)
    assert "Too long to format" in rendered
    assert "<strong>" not in rendered


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "$a",
        "$$a\n",
        "\\[a\n",
        "\\(",
        "`a",
        "> ",
        "- ",
        "**a",
        "[a](",
        "![",
        "|a|\n|-|\n",
        "```\n",
        "{",
        "$a$",
    ],
)
def test_hostile_repetition_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    render_markdown((piece * 20_000)[:20_000])
    assert time.process_time() - started < 3


PIECES = [
    *(
        "<",
        ">",
        "script",
        "<script>",
        "</pre>",
        "'",
        '"',
        "`",
        "```\n",
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "[",
        "]",
    ),
    *(
        "(",
        ")",
        "{",
        "}",
        "^",
        "_",
        "|",
        "#",
        "!",
        "**",
        "* ",
        "a",
        " ",
        "\n",
        "\n\n",
        "\0",
        "\ud800",
        "&#x3c;",
    ),
    *(
        "javascript:",
        "data:",
        "https://a.example/",
        "onerror=alert(1)",
        "<img/src=x/onerror=alert(1)>",
        "<svg>",
    ),
    *("<math>", "annotation", "<annotation-xml>", "<style>", "\\frac{", "\\style{color:red}{x}"),
    *("\\href{javascript:alert(1)}{x}", "SAMPLE INPUT:\n", "SAMPLE OUTPUT:\n", "#include <x>\n", "int x;\n"),
]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["java", "c#", "cpp", "python", "rust", "go", "javascript"])
@pytest.mark.parametrize("piece", ["a ", "a<", 'r#"', "public a ", "{"])
def test_hostile_programs_are_coloured_in_linear_time(language: str, piece: str) -> None:
    program = "".join(f"{piece * 40}\n" for _ in range(150))
    started = time.process_time()
    highlight(program, language)
    assert time.process_time() - started < 2


PYTHON = st.sampled_from(
    [*"#@'\"()[]{}:;,.=!<>-+*/%&|^~\\ \n\t5ax", "  ", "def ", "from ", "import ", "0x", "1e-", "f'", "rb"]
)


def coloured(markup: str) -> list[tuple[str, str]]:
    """The characters of a program that have a class, with it, and without blanks, which show no colour."""
    spans = re.findall(r'<span class="(\w+)">([^<]*)</span>', markup)
    return [
        (name, character)
        for name, text in spans
        for character in html.unescape(text)
        if not character.isspace()
    ]


def assert_coloured_as_pygments_does(program: str) -> None:
    rules = set(re.findall(r"\.highlight \.(\w+)", pygments_css()))
    tokens = PythonLexer(stripnl=False).get_tokens(program.rstrip("\n") + "\n")
    expected = [
        (name, character)
        for token, text in tokens
        if (name := next(STANDARD_TYPES[kind] for kind in reversed(token.split()) if kind in STANDARD_TYPES))
        in rules
        for character in text
        if not character.isspace()
    ]
    assert coloured(highlight(program, "python")) == expected


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(PYTHON, max_size=30).map("".join))
def test_any_text_is_coloured_as_pygments_colours_python(source: str) -> None:
    assert_coloured_as_pygments_does(source)


def test_programs_are_coloured_as_pygments_colours_python(repository: Path) -> None:
    for path in sorted((repository / "benchmark" / "rendering").glob("*.py")):
        assert_coloured_as_pygments_does(path.read_text())


ALPHABET = st.sampled_from(PIECES)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(ALPHABET | st.text(max_size=5), max_size=25).map("".join))
def test_nothing_raises_and_nothing_hostile_gets_through(source: str) -> None:
    assert_harmless(render_markdown(source))
    assert_harmless(render_usaco(source))
    assert_harmless(highlight(source, source))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(ALPHABET, max_size=25).map("".join))
def test_the_sanitiser_lets_nothing_hostile_through(source: str) -> None:
    assert_harmless(sanitise(source))


@pytest.mark.parametrize(
    "source",
    [
        "<p onclick=alert(1)>x</p>",
        "<img src=https://evil.example/x.png>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
        "<a href='jav&#x09;ascript:alert(1)'>x</a>",
        "<form action=/logout><button>x</button></form>",
        "<svg onload=alert(1)>",
        "<p id=composer class='toast danger' style='position:fixed'>x</p>",
    ],
)
def test_the_sanitiser_removes(source: str) -> None:
    rendered = sanitise(source)
    assert_harmless(rendered)
    assert "toast" not in rendered
    assert "id=" not in rendered


# USACO text


def test_a_statement_gets_headings_samples_lists_and_formulas() -> None:
    rendered = render_usaco(
        "**Note: limit 4s.**\nGiven $N$ ($1\\le N$) cows.\n\n"
        "INPUT FORMAT (stdin):\n* Line 1: N\n  cows.\n* Line 2: M.\n\n"
        "SAMPLE INPUT:\n3 1\nEHE\nSAMPLE OUTPUT: \n9\n\nBecause.\n\nSCORING:\nInputs 1-2: $N=1$Inputs 3-4: rest.\n"
    )
    assert "<strong>Note: limit 4s.</strong>" in rendered
    assert "<h3>Input format <small>(stdin)</small></h3>" in rendered
    assert "<li>Line 1: N\ncows.</li>\n<li>Line 2: M.</li>" in rendered
    assert '<pre class="sample">3 1\nEHE</pre>' in rendered
    assert '<pre class="sample">9</pre>' in rendered
    assert "<p>Because.</p>" in rendered
    assert "<mo>≤</mo>" in rendered
    assert rendered.count("<li>") == 4


def test_programs_in_running_text_are_found_and_coloured() -> None:
    rendered = render_usaco(
        "(Analysis by A. Nyone)\nWe sort the cows; then we stop.\nHere is my code:\n\n"
        "#include <iostream>\n\nint main() {\n"
        "  // We are done, as the reader can see for herself.\n\n  return 0;\n}\n\nIn Python it is shorter.\n\n"
        "def f(n):\n    return n\n\nprint(f(int(input())))\n"
    )
    assert rendered.count('<figure class="code">') == 2
    assert "<figcaption>C++</figcaption>" in rendered
    assert "<figcaption>Python</figcaption>" in rendered
    assert "<p>In Python it is shorter.</p>" in rendered
    assert "We sort the cows; then we stop." in rendered


def test_prices_in_old_statements_stay() -> None:
    rendered = render_usaco(
        "He can purchase dirt for $X.  He can ship it\naway for $Y.  He can pay $Z times |i-j|."
    )
    assert "<math" not in rendered


def test_drawings_keep_their_layout() -> None:
    assert '<pre class="literal">XX\nX XX\nXXX</pre>' in render_usaco(
        "It looks like this:\n\nXX \nX XX\nXXX\n\nThe end."
    )


def test_nothing_of_a_real_statement_or_analysis_is_lost(shared_data: Path) -> None:
    """The 36 later problems; the 484 are compared where they are imported."""
    problems = json.loads((shared_data / "usaco" / "postcutoff_problems_dict.json").read_text())
    for problem in problems.values():
        for name in ("description", "solution"):
            assert_nothing_lost(problem[name], render_usaco(problem[name]))


# LaTeX


def test_package_latex_becomes_sections_lists_formulas_and_figures() -> None:
    rendered = render_latex(
        r"\problemname{Tea} \illustration{0.3}{pot}{A pot, by \href{https://x.example}{Ann}} There are $n$ cups."
        r"\footnote{Or mugs.}\begin{Input}\begin{itemize}\item one \item two\end{itemize}\end{Input}"
        r"\begin{Output} Print \texttt{yes}.\end{Output}"
        r"{{nextsample}}\begin{afterSample}\section*{Notes} Fine.\end{afterSample}",
        {"pot.jpg": "/problems/d/tea/figures/pot.jpg"},
    )
    assert 'src="/problems/d/tea/figures/pot.jpg"' in rendered
    assert 'width="30%"' in rendered
    assert "A pot, by" in rendered
    assert rendered.count("<li") == 3
    assert ">Input</h3>" in rendered
    assert ">Output</h3>" in rendered
    assert ">Notes</h3>" in rendered
    assert "<mi>n</mi>" in rendered
    assert "nextsample" not in rendered
    assert re.search(r'href="#(t[0-9a-f]{8}-fn1)".*id="\1"', rendered, re.DOTALL)


@pytest.mark.parametrize(
    "source",
    [
        r"\input{/etc/passwd} \include{/etc/passwd}",
        r"\href{javascript:alert(1)}{x} \includegraphics{https://evil.example/x.png}",
        r"\newcommand{\a}{\a\a}\a",
        r"\begin{itemize} \item",
        r"$\frac{$ }}}{{{ \end{document}",
        "\\verb|<script>alert(1)</script>|",
    ],
)
def test_hostile_or_broken_latex_is_harmless(source: str) -> None:
    rendered = render_latex(source)
    assert_harmless(rendered)
    assert "root:" not in rendered


@pytest.mark.slow
def test_boxes_and_wrapped_figures_keep_their_text() -> None:
    boxes = r"\fbox{one} \framebox[3cm]{two} \resizebox{3cm}{!}{three} \scalebox{2}{four}"
    shown = render_latex(boxes + r"\begin{wrapfigure}[5]{r}{4cm}five\caption{six}\end{wrapfigure}")
    assert strip_tags(shown).split() == ["one", "two", "three", "four", "five", "six"]


@pytest.mark.slow
def test_latex_whose_text_is_lost_is_named() -> None:
    drawing = r"\begin{tikzpicture}\draw (0,0);\end{tikzpicture}"
    shown = render_latex(rf"\noindent See \mymacro{{<b>this</b>}}.{drawing}\tikzset{{a/.style={{b}}}}")
    assert rf"LaTeX that cannot be shown: \mymacro{{&lt;b&gt;this&lt;/b&gt;}}; {drawing}</p>" in shown
    many = render_latex(" ".join(rf"\lost{{{number} {'x' * 90}}}" for number in range(7)))
    assert "x…; and 2 more</p>" in many
    assert "notice" not in render_latex(r"\centering A \textbf{plain} text \vspace{1cm} $x$.")


def test_latex_that_cannot_be_read_is_shown_as_its_source() -> None:
    rendered = render_latex(r"\begin{itemize} <b>")
    assert "could not read" in rendered
    assert r"\begin{itemize} &lt;b&gt;" in rendered


@pytest.mark.parametrize("name", ["basicbrewing", "decryptingzodiac", "indexcase", "lookingforwaldo"])
def test_real_package_statements_keep_lists_and_formulas(shared_data: Path, name: str) -> None:
    source = (shared_data / "packages" / name / "problem_statement" / "problem.en.tex").read_text()
    rendered = render_latex(source)
    assert "could not read" not in rendered
    assert rendered.count("<li") == source.count(r"\item") + source.count(r"\footnote")
    assert rendered.count("<math") >= source.count("$") // 2
    assert ">Input</h3>" in rendered
    assert ">Output</h3>" in rendered


# Formats and styles


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="docx"):
        render("x", "docx")


def test_an_unknown_language_is_shown_without_colours() -> None:
    rendered = highlight("a < b", "brainfuck")
    assert "<figcaption>brainfuck</figcaption>" in rendered
    assert '<code class="highlight">a &lt; b\n</code>' in rendered


def test_the_style_sheet_holds_the_colours_of_the_highlighter(repository: Path) -> None:
    assert pygments_css() in (repository / "static" / "css" / "code.css").read_text()


def test_a_program_with_very_many_blank_lines_is_no_work() -> None:
    """Regression: this took minutes, because the search for the marks of Python restarted at every blank line."""
    text = "Here is the code.\n\nimport sys\nn = int(input())" + "\n" * 60_000 + "print(n)\n"
    started = time.process_time()
    assert "print" in render_usaco(text)
    assert time.process_time() - started < 20


def test_footnotes_link_to_their_notes_and_back_with_ids_of_their_text():
    text = "A[^n] and again[^n], 2^[i], [^missing]\n\n[^n]: The *note*."
    rendered = render_markdown(text)
    [note] = re.findall(r'<li id="(t[0-9a-f]{8}-fn1)">', rendered)
    assert rendered.count(f'href="#{note}"') == 2
    first = note.replace("fn1", "fnref1")
    assert rendered.count(f'id="{first}"') == rendered.count(f'href="#{first}"') == 1
    assert "The <em>note</em>." in rendered
    assert "2^[i], [^missing]" in rendered, "only references with a note are footnotes"
    assert note not in render_markdown(f"{text} "), "two texts on one page have different ids"


def test_identical_messages_have_different_footnote_ids():
    text = "A[^n].\n\n[^n]: The note."
    pages = [render_markdown(text, number=number) for number in (3, 14)]
    ids = [re.findall(r' id="([^"]+)"', page) for page in pages]
    assert not set(ids[0]) & set(ids[1])
    for page, own in zip(pages, ids, strict=True):
        assert len(own) == len(set(own)) == 2
        assert sorted(re.findall(r'href="#([^"]+)"', page)) == sorted(own)
    assert render_markdown("No note.", number=3) == render_markdown("No note.")
