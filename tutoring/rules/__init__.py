"""The rules for tutors' messages: the codebook as data, and detectors that compare messages with it."""

from tutoring.rules.detection import Detection, MessageContext, TutorMaySay, severity
from tutoring.rules.rule_set import (
    Clause,
    RuleSet,
    SpecificityLevel,
    Term,
    UnknownRuleSetError,
    current_rule_set,
    rule_set,
    rule_set_versions,
)

__all__ = [
    "Clause",
    "Detection",
    "MessageContext",
    "RuleSet",
    "SpecificityLevel",
    "Term",
    "TutorMaySay",
    "UnknownRuleSetError",
    "current_rule_set",
    "rule_set",
    "rule_set_versions",
    "severity",
]
