"""Renames `BatchedQuestion` to `BatchedRequest`, `Batch.questions` to `requests`, `QuestionSet.left_out` to `skipped`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0038_spending"),
    ]

    operations = [
        migrations.RenameModel(old_name="BatchedQuestion", new_name="BatchedRequest"),
        migrations.RemoveConstraint(model_name="batchedrequest", name="question_once_per_batch"),
        migrations.AddConstraint(
            model_name="batchedrequest",
            constraint=models.UniqueConstraint(fields=["name", "batch"], name="request_once_per_batch"),
        ),
        migrations.RenameField(model_name="batch", old_name="questions", new_name="requests"),
        migrations.RenameField(model_name="questionset", old_name="left_out", new_name="skipped"),
    ]
