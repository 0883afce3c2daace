from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0050_rejudging")]

    operations = [
        migrations.AddField(
            model_name="growthcurve",
            name="host",
            field=models.CharField(
                blank=True, default="", help_text="The machine that measured. Blank: unknown.", max_length=200
            ),
        ),
        migrations.AddField(
            model_name="growthcurve",
            name="time_factor",
            field=models.FloatField(
                default=1.0,
                help_text="Factor of the time limit besides that of the language: machine and dataset.",
            ),
        ),
    ]
