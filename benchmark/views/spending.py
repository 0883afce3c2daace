"""Spending: the caps with what was spent, today's spending by model, study and purpose, and the forms of caps."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.roles import Role, has_role, requires_role
from benchmark.model_calls import caps
from benchmark.model_calls.caps import CapError
from benchmark.model_calls.ledger import today
from benchmark.models import DailySpend, LanguageModel, SpendingCap
from benchmark.views.access import concealed_study_keys


class CapForm(forms.Form):
    """The fields of a spending cap."""

    scope = forms.ChoiceField(label="Applies to", choices=SpendingCap.Scope.choices)
    key = forms.CharField(
        label="Model or study",
        required=False,
        max_length=200,
        help_text="PROVIDER:MODEL or the label of a model, or NAME@VERSION of a study. Blank for the site.",
        widget=forms.TextInput(attrs={"list": "spenders", "autocomplete": "off", "spellcheck": "false"}),
    )
    period = forms.ChoiceField(choices=SpendingCap.Period.choices, help_text="A day begins at 00:00 UTC.")
    dollars = forms.FloatField(
        label="US dollars",
        min_value=0,
        max_value=caps.LARGEST,
        help_text="0 refuses every call that is not free.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )

    def clean(self) -> dict[str, Any]:
        """Replace the key with the form that the ledger uses. Report an invalid key at its field."""
        values = super().clean() or self.cleaned_data
        if "scope" in values and "key" in values:
            try:
                values["key"] = caps.checked_key(values["scope"], values["key"])
            except CapError as error:
                self.add_error("key", str(error))
        return values


@require_safe
@requires_role(Role.RESEARCHER)
def spending(request: HttpRequest) -> HttpResponse:
    """Show the caps, today's spending, and models in use whose price is unknown.

    A tutor of an unfinished study sees neither its rows nor what counts in the caps of models, which would name the
    models of its arms.
    """
    concealed = concealed_study_keys(request.user)
    rows = DailySpend.objects.filter(day=today()).exclude(study_key__in=concealed)
    return render(
        request,
        "benchmark/spending/spending.html",
        {
            "caps": caps.states(),
            "today": today(),
            "rows": rows.order_by("-microdollars", "model_spec", "purpose"),
            "concealed": sorted(concealed),
            "without_price": caps.models_without_price(),
            "may_edit": has_role(request.user, Role.ADMIN),
        },
    )


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def add_cap(request: HttpRequest) -> HttpResponse:
    """Show the form of a new cap, or store the cap."""
    return _cap_form(request, SpendingCap())


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def edit_cap(request: HttpRequest, cap_id: int) -> HttpResponse:
    """Show the form of a cap, or store its values."""
    return _cap_form(request, get_object_or_404(SpendingCap, pk=cap_id))


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def remove_cap(request: HttpRequest, cap_id: int) -> HttpResponse:
    """Show the request to confirm the removal of a cap, or remove the cap."""
    cap = get_object_or_404(SpendingCap, pk=cap_id)
    if request.method == "POST":
        cap.delete()
        messages.success(request, f"The cap of {cap} is removed.")
        return redirect("spending")
    return render(request, "benchmark/spending/remove.html", {"cap": cap})


def _cap_form(request: HttpRequest, cap: SpendingCap) -> HttpResponse:
    names = ("scope", "key", "period", "dollars")
    form = CapForm(
        request.POST or None, initial={name: getattr(cap, name) for name in names} if cap.pk else None
    )
    if request.method == "POST" and form.is_valid():
        try:
            caps.store(cap, **form.cleaned_data)
        except CapError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"The cap of {cap} is {cap.dollars:,.2f} US dollars.")
            return redirect("spending")
    specs = LanguageModel.objects.filter(active=True).order_by("spec").values_list("spec", flat=True)
    studies = (
        DailySpend.objects.exclude(study_key="").order_by("study_key").values_list("study_key", flat=True)
    )
    context = {"form": form, "cap": cap, "spenders": [*specs.distinct(), *studies.distinct()]}
    return render(request, "benchmark/spending/form.html", context, status=422 if form.errors else 200)
