"""Resolution of a typed design: its rows in the database, and a sentence for everything that prevents freezing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from django.contrib.auth.models import User
from django.db.models import Q

from accounts.pseudonyms import pseudonym
from accounts.roles import Role, has_role
from benchmark.methods import METHODS, SettingsError, format_value, parse_settings
from benchmark.models import Dataset, LanguageModel, Problem, WorkItem
from benchmark.providers import ModelSpecError, is_scripted, parse_model_spec
from tutoring.actions import has_scripted_student
from tutoring.models import Protocol, Session
from tutoring.protocols import rules_of
from tutoring.studies.arm_plans import is_yoked_to, plan_fault, yoking_fault
from tutoring.studies.design import (
    AutomaticArm,
    Design,
    DesignError,
    FrozenDesign,
    FrozenProblem,
    HumanArm,
    SeenBefore,
)
from tutoring.studies.gate import design_findings, gate_findings

Row = TypeVar("Row", Protocol, LanguageModel)

_LONG_TEXTS = ("statement", "statement_html", "analysis_html", "samples_text", "analysis_english")


@dataclass(frozen=True)
class Resolution:
    """A frozen design with the rows that it names. The keys of `tutors` are pseudonyms."""

    frozen: FrozenDesign
    tutors: dict[str, User]
    problems: dict[str, Problem]
    protocols: dict[str, Protocol]
    models: dict[str, LanguageModel]


def resolve(design: Design, version: int = 1) -> Resolution:
    """Return the design with everything that it refers to. Raises DesignError with a sentence for each fault."""
    faults: list[str] = []
    protocols = _named_rows(Protocol, [arm.protocol for arm in design.human_arms], "protocol", faults)
    models = _named_rows(LanguageModel, [arm.model for arm in design.arms], "model", faults)
    tutors = _tutors(design, faults)
    considered, problems = _problems(design, faults)
    for arm in design.arms:
        model = models.get(arm.model)
        if isinstance(arm, AutomaticArm):
            faults += _automatic_faults(arm, model)
        else:
            faults += _human_faults(arm, model, protocols.get(arm.protocol), problems)
    if len(tutors) < design.tutors_per_problem:
        faults.append(
            f"Each problem needs {design.tutors_per_problem} tutors ({len(design.human_arms)} human arms × "
            f"{design.sessions_per_cell} sessions per cell), but the design names {len(tutors)} who can take part. "
            "Name more tutors, or use fewer arms or sessions per cell."
        )
    maximum = design.stopping.maximum
    if maximum is not None and maximum > len(problems):
        faults.append(
            f"The maximum of {maximum} pairs exceeds the {len(problems)} eligible problems. Lower it or leave it out."
        )
    if not faults:
        faults += _plan_faults(design, models, problems)
        faults += _yoking_faults(design, version, protocols, models)
    if faults:
        raise DesignError(*dict.fromkeys(faults))
    named = {pseudonym(person): person for person in tutors}
    frozen = FrozenDesign(
        version=version,
        design=design.model_copy(update={"tutors": tuple(sorted(named))}),
        considered=len(considered),
        left_out=dict(sorted(Counter(reason for _, reason in considered if reason).items())),
        problems=tuple(
            FrozenProblem(problem=str(one), content_hash=one.content_hash, tier=one.tier) for one in problems
        ),
        protocols={name: row.content_hash for name, row in sorted(protocols.items())},
        models={name: row.content_hash for name, row in sorted(models.items())},
        ineligible=_ineligible(tutors, problems),
        seen=_seen(tutors, problems, list(models.values())),
        gate=(*design_findings(design, len(problems)), *gate_findings(problems)),
    )
    return Resolution(frozen, named, {str(one): one for one in problems}, protocols, models)


def _named_rows(table: type[Row], names: Sequence[str], word: str, faults: list[str]) -> dict[str, Row]:
    """Return the rows by name@version; add a fault for each one that does not exist or is inactive."""
    label = "name" if table is Protocol else "label"
    found: dict[str, Row] = {}
    for name in dict.fromkeys(names):
        text, _, version = name.rpartition("@")
        row = table.objects.filter(**{label: text, "version": int(version)}).first()
        if row is None:
            known = [f"{one}@{number}" for one, number in table.objects.values_list(label, "version")]
            close = get_close_matches(name, known, n=3) or known[:5]
            hint = f"There are: {', '.join(close)}." if close else "There is none yet."
            faults.append(f"There is no {word} {name}. {hint}")
        elif isinstance(row, LanguageModel) and not row.active:
            faults.append(f"The model {name} is inactive. Activate it, or choose another model.")
        else:
            found[name] = row
    return found


def _tutors(design: Design, faults: list[str]) -> list[User]:
    """Return the named tutors, sorted by name; add a fault for each unknown name and each person who is not a tutor."""
    people = User.objects.in_bulk(list(design.tutors), field_name="username")
    found = []
    for name in design.tutors:
        person = people.get(name)
        if person is None:
            faults.append(f"There is no account {name}. Name tutors by their user names.")
        elif not has_role(person, Role.TUTOR):
            faults.append(f"{name} is not a tutor. Give the account the role, or leave it out.")
        else:
            found.append(person)
    return sorted(found, key=lambda person: person.username)


def _problems(design: Design, faults: list[str]) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return each problem of the dataset with the reason why it is left out ("" if eligible), and the eligible ones."""
    query = design.problems
    dataset = Dataset.objects.filter(name=query.dataset).first()
    if dataset is None:
        known = ", ".join(Dataset.objects.values_list("name", flat=True)) or "none yet"
        faults.append(f"There is no dataset {query.dataset}. Datasets: {known}.")
        return [], []
    rows = list(dataset.problems.select_related("dataset").prefetch_related("references").defer(*_LONG_TEXTS))
    rows.sort(key=lambda one: one.external_id)
    unknown = sorted({*query.only, *query.without} - {one.external_id for one in rows})
    if unknown:
        faults.append(f"{query.dataset} has no problem {', '.join(unknown)}.")
    considered = [(one.external_id, _reason_left_out(design, one)) for one in rows]
    eligible = [one for one, (_, reason) in zip(rows, considered, strict=True) if not reason]
    if not eligible and not unknown:
        faults.append(f"No problem of {query.dataset} meets the conditions. Widen the query.")
    return considered, eligible


