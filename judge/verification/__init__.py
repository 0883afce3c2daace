"""Verification of problem packages: their labelled submissions are judged, and verdicts compared with labels."""

from judge.verification.calibration import Calibration, FactorRange, PackageCalibration, calibrate
from judge.verification.planning import PackageWork, Skipped, find_packages, plan
from judge.verification.verifying import DerivedLimit, Verification, VerifiedSubmission, verify

__all__ = [
    "Calibration",
    "DerivedLimit",
    "FactorRange",
    "PackageCalibration",
    "PackageWork",
    "Skipped",
    "Verification",
    "VerifiedSubmission",
    "calibrate",
    "find_packages",
    "plan",
    "verify",
]
