"""Rename the column `place` of a review to `slot`, with the index and the constraints that name it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0018_review_outcome")]

    operations = [
        migrations.RemoveConstraint(model_name="review", name="review_place_held_once"),
        migrations.RemoveConstraint(model_name="review", name="review_place_fits_its_kind"),
        migrations.RemoveIndex(model_name="review", name="tutoring_re_rule_se_57f4a9_idx"),
        migrations.RenameField(model_name="review", old_name="place", new_name="slot"),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                fields=["rule_set", "state", "slot", "session"], name="tutoring_re_rule_se_e58320_idx"
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(
                fields=["session", "rule_set", "slot"], name="one_review_per_slot"
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slot__isnull", True),
                    models.Q(("adjudicates", False), ("slot__in", [1, 2])),
                    models.Q(("adjudicates", True), ("slot", 3)),
                    _connector="OR",
                ),
                name="review_slot_matches_kind",
            ),
        ),
    ]
