"""The programs that a model writes for a verifier, and what is said of a candidate."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VerifierPrograms:
    """The sources of a verifier, blank where there is none."""

    oracle: str = ""
    second_oracle: str = ""
    validator: str = ""
    generator: str = ""
    batch: str = ""
    tricky: str = ""
    written_tests: str = ""
