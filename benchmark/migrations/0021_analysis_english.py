from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0020_rendered_by")]

    operations = [
        migrations.AddField(
            model_name="problem",
            name="analysis_english",
            field=models.TextField(
                blank=True,
                default="",
                help_text="The explanation without programs, where the source splits it off (solution_english).",
            ),
            preserve_default=False,
        ),
    ]
