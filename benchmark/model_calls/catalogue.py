"""The catalogue of models: finding, creating, checking and freezing rows of LanguageModel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from benchmark.model_calls.budget import Price
from benchmark.model_calls.pricing import price_for
from benchmark.models import LanguageModel
from benchmark.providers import (
    ModelSpec,
    ModelSpecError,
    Parameters,
    ProviderError,
    check_parameters,
    find_endpoint,
    parse_model_spec,
)
from benchmark.text.numbers import whole_number

LONGEST_LABEL = 80
_TYPED_PRICES = ("input", "output", "cached_input")
_RETRIES = 5
"""Attempts to store a version whose number another process takes at the same time."""


class CatalogueError(Exception):
    """A model that does not exist, may not be used, or has invalid fields. The message says what to do."""


def find(text: str) -> LanguageModel:
    """Return the row of a LABEL or a LABEL@VERSION. Raises CatalogueError.

    Without a version it is the newest version that an admin made, active ones before inactive ones. If commands made
    all versions, it is the newest of those.
    """
    label, at, version = text.strip().partition("@")
    rows = LanguageModel.objects.filter(label=label)
    if at:
        found = rows.filter(version=whole_number(version) or 0).first()
    else:
        found = rows.order_by("automatic", "-active", "-version").first()
    if found is not None:
        return found
    if versions := sorted(rows.values_list("version", flat=True)):
        raise CatalogueError(f"The model {label!r} has the versions {', '.join(map(str, versions))}.")
    labels = LanguageModel.objects.order_by("label").values_list("label", flat=True).distinct()
    known = ", ".join(labels[:20]) or "none yet"
    raise CatalogueError(
        f"{text!r} is not a model: write PROVIDER:MODEL, for instance openai:gpt-4o, or the label of a model "
        f"(manage.py models). Labels: {known}."
    )


def choose(text: str) -> tuple[ModelSpec, LanguageModel | None]:
    """Return the model of a `provider:model` text, or of a LABEL or LABEL@VERSION together with its row.

    Raises ModelSpecError for an invalid model, and CatalogueError for an unknown or inactive row.
    """
    if ":" in text:
        return parse_model_spec(text), None
    row = find(text)
    refuse_inactive(row)
    return parse_model_spec(row.spec), row


def named(text: str) -> LanguageModel:
    """Return the row of a label, or that of a `provider:model` text with the provider's default sampling.

    Raises ModelSpecError and CatalogueError.
    """
    spec, row = choose(text)
    return row or model_for(spec, Parameters())


def named_unsaved(text: str) -> LanguageModel:
    """Return the row of a label, or an unsaved row for a `provider:model` text.

    Raises ModelSpecError and CatalogueError.
    """
    spec, row = choose(text)
    return row or LanguageModel(spec=str(spec), parameters={})


def refuse_inactive(row: LanguageModel) -> None:
    """Raise CatalogueError for a row that new sessions, runs and studies may not use."""
    if not row.active:
        raise CatalogueError(
            f"The model {row} ({row.spec}) is inactive. An admin can activate it: "
            f"manage.py models activate {row.label}@{row.version}"
        )


def matching(spec: ModelSpec, parameters: Parameters) -> LanguageModel | None:
    """Return the newest row with this model and these parameters, active ones before inactive ones, or None."""
    return _matching(LanguageModel.objects.filter(spec=str(spec)), parameters)


def _matching(rows: QuerySet[LanguageModel], parameters: Parameters) -> LanguageModel | None:
    wanted = parameters.to_json()
    ordered = rows.order_by("-active", "-pk")
    # The database compares JSON by its text, in which the order of the keys counts.
    keys = (pk for pk, stored in ordered.values_list("pk", "parameters").iterator() if stored == wanted)
    found = next(keys, None)
    return None if found is None else rows.filter(pk=found).first()


def model_for(spec: ModelSpec, parameters: Parameters) -> LanguageModel:
    """Return the newest row with this model and these parameters, frozen; make it if there is none.

    Its changes belong to the caller's transaction. Raises CatalogueError if the rows that match are inactive.
    """
    row = matching(spec, parameters)
    if row is None:
        row = _store(
            LanguageModel(
                label=_free_label(spec), spec=str(spec), parameters=parameters.to_json(), automatic=True
            )
        )
    refuse_inactive(row)
    return freeze(row)


def variant_of(row: LanguageModel, parameters: Parameters) -> LanguageModel:
    """Return the row itself if it has these parameters, else the version of its label that has them, frozen.

    Such a version has the row's model, context, price and cutoff; it is made if there is none. Raises CatalogueError
    for an inactive row.
    """
    refuse_inactive(row)
    if row.parameters == parameters.to_json():
        return freeze(row)
    same = LanguageModel.objects.filter(
        label=row.label, spec=row.spec, context_tokens=row.context_tokens, active=True
    )
    found = _matching(same, parameters)
    if found is None:
        found = _store(_copy(row, parameters=parameters.to_json(), for_sessions=False, automatic=True))
    return freeze(found)


def frozen_row(row: LanguageModel | None, spec: ModelSpec, parameters: Parameters) -> LanguageModel:
    """Return the frozen row with these parameters: a version of `row`, or without one a row of the model `spec`.

    It is made if there is none. Raises CatalogueError for inactive rows.
    """
    return variant_of(row, parameters) if row else model_for(spec, parameters)


def freeze(row: LanguageModel) -> LanguageModel:
    """Return the row as it is stored, with the time of its first use, after which its content cannot change."""
    if row.frozen_at is None:
        LanguageModel.objects.filter(pk=row.pk, frozen_at=None).update(frozen_at=timezone.now())
        row.refresh_from_db()
    return row


def add(row: LanguageModel) -> LanguageModel:
    """Store a new model as version 1 of its label. Raises CatalogueError for invalid fields and for a used label."""
    check(row)
    row.version = 1
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise CatalogueError(
            f"There is a model {row.label!r} already. Make a new version of it, or choose another label."
        ) from None
    return row


def new_version(row: LanguageModel, **changes: Any) -> LanguageModel:
    """Store a copy of the row with these changes as the newest version of its label; the row itself stays as it is.

    The copy has the row's tutors. Raises CatalogueError for invalid fields.
    """
    copy = _copy(row, **{"active": True, "automatic": False, **changes})
    check(copy)
    with transaction.atomic():
        copy = _store(copy)
        copy.tutors.set(row.tutors.all())
    return copy


def _copy(row: LanguageModel, **changes: Any) -> LanguageModel:
    columns = ("label", "spec", "parameters", "context_tokens", "price", "cutoff", "for_sessions")
    return LanguageModel(**({name: getattr(row, name) for name in columns} | changes))


def _store(row: LanguageModel) -> LanguageModel:
    """Store the row as the newest version of its label."""
    for attempt in range(_RETRIES):
        newest = LanguageModel.objects.filter(label=row.label).aggregate(Max("version"))["version__max"]
        row.version = (newest or 0) + 1
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            if attempt == _RETRIES - 1:
                raise
        else:
            break
    return row


def _free_label(spec: ModelSpec) -> str:
    """Return the name of the model as a label; with its provider if another model has that label."""

    def safe(text: str) -> str:
        return re.sub(r"[^\w.-]+", "-", text).strip("-")[:LONGEST_LABEL] or "model"

    for label in (safe(spec.model), safe(str(spec))):
        if not LanguageModel.objects.filter(label=label).exclude(spec=str(spec)).exists():
            return label
    number = 2
    while LanguageModel.objects.filter(label=f"{label[:70]}-{number}").exclude(spec=str(spec)).exists():
        number += 1
    return f"{label[:70]}-{number}"


def price_of(row: LanguageModel, *, batch: bool = False) -> Price | None:
    """Return the row's price: the typed one, else the listed one; None: unknown.

    Raises ProviderError (kind "configuration") for batches of a provider without them.
    """
    return price_for(parse_model_spec(row.spec), typed_price(row), batch=batch)


def known_price(row: LanguageModel) -> Price | None:
    """Return the row's price; None: unknown, also if its endpoint or provider was removed."""
    try:
        return price_of(row)
    except (ModelSpecError, ProviderError):
        return None


