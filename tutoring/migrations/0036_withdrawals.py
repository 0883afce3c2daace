"""Withdrawals and their tombstones; entries of the audit log without a person."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tutoring", "0035_session_index_of_arms"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="auditentry",
            name="person",
            field=models.ForeignKey(
                blank=True,
                help_text="Null: an operator with a command.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.CreateModel(
            name="Withdrawal",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("consent", "consent withdrawn"),
                            ("retention", "end of the retention period"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "account",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Number of the account, for restored backups. Null: retention.",
                        null=True,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("counts", models.JSONField(default=dict, help_text="Numbers of erased rows by kind.")),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        help_text="The admin. Null: an operator, the retention period, or a restored backup.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-at"],
            },
        ),
        migrations.CreateModel(
            name="WithdrawnSession",
            fields=[
                (
                    "session",
                    models.UUIDField(help_text="Id that the session had.", primary_key=True, serialize=False),
                ),
                (
                    "withdrawal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sessions",
                        to="tutoring.withdrawal",
                    ),
                ),
            ],
            options={
                "ordering": ["session"],
            },
        ),
    ]
