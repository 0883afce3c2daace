from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TutoringConfig(AppConfig):
    name = "tutoring"

    def ready(self) -> None:
        import config.checks  # noqa: F401  (registers the deployment checks)
        from benchmark.judging import judgement_finished

        post_migrate.connect(prepare_tables, sender=self)
        judgement_finished.connect(record_verdict, dispatch_uid="tutoring")


def record_verdict(**judged: Any) -> None:
    """The verdict of an execution goes to its session. Loaded when there is one: most commands judge nothing."""
    from tutoring import actions

    actions.record_verdict(**judged)


def prepare_tables(**_: Any) -> None:
    """Create what every database needs after its tables: role groups, frozen presets, the salt of pseudonyms."""
    from django.contrib.auth.models import Group

    from tutoring.protocols import freeze_presets
    from tutoring.pseudonyms import ensure_salt
    from tutoring.roles import Role

    for role in Role:
        Group.objects.get_or_create(name=role)
    freeze_presets()
    ensure_salt()
