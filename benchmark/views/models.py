"""Models: the list, one model with its test, and the forms that add, change and test models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import PROTECT, Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.roles import Person, Role, has_role, requires_role
from benchmark.model_calls import catalogue
from benchmark.model_calls.budget import Price
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.model_tests import QUESTION, latest_test, missed, request_test
from benchmark.models import LanguageModel, ModelTest
from benchmark.providers import ModelSpecError, is_scripted, parse_model_spec
from benchmark.reports.cutoffs import cutoff_of
from benchmark.views.access import concealed_study_keys
from benchmark.views.model_form import LanguageModelForm

PAGE_LENGTH = 50


_LABELS = {"max_output_tokens": "longest reply in tokens"}


@dataclass(frozen=True)
class ModelFacts:
    """A row with what pages show beside it."""

    row: LanguageModel
    price: Price | None
    cutoff: date | None
    uses: Sequence[tuple[str, int]] | None
    """The kinds of records that name the row, in words, with their numbers; None: hidden from a tutor of a study."""
    scripted: bool

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """The parameters that are sent, named as in the form, and the further request fields one by one."""
        sent = dict(self.row.parameters)
        extra = sent.pop("extra", None) or {}
        return [*((_LABELS.get(name, name), value) for name, value in sent.items()), *extra.items()]

    @property
    def cutoff_is_listed(self) -> bool:
        """Whether the cutoff is that of the list in reports/cutoffs.toml."""
        return self.row.cutoff is None and self.cutoff is not None


@require_safe
@requires_role(Role.RESEARCHER)
def models(request: HttpRequest) -> HttpResponse:
    """Show all models by label, the newest version first."""
    page = Paginator(LanguageModel.objects.all(), PAGE_LENGTH).get_page(request.GET.get("page"))
    for_all = (
        LanguageModel.objects.filter(active=True, for_sessions=True, tutors=None).order_by("-pk").first()
    )
    return render(
        request,
        "benchmark/models/models.html",
        {
            "page": page,
            "models": _facts(list(page.object_list), request.user),
            "for_all": for_all,
            "default": settings.TUTORING_MODEL,
            "may_edit": has_role(request.user, Role.ADMIN),
        },
    )


@require_safe
@requires_role(Role.RESEARCHER)
def model(request: HttpRequest, model_id: int) -> HttpResponse:
    """Show one model with its latest test."""
    found = get_object_or_404(LanguageModel, pk=model_id)
    return render(
        request,
        "benchmark/models/model.html",
        {
            "model": found,
            "facts": _facts([found], request.user)[0],
            "versions": LanguageModel.objects.filter(label=found.label),
            "tutors": found.tutors.order_by("username"),
            "may_edit": has_role(request.user, Role.ADMIN),
            **_test_context(found),
        },
    )


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def add_model(request: HttpRequest) -> HttpResponse:
    """Show the form of a new model, or store the model."""
    form = LanguageModelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                row = catalogue.add(LanguageModel(**form.columns))
                row.tutors.set(form.cleaned_data["tutors"])
        except CatalogueError as error:
            form.add_error("label", str(error))
        else:
            messages.success(request, f"{row} is added.")
            return redirect("model", row.pk)
    return _form_page(request, form, "Add a model")


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def new_version(request: HttpRequest, model_id: int) -> HttpResponse:
    """Show the form of a new version with the values of this one, or store the version. This one stays as it is."""
    former = get_object_or_404(LanguageModel, pk=model_id)
    form = LanguageModelForm(request.POST or None, row=former, fixed=True)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            row = catalogue.new_version(former, **form.columns)
            row.tutors.set(form.cleaned_data["tutors"])
        messages.success(request, f"{row} is added. {former} stays as it is.")
        return redirect("model", row.pk)
    return _form_page(request, form, f"New version of {former}", former)


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def edit_model(request: HttpRequest, model_id: int) -> HttpResponse:
    """Show the form of a model, or store its values. The content of a used model stays as it is."""
    with transaction.atomic():
        row = get_object_or_404(LanguageModel.objects.select_for_update(), pk=model_id)
        form = LanguageModelForm(request.POST or None, row=row, fixed=True, frozen=row.frozen_at is not None)
        if request.method == "POST" and form.is_valid():
            for name, value in form.columns.items():
                setattr(row, name, value)
            row.save()
            row.tutors.set(form.cleaned_data["tutors"])
            messages.success(request, f"{row} is saved.")
            return redirect("model", row.pk)
    return _form_page(request, form, f"Edit {row}", row)


@require_POST
@requires_role(Role.ADMIN)
def test_model(request: HttpRequest, model_id: int) -> HttpResponse:
    """Request a test of the model, which a streamer carries out, and show the model."""
    found = get_object_or_404(LanguageModel, pk=model_id)
    assert isinstance(request.user, User)
    request_test(found, request.user)
    return redirect(f"{found.get_absolute_url()}#model-test")


@require_safe
@requires_role(Role.RESEARCHER)
def model_test(request: HttpRequest, model_id: int) -> HttpResponse:
    """Show the part of the page that is polled while a test runs."""
    found = get_object_or_404(LanguageModel, pk=model_id)
    return render(request, "benchmark/models/_test.html", {"model": found, **_test_context(found)})


def _form_page(
    request: HttpRequest, form: LanguageModelForm, heading: str, row: LanguageModel | None = None
) -> HttpResponse:
    context = {"form": form, "heading": heading, "model": row}
    return render(request, "benchmark/models/form.html", context, status=422 if form.errors else 200)


def _test_context(row: LanguageModel) -> dict[str, Any]:
    """Return the latest test and its state in one word."""
    test = latest_test(row)
    return {"test": test, "progress": _progress(test, timezone.now()) if test else "", "question": QUESTION}


def _progress(test: ModelTest, now: datetime) -> str:
    """Return the state of a test; "missed" if no streamer took it, "lost" if the streamer that did ended."""
    if missed(test, now):
        return "missed"
    running = test.state == ModelTest.State.RUNNING
    return "lost" if running and test.lease_until is not None and test.lease_until < now else test.state


def _facts(rows: Sequence[LanguageModel], person: Person) -> list[ModelFacts]:
    """Return the rows with what pages show beside them to this person."""
    uses = {} if concealed_study_keys(person) else _uses(rows)
    facts = []
    for row in rows:
        price = catalogue.known_price(row)
        cutoff = row.cutoff or cutoff_of(row.spec.partition(":")[2])
        facts.append(ModelFacts(row, price, cutoff, uses.get(row.pk), _is_scripted(row)))
    return facts


def _is_scripted(row: LanguageModel) -> bool:
    try:
        return is_scripted(parse_model_spec(row.spec))
    except ModelSpecError:
        return False


def _uses(rows: Sequence[LanguageModel]) -> dict[int, list[tuple[str, int]]]:
    """Return the kinds of records that protect each row from deletion, with their numbers."""
    found: dict[int, list[tuple[str, int]]] = {row.pk: [] for row in rows}
    for relation in LanguageModel._meta.related_objects:
        if relation.on_delete is not PROTECT:
            continue
        column = relation.field.name
        users = relation.related_model._default_manager.filter(**{f"{column}__in": rows})
        counts = users.order_by().values_list(column).annotate(Count("pk"))
        for pk, count in counts:
            names = relation.related_model._meta
            word = names.verbose_name if count == 1 else names.verbose_name_plural
            found[pk].append((str(word), count))
    return found
