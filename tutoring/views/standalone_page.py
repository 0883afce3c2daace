"""A session as one self-contained HTML file."""

from __future__ import annotations

import re
from functools import cache

from django.conf import settings
from django.template.loader import render_to_string

from tutoring.models import Session
from tutoring.review.records import complete_reviews
from tutoring.rules import current_rule_set, rule_set
from tutoring.views.review_pages import read_with_reviews


def standalone_page(session: Session, *, findings: bool, shows_facts: bool) -> str:
    """Return the HTML of a session: conversation, verdict, labels and findings.

    Labels are those of the newest rule set with both independent reviews, if there is one. `findings` says whether the
    page shows findings with them, `shows_facts` whether events show pseudonyms, times, models and tokens.
    """
    complete = complete_reviews(session)
    version = max(complete, default=current_rule_set().version)
    reviews = complete.get(version, [])
    reading = read_with_reviews(session, reviews, findings=findings and bool(reviews))
    return render_to_string(
        "tutoring/review/standalone.html",
        {
            "reading": reading,
            "shows_facts": shows_facts,
            "rule_set": rule_set(version),
            "review_outcome": session.review_outcomes.filter(rule_set=version).first(),
            "styles": _styles(),
        },
    )


@cache
def _styles() -> str:
    """Return the style sheets of the page without references to other files."""
    names = ("tokens", "page", "controls", "prose", "code", "lists", "trajectory", "rules", "review")
    folder = settings.BASE_DIR / "static" / "css"
    sheets = "\n".join((folder / f"{name}.css").read_text(encoding="utf-8") for name in names)
    return re.sub(r",\s*url\([^)]*\) format\([^)]*\)", "", sheets)
