"""Take over the salt of pseudonyms from tutoring, whose migration renames the table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = [("tutoring", "0011_salt_to_accounts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="PseudonymSalt",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "salt",
                            models.BinaryField(
                                help_text="Key of an HMAC. It links each pseudonym to its account, so keep it secret."
                            ),
                        ),
                    ],
                )
            ]
        )
    ]
