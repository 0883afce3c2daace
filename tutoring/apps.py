from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TutoringConfig(AppConfig):
    name = "tutoring"

    def ready(self) -> None:
        from accounts.sessions import logins_ended
        from benchmark.judging import judgement_finished, rejudging_applied
        from benchmark.models.signals import concealed_spending, items_finished, run_imported

        post_migrate.connect(create_presets, sender=self)
        logins_ended.connect(check_logins, dispatch_uid="tutoring")
        judgement_finished.connect(record_verdict, dispatch_uid="tutoring")
        rejudging_applied.connect(replace_verdicts, dispatch_uid="tutoring")
        items_finished.connect(project_sessions, dispatch_uid="tutoring")
        run_imported.connect(recreate_sessions, dispatch_uid="tutoring")
        concealed_spending.connect(concealed_studies, dispatch_uid="tutoring")


def check_logins(*, user_id: int, **_: Any) -> None:
    """Have the open pages of the person check their login. The import is deferred: few processes need it."""
    from tutoring.notifications import notify_person

    notify_person(user_id)


def record_verdict(**judged: Any) -> None:
    """Record the verdict of an execution in its session. The import is deferred: most commands judge nothing."""
    from tutoring.actions import record_verdict

    record_verdict(**judged)


def replace_verdicts(**applied: Any) -> None:
    """Replace the verdicts of sessions by those of a rejudging. The import is deferred: few processes need it."""
    from tutoring.rejudging.sessions import replace_verdicts

    replace_verdicts(**applied)


def project_sessions(*, run: Any, items: list[Any], **_: Any) -> None:
    """Store the sessions of finished items of an arm's run. The import is deferred: most commands execute no run."""
    if "prepared" in run.manifest:
        from tutoring.arms.projection import project

        project(run, items)


def recreate_sessions(*, run: Any, **_: Any) -> str:
    """Store the sessions of an imported run. The import is deferred: most commands import no run."""
    from tutoring.arms.imported_sessions import recreate_sessions

    return recreate_sessions(run)


def concealed_studies(*, person: Any, **_: Any) -> set[str]:
    """Return the spending keys of the unfinished studies of this tutor."""
    from tutoring.sessions.assignments import concealed_studies

    return {study.spending_key for study in concealed_studies(person)}


def create_presets(**_: Any) -> None:
    """Freeze the preset protocols that are missing in the database."""
    from tutoring.protocols import freeze_presets

    freeze_presets()
