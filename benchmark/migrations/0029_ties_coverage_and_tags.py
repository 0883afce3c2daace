"""Withdraws what was measured by former rules: tied options by their letters, coverage by statements of the syntax."""

from django.db import migrations


def correct_ties(apps, schema_editor):
    """Mark rankings in which options are tied, and drop the figures of finished runs, which are measured again."""
    answers = apps.get_model("benchmark", "QuestionAnswer").objects.exclude(scores=None)
    right = dict(
        apps.get_model("benchmark", "Option").objects.filter(similar=True).values_list("question", "place")
    )
    for answer in answers.only("question", "scores", "chosen", "correct", "rank").iterator():
        scores, place = answer.scores, right[answer.question_id]
        best = [other for other, score in enumerate(scores) if score == max(scores)]
        answer.chosen = best[0] if len(best) == 1 else None
        answer.correct = best == [place]
        answer.rank = 1 + sum(score > scores[place] for score in scores)
        answer.save(update_fields=["chosen", "correct", "rank"])
    apps.get_model("benchmark", "SimilarityRun").objects.filter(state="finished").update(figures=None)


def drop_coverage(apps, schema_editor):
    """Coverage is measured again when it is asked for."""
    apps.get_model("benchmark", "Verification").objects.exclude(coverage=None).update(coverage=None)


def join_tags(apps, schema_editor):
    """Keep one spelling of each tag of a problem."""
    from benchmark.text.tags import distinct_tags

    for problem in apps.get_model("benchmark", "Problem").objects.only("tags").iterator():
        distinct = distinct_tags(map(str, problem.tags))
        if distinct != problem.tags:
            problem.tags = distinct
            problem.save(update_fields=["tags"])


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0028_oracles_and_rankings"),
    ]

    operations = [
        migrations.RunPython(correct_ties, migrations.RunPython.noop),
        migrations.RunPython(drop_coverage, migrations.RunPython.noop),
        migrations.RunPython(join_tags, migrations.RunPython.noop),
    ]
