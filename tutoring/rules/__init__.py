"""What tutors may say: the codebook as data, and detectors that compare messages with it."""

from tutoring.rules.rule_set import (
    Clause,
    Level,
    RuleSet,
    Term,
    UnknownRuleSet,
    current_rule_set,
    rule_set,
    rule_set_versions,
)

__all__ = [
    "Clause",
    "Level",
    "RuleSet",
    "Term",
    "UnknownRuleSet",
    "current_rule_set",
    "rule_set",
    "rule_set_versions",
]
