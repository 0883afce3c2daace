"""Hand the salt of pseudonyms to the accounts app: rename its table and forget the model here."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0010_claimed_outcomes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.AlterModelTable("PseudonymSalt", "accounts_pseudonymsalt")],
            state_operations=[migrations.DeleteModel("PseudonymSalt")],
        )
    ]
