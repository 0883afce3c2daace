"""The figures of a run over questions as text."""

from benchmark.models.finishes import finish_warnings
from benchmark.reports.draws import replay_note
from benchmark.reports.formatting import INTERVAL_NAMES, format_faults, format_spend, percent
from benchmark.similarity.figures import RANDOM_ACCURACY, RANDOM_MRR, LabelShare, SimilarityFigures
from judge.management.tables import aligned


def text_of(figures: SimilarityFigures) -> str:
    """Return the figures as text for terminals."""
    lines = [
        f"{figures.run}  {figures.state}",
        f"{title_of(figures)} on {figures.question_set}",
        *_notes(figures),
        *_scores(figures),
        "",
        *aligned(
            [
                ("right option at", "questions", "found", "letter chosen"),
                *(
                    (one.letter, str(one.right), f"{one.found:g}", f"{one.chosen:g}")
                    for one in figures.positions
                ),
            ]
        ),
        *_labels("Over-represented among the failed", figures.over_represented),
        *_labels("Under-represented among the failed", figures.under_represented),
    ]
    if one := figures.rating:
        correlation = f"Pearson r = {one.r:z.2f}, p = {one.p:.2f}, {one.questions} questions"
        lines += ["", f"Rating and failure: {correlation}"]
    if tokens := figures.tokens:
        ratio = "" if tokens.ratio is None else f", ×{tokens.ratio:.1f} of the run by statement"
        lines += [
            "",
            f"Completion tokens per question: {_tokens(tokens.total)} ({_tokens(tokens.representations)} for "
            f"representations, {_tokens(tokens.answer)} for the answer){ratio}",
            f"Paid by this run: {format_spend(figures.spent)}",
        ]
    if replay := replay_note(figures.replies_repeated, figures.answered):
        lines.append(replay)
    return "\n".join(lines)


def _notes(figures: SimilarityFigures) -> list[str]:
    """Return the numbers of answers, and the warnings about them."""
    notes = []
    if figures.scripted_model:
        notes.append("The replies are scripted: these figures say nothing about any model.")
    notes.append(f"{figures.answered} of {figures.questions} questions answered, {figures.correct:g} right")
    if figures.tied:
        notes.append(
            f"{figures.tied} rankings in which the right option is tied: figures are expected values over their orders"
        )
    if figures.task == "choose":
        notes.append(f"{figures.unreadable} answers without a readable letter, counted as wrong")
        notes += finish_warnings(figures.finishes)
    if figures.stop_reason:
        notes.append(f"Stopped: {figures.stop_reason}")
    notes += format_faults({one["about"]: one["fault"] for one in figures.faults})
    if figures.fallbacks:
        notes.append(
            f"{figures.fallbacks} representations are whole replies, because their section was missing"
        )
    return notes


def _scores(figures: SimilarityFigures) -> list[str]:
    """Return the table of accuracy and mean reciprocal rank; nothing without answers."""
    rows = [("", "", "95 % interval", "at random")]
    for name, value, interval, method, chance in (
        ("accuracy", figures.accuracy, figures.accuracy_interval, "wilson", RANDOM_ACCURACY),
        ("MRR", figures.mrr, figures.mrr_interval, figures.mrr_interval_method, RANDOM_MRR),
    ):
        if value is not None and interval is not None:
            shown = f"[{100 * interval.low:z.2f}, {100 * interval.high:z.2f}] ({INTERVAL_NAMES[method]})"
            rows.append((name, percent(value), shown, percent(chance)))
    return aligned(rows) if len(rows) > 1 else []


def title_of(figures: SimilarityFigures) -> str:
    """Return a short description of the run."""
    if figures.task == "choose":
        how = "choose"
    else:
        scorer = figures.parameters["scorer"]
        how = f"rank with {scorer['name']}"
        if not scorer["name"].startswith("encoder:"):
            how += f", statistics over the {scorer['statistics']}"
    if figures.parameters["correct_at"]:
        how += f", right option at {figures.parameters['correct_at']}"
    return f"{how}, by {figures.representation}" + (f" of {figures.model}" if figures.model else "")


def _labels(heading: str, shares: tuple[LabelShare, ...]) -> list[str]:
    if not shares:
        return []
    rows = [("", "failed", "questions", "share of failed", "share of all")]
    rows += [
        (one.label, f"{one.failed:g}", str(one.questions), percent(one.share_failed), percent(one.share_all))
        for one in shares
    ]
    return ["", heading, *aligned(rows)]


def _tokens(number: float | None) -> str:
    return "unknown" if number is None else f"{number:,.0f}"
