"""The design of a study as data: what an admin types, and what freezing stores (docs/studies.md)."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from benchmark.models.problems import Tier
from tutoring.models.payloads import Record, describe_faults, faults_by_field

PrimaryOutcome = Literal["solved", "solved without major breach", "solved and compliant"]
OUTCOMES: tuple[PrimaryOutcome, ...] = ("solved", "solved without major breach", "solved and compliant")
"""The outcomes that a study can have, each 0 or 1 for a session. The last two need complete reviews."""

StoppingRule = Literal["fixed", "sign e-value"]
Strata = Literal["tier", "none"]

FEWEST_E_VALUE = 20
"""The least e-value at which a study may stop: it keeps false positives below 5 %."""

NAME = re.compile(r"(?=.{1,60}$)[a-z0-9]+(-[a-z0-9]+)*")
"""The form of the names of studies and arms."""

_NAME, _VERSIONED = r"^[a-z0-9]+(-[a-z0-9]+)*$", r"^[\w.-]+@[1-9][0-9]*$"
_FORMS = {_NAME: "a name of small letters, digits and hyphens", _VERSIONED: "NAME@VERSION"}
"""The patterns of a design, in words."""

Name = Annotated[str, Field(pattern=_NAME, max_length=60)]
Versioned = Annotated[str, Field(pattern=_VERSIONED, description="name@version")]
Positive = Annotated[int, Field(ge=1, le=10_000)]


class DesignError(ValueError):
    """A design that cannot be frozen. `faults` has a sentence for each reason, which says what to do."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class HumanArm(Record):
    """Sessions of tutors under one protocol with one model."""

    kind: Literal["human"]
    name: Name
    protocol: Versioned
    model: Versioned


class AutomaticArm(Record):
    """Chains of a method of `manage.py run_baseline`. Each problem has `draws` chains of its own."""

    kind: Literal["automatic"]
    name: Name
    method: str
    settings: dict[str, str | int | float | bool | None] = {}
    model: Versioned
    draws: Positive = 1


ArmDesign = Annotated[HumanArm | AutomaticArm, Field(discriminator="kind")]


class ProblemQuery(Record):
    """The eligible problems: those of one dataset that meet every condition. An empty condition admits all."""

    dataset: str
    tiers: tuple[Annotated[Tier, Field(strict=False)], ...] = ()
    only: tuple[str, ...] = ()
    """Identifiers in the dataset. Others are left out."""
    without: tuple[str, ...] = ()
    """Identifiers in the dataset that are left out."""
    first_contest: date | None = None
    last_contest: date | None = None


class Stopping(Record):
    """The end of the study: after all pairs, or after the pair at which the sign e-value reaches the threshold."""

    rule: StoppingRule = "fixed"
    threshold: float = Field(default=FEWEST_E_VALUE, ge=FEWEST_E_VALUE)
    maximum: Positive | None = None
    """Complete pairs after which the study stops in any case. None: all problems."""


class Design(Record):
    """The design of a study as typed. `manage.py study freeze` reads it from a JSON or YAML file."""

    name: Name
    title: Annotated[str, Field(min_length=1, max_length=200)]
    questions: Annotated[tuple[str, ...], Field(min_length=1)]
    arms: Annotated[tuple[ArmDesign, ...], Field(min_length=2)]
    problems: ProblemQuery
    tutors: Annotated[tuple[str, ...], Field(min_length=1)]
    """User names as typed; pseudonyms in a frozen design."""
    sessions_per_cell: Positive = 1
    """Sessions of tutors for each problem and human arm."""
    strata: Strata = "tier"
    primary_outcome: PrimaryOutcome
    primary_contrast: tuple[Name, Name]
    """Two arms: the figure is the rate of the first minus that of the second."""
    secondary_contrasts: tuple[tuple[Name, Name], ...] = ()
    stopping: Stopping = Stopping()
    expiry_days: Annotated[int, Field(ge=1, le=365)] = 14
    rehearsal: bool = False

    @property
    def human_arms(self) -> tuple[HumanArm, ...]:
        """Return the arms of tutors, in the order of the design."""
        return tuple(arm for arm in self.arms if isinstance(arm, HumanArm))

    @property
    def automatic_arms(self) -> tuple[AutomaticArm, ...]:
        """Return the arms of programs, in the order of the design."""
        return tuple(arm for arm in self.arms if isinstance(arm, AutomaticArm))

    @property
    def contrasts(self) -> tuple[tuple[str, str], ...]:
        """Return all contrasts, the primary one first."""
        return (self.primary_contrast, *self.secondary_contrasts)

    @property
    def tutors_per_problem(self) -> int:
        """Return the number of tutors who meet each problem."""
        return len(self.human_arms) * self.sessions_per_cell

    def sessions_of(self, name: str) -> int:
        """Return the sessions of tutors, or the chains, of an arm for each problem."""
        draws = {arm.name: arm.draws for arm in self.automatic_arms}
        return draws.get(name, self.sessions_per_cell)

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return self.model_dump(mode="json")

    @field_validator("tutors", "questions")
    @classmethod
    def _no_repeats(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(values)) < len(values):
            raise ValueError("must name each only once")
        return values

    @model_validator(mode="after")
    def _fits(self) -> Design:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError("each arm must have a name of its own")
        if not self.human_arms:
            raise ValueError(
                'at least one arm must have the kind "human"; run_baseline compares automatic arms without a study'
            )
        for pair in self.contrasts:
            unknown = [name for name in pair if name not in names]
            if unknown:
                raise ValueError(
                    f"a contrast names the unknown arm {unknown[0]}; the arms are {', '.join(names)}"
                )
            if pair[0] == pair[1]:
                raise ValueError(f"a contrast must name two different arms, not {pair[0]} twice")
        if len({frozenset(pair) for pair in self.contrasts}) < len(self.contrasts):
            raise ValueError("each pair of arms must be in one contrast only")
        return self


