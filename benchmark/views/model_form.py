"""The form of a model: its fields, and the row that they describe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.conf import settings
from django.contrib.auth.models import User

from accounts.roles import Role
from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.models import LanguageModel
from benchmark.providers import EFFORTS
from benchmark.providers.registry import PROVIDERS
from benchmark.text.numbers import whole_number

_CONTENT: Final = (
    "server", "name", "temperature", "top_p", "max_output_tokens", "seed", "reasoning", "extra", "context_tokens",
)  # fmt: skip
"""The fields that replies depend on. They cannot change after the first use."""

SECTIONS = (
    ("Model", ("label", "server", "name")),
    ("Parameters", ("temperature", "top_p", "max_output_tokens", "seed", "reasoning", "extra")),
    ("Facts", ("context_tokens", "input_price", "output_price", "cached_price", "cutoff")),
    ("Use", ("active", "for_sessions", "tutors")),
)
"""The headings of the form with the names of their fields."""

NUMBERS = ("temperature", "top_p", "max_output_tokens", "seed")


if TYPE_CHECKING:
    UsersField = forms.ModelMultipleChoiceField[User]
else:
    UsersField = forms.ModelMultipleChoiceField


class TutorsField(UsersField):
    """A choice of tutors by their names."""

    def label_from_instance(self, obj: User) -> str:
        """Return the name of the tutor."""
        return obj.get_full_name() or obj.get_username()


class LanguageModelForm(forms.Form):
    """The fields of a model. Blank parameters are not sent."""

    label = forms.CharField(
        max_length=catalogue.LONGEST_LABEL,
        help_text="Name for researchers. Tutors never see it. Letters, digits, dots, hyphens and underscores.",
    )
    server = forms.ChoiceField(
        label="Provider",
        help_text="A provider, or a server that the operator has named (MODEL_ENDPOINT_NAME_URL).",
    )
    name = forms.CharField(
        label="Model", max_length=150, help_text="Name of the model at the provider, for example gpt-4o."
    )
    temperature = forms.FloatField(required=False, min_value=0, max_value=2)
    top_p = forms.FloatField(label="top_p", required=False, min_value=0, max_value=1)
    max_output_tokens = forms.IntegerField(label="Longest reply in tokens", required=False, min_value=1)
    seed = forms.IntegerField(required=False)
    reasoning = forms.CharField(
        required=False, max_length=20, help_text=f"An effort ({', '.join(EFFORTS)}) or a number of tokens."
    )
    extra = forms.CharField(
        label="Extra request fields",
        required=False,
        max_length=10_000,
        help_text='A JSON object, for example {"service_tier": "flex"}.',
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )
    context_tokens = forms.IntegerField(
        label="Context length in tokens", required=False, min_value=1, help_text="Prompt and reply together."
    )
    input_price = forms.FloatField(
        label="Input price",
        required=False,
        min_value=0,
        help_text="US dollars for a million tokens. Blank: the listed price.",
    )
    output_price = forms.FloatField(label="Output price", required=False, min_value=0)
    cached_price = forms.FloatField(
        label="Price of cached input", required=False, min_value=0, help_text="Blank: as other input."
    )
    cutoff = forms.DateField(
        label="End of the training data",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    active = forms.BooleanField(required=False, help_text="New sessions, runs and studies may use it.")
    for_sessions = forms.BooleanField(
        label="For sessions",
        required=False,
        help_text="Sessions outside studies use the newest active model with this mark.",
    )
    tutors = TutorsField(
        User.objects.none(),
        required=False,
        help_text="Only these tutors' sessions use it. None selected: those of all tutors.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(
        self, data: Any = None, *, row: LanguageModel | None = None, fixed: bool = False, frozen: bool = False
    ) -> None:
        """With `fixed`, the label cannot change; with `frozen`, the content cannot either."""
        super().__init__(data, initial=_initial(row))
        self.frozen = frozen
        self._choice("server").choices = _servers(row)
        tutors = User.objects.filter(groups__name=Role.TUTOR, is_active=True).order_by("username")
        self._tutors().queryset = tutors
        for name in (("label",) if fixed else ()) + (_CONTENT if frozen else ()):
            self.fields[name].disabled = True

    def _choice(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field

    def _tutors(self) -> TutorsField:
        field = self.fields["tutors"]
        assert isinstance(field, TutorsField)
        return field

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The headings with their fields. The tutors are left out if there is none."""
        return [
            (heading, [self[name] for name in names if name != "tutors" or self._tutors().queryset])
            for heading, names in SECTIONS
        ]

    def clean_extra(self) -> dict[str, Any] | None:
        """Return the extra request fields. Raises ValidationError for a text that is not JSON."""
        text = self.cleaned_data["extra"].strip()
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from None

    def clean_reasoning(self) -> str | int | None:
        """Return the effort as text or the budget as a number."""
        text = self.cleaned_data["reasoning"].strip()
        budget = whole_number(text)
        return text or None if budget is None else budget

    def clean(self) -> dict[str, Any]:
        """Check the row as a whole. Its faults are shown above the fields."""
        values = super().clean() or self.cleaned_data
        if not self.errors:
            if values["input_price"] is None and values["output_price"] is None:
                if values["cached_price"] is not None:
                    self.add_error("cached_price", "Give the input and the output price too.")
            elif None in (values["input_price"], values["output_price"]):
                self.add_error("output_price", "Give both the input and the output price, or neither.")
        if not self.errors and not self.frozen:
            try:
                catalogue.check(LanguageModel(**self.columns))
            except CatalogueError as error:
                for sentence in str(error).splitlines():
                    self.add_error(None, sentence)
        return values

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the row that the form may change, without its tutors."""
        values = self.cleaned_data
        names = (*NUMBERS, "reasoning", "extra")
        prices = {"input": "input_price", "output": "output_price", "cached_input": "cached_price"}
        price = {name: values[field] for name, field in prices.items() if values[field] is not None}
        content = {
            "label": values["label"],
            "spec": f"{values['server']}:{values['name'].strip()}",
            "parameters": {name: values[name] for name in names if values[name] is not None},
            "context_tokens": values["context_tokens"],
        }
        return ({} if self.frozen else content) | {
            "price": price or None,
            "cutoff": values["cutoff"],
            "active": values["active"],
            "for_sessions": values["for_sessions"],
        }


def _servers(row: LanguageModel | None) -> list[tuple[str, str]]:
    """Return the providers, those with a named endpoint included, and the one of the row."""
    names = list(PROVIDERS)
    with_endpoints = [name for name, entry in PROVIDERS.items() if entry.endpoints]
    names += [
        f"{provider}@{endpoint}"
        for provider in with_endpoints
        for endpoint in sorted(settings.MODEL_ENDPOINTS)
    ]
    if row and (own := row.spec.partition(":")[0]) not in names:
        names.append(own)
    return [(name, name) for name in names]


def _initial(row: LanguageModel | None) -> dict[str, Any]:
    """Return the values of the fields for a row, or those of an empty form."""
    if row is None:
        return {"active": True}
    server, _, name = row.spec.partition(":")
    price = row.price or {}
    extra = row.parameters.get("extra")
    return {
        **{name: row.parameters.get(name) for name in (*NUMBERS, "reasoning")},
        "extra": json.dumps(extra, ensure_ascii=False) if extra else "",
        "label": row.label,
        "server": server,
        "name": name,
        "context_tokens": row.context_tokens,
        "input_price": price.get("input"),
        "output_price": price.get("output"),
        "cached_price": price.get("cached_input"),
        "cutoff": row.cutoff,
        "active": row.active,
        "for_sessions": row.for_sessions,
        "tutors": list(row.tutors.all()) if row.pk else [],
    }
