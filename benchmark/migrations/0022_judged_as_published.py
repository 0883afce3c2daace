from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0021_analysis_english")]

    operations = [
        migrations.AddField(
            model_name="judgement",
            name="memory_limit",
            field=models.BigIntegerField(
                blank=True,
                null=True,
                help_text="Bytes, in the place of the problem's limit. Null: the problem's.",
            ),
        ),
        migrations.AddField(
            model_name="judgement",
            name="whole_output",
            field=models.BooleanField(
                default=False, help_text="The results of samples keep all of the program's output."
            ),
        ),
    ]