def _reason_left_out(design: Design, problem: Problem) -> str:
    query = design.problems
    if query.only and problem.external_id not in query.only:
        return "not listed"
    if problem.external_id in query.without:
        return "listed as left out"
    if query.tiers and problem.tier not in query.tiers:
        return "another tier"
    first, last, day = query.first_contest, query.last_contest, problem.contest_date
    if first is None and last is None:
        return ""
    if day is None:
        return "unknown contest date"
    outside = (first is not None and day < first) or (last is not None and day > last)
    return "contest outside the dates" if outside else ""


def _automatic_faults(arm: AutomaticArm, model: LanguageModel | None) -> Iterator[str]:
    method = METHODS.get(arm.method)
    if method is None:
        close = get_close_matches(arm.method, METHODS, n=3, cutoff=0.4)
        hint = f" Perhaps {' or '.join(close)}." if close else ""
        yield f"Arm {arm.name} names the unknown method {arm.method}.{hint} `manage.py methods` lists them."
        return
    try:
        parse_settings(
            method.settings, [f"{name}={format_value(value)}" for name, value in arm.settings.items()]
        )
    except SettingsError as error:
        yield f"Arm {arm.name}: {error}"
    if model is not None:
        yield from _spec_faults(arm.name, model)


def _plan_faults(
    design: Design, models: Mapping[str, LanguageModel], problems: Sequence[Problem]
) -> Iterator[str]:
    ids = [problem.external_id for problem in problems]
    for arm in design.automatic_arms:
        if fault := plan_fault(arm, models[arm.model], problems[0].dataset, ids):
            yield fault


def _yoking_faults(
    design: Design, version: int, protocols: Mapping[str, Protocol], models: Mapping[str, LanguageModel]
) -> Iterator[str]:
    sessions = [(protocols[arm.protocol], models[arm.model]) for arm in design.human_arms]
    for arm in design.automatic_arms:
        yoked = is_yoked_to(arm.settings, design.name, version)
        if yoked and (fault := yoking_fault(arm, models[arm.model], sessions, design.sessions_per_cell)):
            yield fault


def _human_faults(
    arm: HumanArm, model: LanguageModel | None, protocol: Protocol | None, problems: Sequence[Problem]
) -> Iterator[str]:
    if model is None or protocol is None:
        return
    if functional := [str(one) for one in problems if not rules_of(protocol).suits(one)]:
        yield (
            f"Arm {arm.name}: programs for {_shortened(functional)} define a method in Python, and protocol {protocol} "
            "is for another language. Leave these problems out, or choose another protocol."
        )
    yield from (faults := list(_spec_faults(arm.name, model)))
    if faults or not is_scripted(parse_model_spec(model.spec)):
        return
    if rules_of(protocol).language != "python" or not all(has_scripted_student(one) for one in problems):
        yield (
            f"Arm {arm.name} has a scripted model, which writes Python and replies on practice problems only. Choose "
            "the practice problems and a Python protocol, or a real model."
        )


def _shortened(names: Sequence[str]) -> str:
    """Return the first three names and the number of the others."""
    shown, others = ", ".join(names[:3]), len(names) - 3
    return f"{shown} and {others} more" if others > 0 else shown


def _spec_faults(arm: str, model: LanguageModel) -> Iterator[str]:
    try:
        parse_model_spec(model.spec)
    except ModelSpecError as error:
        yield f"Arm {arm}: the model {model} cannot be called. {error}"


def _ineligible(tutors: Sequence[User], problems: Sequence[Problem]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a pseudonym and a problem on which the tutor had a session, sorted."""
    names = {person.pk: pseudonym(person) for person in tutors}
    problem_names = {one.pk: str(one) for one in problems}
    pairs = (
        Session.objects.filter(tutor__in=names, problem__in=problem_names)
        .order_by()
        .values_list("tutor", "problem")
        .distinct()
    )
    return tuple(
        sorted((names[tutor], problem_names[problem]) for tutor, problem in pairs if tutor and problem)
    )


def _seen(tutors: Sequence[User], problems: Sequence[Problem], models: Sequence[LanguageModel]) -> SeenBefore:
    keys = [one.pk for one in problems]
    sessions = Session.objects.filter(problem__in=keys).exclude(origin=Session.Origin.AUTOMATIC)
    models_of_study = Q(run__model__in=models) | Q(run__model_spec__in={one.spec for one in models})
    return SeenBefore(
        sessions=sessions.count(),
        sessions_of_tutors=sessions.filter(tutor__in=tutors).count(),
        chains=WorkItem.objects.filter(models_of_study, problem__in=keys).count(),
    )
