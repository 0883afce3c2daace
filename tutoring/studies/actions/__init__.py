"""Commands on studies. They are the only writers of studies, assignments, deviations and looks.

The end of a session marks its assignment as done (tutoring.sessions.assignments). `person` is None for commands at the
command line, which operators give.
"""

from tutoring.studies.actions.base import StudyRefusedError, lock_study, require_admin
from tutoring.studies.actions.designs import AmendStudy, FreezeStudy, SaveDesign
from tutoring.studies.actions.deviations import (
    SETTLING,
    RecordDeviation,
    ReportProblem,
    exclude_changed_problem,
    withdraw_from_studies,
)
from tutoring.studies.actions.ending import CloseStudy, StopStudy, TakeLook, close, look, stop_offering
from tutoring.studies.actions.offering import OfferNext, StartAssigned

__all__ = [
    "SETTLING",
    "AmendStudy",
    "CloseStudy",
    "FreezeStudy",
    "OfferNext",
    "RecordDeviation",
    "ReportProblem",
    "SaveDesign",
    "StartAssigned",
    "StopStudy",
    "StudyRefusedError",
    "TakeLook",
    "close",
    "exclude_changed_problem",
    "lock_study",
    "look",
    "require_admin",
    "stop_offering",
    "withdraw_from_studies",
]