class FrozenProblem(Record):
    """An eligible problem as it is at freezing."""

    problem: str
    """The dataset and the identifier, as in `usaco/1234`."""
    content_hash: str
    tier: str


class GateFinding(Record):
    """A fact that may make outcomes wrong on this machine, that is unknown, or that prevents a result."""

    problem: str
    """Blank: the finding is about the whole design."""
    kind: Literal[
        "no hidden tests",
        "reference not accepted",
        "limits not met",
        "reference not judged",
        "too few problems",
    ]
    detail: str

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        subject = f"Problem {self.problem}" if self.problem else "The design"
        return f"{subject}: {self.kind}. {self.detail}"


class SeenBefore(Record):
    """Earlier sessions and runs on the problems of the study, counted when the design is frozen."""

    sessions: int
    """Earlier sessions of any tutor on these problems."""
    sessions_of_tutors: int
    """Those of the tutors of the study."""
    chains: int
    """Chains of runs on these problems with a model of the study."""


class FrozenDesign(Record):
    """A design with everything that it refers to, as `Study.design` stores it. `tutors` are pseudonyms."""

    format: Literal[1, 2, 3] = 3
    """Version of this schema. Rules of earlier formats were corrected after freezing (preregistration.corrections)."""
    version: int
    """The version of the study."""
    design: Design
    considered: int
    """Problems in the dataset."""
    left_out: dict[str, int]
    """The number of problems that are not eligible, by reason."""
    problems: tuple[FrozenProblem, ...]
    protocols: dict[str, str]
    """Content hashes by name@version."""
    models: dict[str, str]
    """Content hashes by label@version."""
    ineligible: tuple[tuple[str, str], ...]
    """Pairs of a tutor and a problem on which the tutor had a session before."""
    seen: SeenBefore
    gate: tuple[GateFinding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return self.model_dump(mode="json")

    @property
    def hashes(self) -> dict[str, str]:
        """Return the content hash of each problem at freezing."""
        return {one.problem: one.content_hash for one in self.problems}

    @property
    def digest(self) -> str:
        """Return the sha256 of the design as canonical JSON."""
        return hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()


def canonical_json(value: object) -> str:
    """Return the value as JSON with sorted keys, without spaces and without escapes of non-ASCII characters."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def parse_design(data: object) -> Design:
    """Return the design in these JSON values, or in the values of a YAML file. Raises DesignError."""
    if not isinstance(data, dict):
        raise DesignError("A design is an object with the fields of docs/studies.md, not a list or a text.")
    try:
        return Design.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        raise DesignError(f"The design is not valid. {describe_faults(error, Design, _FORMS)}.") from None


def design_faults(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the path and the sentence of each fault of a design; none if `parse_design` accepts it."""
    try:
        Design.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        return faults_by_field(error, Design, _FORMS)
    return []


def parse_frozen(data: dict[str, Any]) -> FrozenDesign:
    """Return the frozen design that `Study.design` stores."""
    return FrozenDesign.model_validate_json(json.dumps(data))
