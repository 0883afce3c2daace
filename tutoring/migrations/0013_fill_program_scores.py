"""Move measured figures into one column, and request judgements for programs that are not measured yet."""

import hashlib

from django.db import migrations

FIGURES = (
    "verdict", "passed", "total", "passed_prefix", "first_failing", "correct_but_slow", "fault", "policy",
    "judge_version", "problem_hash",
)  # fmt: skip


def fill(apps, schema_editor):
    """Give each score its figures or its judgement."""
    scores = apps.get_model("tutoring", "ProgramScore").objects
    for score in scores.exclude(measured_at=None).iterator():
        figures = {name: getattr(score, name) for name in FIGURES}
        score.figures_record = {"measured_at": score.measured_at.isoformat(), **figures}
        score.save(update_fields=["figures_record"])
    submissions = apps.get_model("benchmark", "Submission").objects
    judgements = apps.get_model("benchmark", "Judgement").objects
    for score in scores.filter(measured_at=None).select_related("event", "session__problem"):
        source, problem = score.event.data["code"] or "", score.session.problem
        submission, _ = submissions.get_or_create(
            problem=problem,
            language=score.session.language,
            source_hash=hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest(),
            defaults={"source": source},
        )
        score.judgement = judgements.create(
            submission=submission,
            purpose="score",
            suite="all",
            policy="fair",
            stop_at_first_failure=False,
            problem_hash=problem.content_hash,
        )
        score.save(update_fields=["judgement"])


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0012_program_scores")]

    operations = [migrations.RunPython(fill, elidable=True)]
