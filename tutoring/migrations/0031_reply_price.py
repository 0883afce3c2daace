from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0030_notes_and_sample_runs")]

    operations = [
        migrations.AddField(
            model_name="reply",
            name="price",
            field=models.JSONField(
                blank=True,
                help_text="US dollars for a million tokens at the start of the call, with their source. Null: unknown.",
                null=True,
            ),
        ),
    ]
