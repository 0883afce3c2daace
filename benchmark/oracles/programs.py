"""The programs that a model writes for a verifier."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VerifierPrograms:
    """The sources of a verifier, empty if missing."""

    oracle: str = ""
    second_oracle: str = ""
    validator: str = ""
    generator: str = ""
    batch: str = ""
    tricky: str = ""
    written_tests: str = ""
