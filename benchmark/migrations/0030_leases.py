"""One form of leases: owner, end and attempt; a purpose of judgements. Rows keep their data."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0029_ties_coverage_and_tags")]

    operations = [
        migrations.RenameField("workitem", "runner", "owner"),
        migrations.RenameField("runner", "name", "owner"),
        migrations.RenameField("runner", "seen_at", "lease_until"),
        migrations.RenameField("runner", "alone_with", "exclusive_key"),
        migrations.AlterModelOptions("runner", {"ordering": ["owner"]}),
        migrations.AddField(
            model_name="judgement",
            name="owner",
            field=models.CharField(
                blank=True, default="", help_text="The process that holds the lease.", max_length=120
            ),
        ),
        migrations.AddField(
            model_name="judgement",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("verdict", "Verdict"),
                    ("score", "score (of a program of a closed session; gives way to executions)"),
                ],
                default="verdict",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="judgement",
            name="relaxed_verdict",
            field=models.CharField(
                blank=True,
                help_text="Verdict with several times the time limit, for a score that the time limit alone prevents from AC.",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="attempt",
            field=models.PositiveIntegerField(
                default=0, help_text="Number of claims. Only the latest claim may write."
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="lease_until",
            field=models.DateTimeField(
                blank=True, help_text="When the lease ends unless its owner renews it.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="memory_limit",
            field=models.BigIntegerField(
                blank=True,
                help_text="Bytes, instead of the problem's limit. Null: the problem's limit.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="problem_hash",
            field=models.CharField(help_text="content_hash of the problem at the request.", max_length=64),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="test_suite",
            field=models.ForeignKey(
                blank=True,
                help_text="The suite whose tests replace the imported hidden tests. Null: the imported tests.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="judgements",
                to="benchmark.suite",
            ),
        ),
        migrations.AlterField(
            model_name="runner",
            name="exclusive_key",
            field=models.CharField(
                blank=True,
                help_text="The work, in words, that no other process may do at the same time.",
                max_length=500,
                null=True,
                unique=True,
            ),
        ),
        migrations.AlterField(
            model_name="runner",
            name="lease_until",
            field=models.DateTimeField(
                blank=True, help_text="When the lease ends unless its owner renews it.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="runner",
            name="model_spec",
            field=models.CharField(
                blank=True,
                db_index=True,
                help_text="Blank: shares no limits, because it calls in batches or only holds an exclusive lock.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="runner",
            name="owner",
            field=models.CharField(max_length=120, primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name="runner",
            name="waiting",
            field=models.TextField(
                blank=True,
                default="",
                help_text="Why its calls are delayed before they are repeated, in words.",
            ),
        ),
        migrations.AlterField(
            model_name="workitem",
            name="attempt",
            field=models.PositiveIntegerField(
                default=0, help_text="Number of claims. Only the latest claim may write."
            ),
        ),
        migrations.AlterField(
            model_name="workitem",
            name="lease_until",
            field=models.DateTimeField(
                blank=True, help_text="When the lease ends unless its owner renews it.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="workitem",
            name="owner",
            field=models.CharField(
                blank=True, default="", help_text="The process that holds the lease.", max_length=120
            ),
        ),
    ]
