from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0032_review_queue_indexes")]

    operations = [
        migrations.AddField(
            model_name="reply",
            name="calls",
            field=models.PositiveIntegerField(
                default=0, help_text="Calls of the provider so far; the last one runs or is about to begin."
            ),
        ),
        migrations.AddField(
            model_name="reply",
            name="gives_up_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When the reply fails unless text arrives before. Null: not claimed yet.",
                null=True,
            ),
        ),
    ]