def typed_price(row: LanguageModel) -> Price | None:
    """Return the price that an admin typed, or None."""
    return Price(**row.price) if row.price else None


def session_choice(user: User) -> LanguageModel | None:
    """Return the newest active row for sessions that this tutor may use; None: TUTORING_MODEL applies."""
    rows = LanguageModel.objects.filter(active=True, for_sessions=True)
    return rows.filter(Q(tutors=None) | Q(tutors=user)).order_by("-pk").first()


def session_spec(user: User) -> ModelSpec:
    """Return the model of this tutor's next session outside studies. Raises ModelSpecError."""
    row = session_choice(user)
    return parse_model_spec(settings.TUTORING_MODEL if row is None else row.spec)


def session_model(user: User) -> LanguageModel:
    """Return the row of this tutor's next session outside studies, made from TUTORING_MODEL if no row is chosen.

    Raises CatalogueError if the only row is inactive, and ModelSpecError for an invalid TUTORING_MODEL.
    """
    row = session_choice(user)
    return model_for(parse_model_spec(settings.TUTORING_MODEL), Parameters()) if row is None else row


def check(row: LanguageModel) -> None:
    """Raise CatalogueError, with one sentence for each fault, unless the fields of the row are valid."""
    faults = []
    if not re.fullmatch(r"[\w.-]+", row.label) or len(row.label) > LONGEST_LABEL:
        faults.append(
            f"The label has letters, digits, dots, hyphens and underscores, at most {LONGEST_LABEL}."
        )
    invalid = _parameter_faults(row)
    try:
        spec = parse_model_spec(row.spec)
        if spec.endpoint:
            find_endpoint(spec.endpoint)
        if not invalid:
            check_parameters(spec.provider, Parameters.from_json(row.parameters))
    except (ProviderError, ValueError) as error:
        faults.append(str(error))
    faults += invalid
    if row.price is not None:
        faults += _price_faults(row.price)
    if row.context_tokens is not None and not _is_count(row.context_tokens):
        faults.append("The context length must be a whole number of tokens from 1.")
    if faults:
        raise CatalogueError("\n".join(faults))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _parameter_faults(row: LanguageModel) -> list[str]:
    """Return a sentence for each invalid parameter."""
    values: Mapping[str, Any] = row.parameters
    unknown = sorted(values.keys() - {field.name for field in fields(Parameters)})
    faults = [f"Not a sampling parameter: {', '.join(unknown)}."] if unknown else []
    for name, top in (("temperature", 2), ("top_p", 1)):
        if (value := values.get(name)) is not None and not (_is_number(value) and 0 <= value <= top):
            faults.append(f"{name} must be a number from 0 to {top}.")
    longest = values.get("max_output_tokens")
    if longest is not None and not _is_count(longest):
        faults.append("max_output_tokens must be a whole number from 1.")
    elif longest is not None and _is_count(row.context_tokens) and longest >= row.context_tokens:
        faults.append(
            "max_output_tokens leaves no room for a prompt: it must be less than the context length."
        )
    if (seed := values.get("seed")) is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        faults.append("seed must be a whole number.")
    return faults


def _price_faults(price: Mapping[str, Any]) -> list[str]:
    """Return a sentence about an invalid price, or none."""
    if set(price) - set(_TYPED_PRICES) or not {"input", "output"} <= set(price):
        return ["A price has input and output, and cached_input if that differs."]
    numbers = [value for value in price.values() if value is not None]
    if not all(_is_number(value) and 0 <= value < float("inf") for value in numbers) or len(numbers) < 2:
        return ["A price must be a number of US dollars for a million tokens, 0 or more."]
    return []
