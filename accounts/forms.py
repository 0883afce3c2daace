"""Forms of accounts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User

from accounts.demo_accounts import is_published, refusal
from accounts.roles import Role

ROLES = [(role.value, role.value.capitalize()) for role in Role]


class LoginForm(AuthenticationForm):
    """The name and the password of a login. The published password is refused where other people reach the site."""

    error_messages = AuthenticationForm.error_messages | {
        "invalid_login": "The user name or the password is wrong. Check capital letters."
    }

    def clean(self) -> dict[str, Any]:
        """Refuse the published password before any hash is computed."""
        name, password = (self.cleaned_data.get(field, "") for field in ("username", "password"))
        if is_published(name, password) and (reason := refusal()):
            raise forms.ValidationError(f"{reason} Use another account.")
        return super().clean()


class OwnPasswordForm(PasswordChangeForm):
    """The current and the new password of the visitor's own account."""

    error_messages = PasswordChangeForm.error_messages | {
        "password_incorrect": "The current password is wrong.",
        "password_mismatch": "The two new passwords differ.",
    }


class RolesForm(forms.Form):
    """The roles of an account."""

    roles = forms.MultipleChoiceField(
        choices=ROLES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="An admin may do everything. Without a role, a person can log in but cannot open any page.",
    )


class NewAccountForm(RolesForm):
    """The name and the roles of a new account."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
        help_text="Letters, digits and @ . + - _",
    )
    field_order = ("username", "roles")

    def clean_username(self) -> str:
        """Refuse a name that is not valid or that another account has, in any case of letters."""
        name: str = self.cleaned_data["username"]
        for validator in User._meta.get_field("username").validators:
            validator(name)
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError("Another account has this name.")
        return name
