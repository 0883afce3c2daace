"""Verification of problem packages: their labelled submissions are judged, and verdicts compared with labels."""

from judge.verification.planning import PackageWork, Skipped, find_packages, plan
from judge.verification.verifying import VerifiedSubmission, verify

__all__ = ["PackageWork", "Skipped", "VerifiedSubmission", "find_packages", "plan", "verify"]
