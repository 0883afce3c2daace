"""Store the salt of pseudonyms. Until now it was derived from SECRET_KEY."""

import hashlib
import secrets

from django.conf import settings
from django.db import migrations, models


def store_salt(apps, schema_editor):
    """Keep the derived salt where accounts, and so pseudonyms, exist; store a random one elsewhere.

    The derived salt is the key that Django's `salted_hmac("tutoring.pseudonym", …)` used.
    """
    if apps.get_model("auth", "User").objects.exists():
        salt = hashlib.sha1(b"tutoring.pseudonym" + settings.SECRET_KEY.encode()).digest()  # noqa: S324
    else:
        salt = secrets.token_bytes(32)
    apps.get_model("tutoring", "PseudonymSalt").objects.create(pk=1, salt=salt)


class Migration(migrations.Migration):
    dependencies = [
        ("tutoring", "0008_reviews_counted"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                        help_text="Key of an HMAC. Whoever has it can tell which account a pseudonym is."
                    ),
                ),
            ],
        ),
        migrations.RunPython(store_salt, migrations.RunPython.noop),
    ]
