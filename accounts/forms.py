"""Forms of accounts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User

from accounts.actions import check_user_name
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


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """A new password, typed twice."""

    error_messages = SetPasswordForm.error_messages | {"password_mismatch": "The two new passwords differ."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Leave the second field without a help text: its label says what to type."""
        super().__init__(*args, **kwargs)
        self.fields["new_password2"].help_text = ""


class OwnPasswordForm(NewPasswordForm, PasswordChangeForm):
    """The current and the new password of the visitor's own account."""

    error_messages = (
        PasswordChangeForm.error_messages
        | NewPasswordForm.error_messages
        | {"password_incorrect": "The current password is wrong."}
    )


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
        check_user_name(name)
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError("Another account has this name.")
        return name
