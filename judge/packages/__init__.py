"""Problem packages in the ICPC formats: their limits, tests, checkers and labelled submissions, read as data."""

from judge.packages.files import (
    PackageError,
    files_below,
    quoted,
    read_mapping,
    refuse_links_outside,
    repeated_keys,
    shown,
)
from judge.packages.labelled_submissions import LabelledSubmission
from judge.packages.package import Package, read_package

__all__ = [
    "LabelledSubmission",
    "Package",
    "PackageError",
    "files_below",
    "quoted",
    "read_mapping",
    "read_package",
    "refuse_links_outside",
    "repeated_keys",
    "shown",
]
