"""Pages of accounts: login, the visitor's own account, and for admins all accounts with their audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import BACKEND_SESSION_KEY, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import actions
from accounts.actions import AccountActionError
from accounts.demo_accounts import refusal
from accounts.forms import ROLES, LoginForm, NewAccountForm, NewPasswordForm, OwnPasswordForm, RolesForm
from accounts.models import AccountEvent, LoginSession
from accounts.paging import query_without_page
from accounts.roles import Role, own_roles, requires_role
from accounts.sessions import delete_expired
from accounts.throttling import login_in_progress, remember_browser

PAGE_SIZE = 50


class Login(LoginView):
    """The login page. Limits of failed logins apply before the password is hashed (accounts.throttling)."""

    redirect_authenticated_user = True
    authentication_form = LoginForm

    def get_context_data(self, **keywords: Any) -> dict[str, Any]:
        """Return the variables of the template: `single_sign_on` is the provider's name, or "" if it is off."""
        name = settings.OIDC_NAME if settings.OIDC_RP_CLIENT_ID else ""
        return super().get_context_data(single_sign_on=name, has_demo=refusal() is None, **keywords)

    def post(self, request: HttpRequest, *arguments: Any, **keywords: Any) -> HttpResponse:
        """Log the visitor in, or show what is wrong."""
        with login_in_progress(request, request.POST.get("username", "")):
            return super().post(request, *arguments, **keywords)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log the visitor in, and recognise this browser at later logins."""
        response = super().form_valid(form)
        delete_expired()
        remember_browser(response, form.get_user())
        return response


class Logout(LogoutView):
    """The end of a login. After single sign-on, it also ends the login at the provider if OIDC_LOGOUT_URL is set."""

    def post(self, request: HttpRequest, *arguments: Any, **keywords: Any) -> HttpResponse:
        """End the login."""
        by_provider = request.session.get(BACKEND_SESSION_KEY) == "accounts.single_sign_on.SingleSignOn"
        response = super().post(request, *arguments, **keywords)
        if not by_provider or not settings.OIDC_LOGOUT_URL:
            return response
        from accounts.single_sign_on import provider_logout

        return redirect(provider_logout(request))


@never_cache
@require_safe
def single_sign_on(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider. Raises Http404 if single sign-on is off."""
    _require_single_sign_on()
    # Imported when it is used: its packages take 15 MB.
    from mozilla_django_oidc.views import OIDCAuthenticationRequestView

    response: HttpResponse = OIDCAuthenticationRequestView.as_view()(request)
    return response


@never_cache
@require_safe
def single_sign_on_callback(request: HttpRequest) -> HttpResponse:
    """Log in the visitor who returns from the provider. Raises Http404 if single sign-on is off."""
    _require_single_sign_on()
    from accounts.single_sign_on import Callback

    response: HttpResponse = Callback.as_view()(request)
    return response


def _require_single_sign_on() -> None:
    if not settings.OIDC_RP_CLIENT_ID:
        raise Http404("OIDC_CLIENT_ID is not set.")


class SetPassword(PasswordResetConfirmView):
    """The page of a set-password link, which works once and for `settings.PASSWORD_RESET_TIMEOUT` seconds."""

    form_class = NewPasswordForm
    template_name = "registration/set_password.html"

    def form_valid(self, form: Any) -> HttpResponse:
        """Store the password, record the change, and go to the login page."""
        form.save()
        actions.record_password_change(form.user)
        messages.success(self.request, "Your password is set. Log in with it.")
        return redirect("login")


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def own_account(request: HttpRequest) -> HttpResponse:
    """Show the visitor's account with the form that changes the password, or change it."""
    user = _user(request)
    form = OwnPasswordForm(user, request.POST or None)
    del form.fields["old_password"].widget.attrs["autofocus"]  # the form is not the first part of the page
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, user)
        actions.record_password_change(user, request.session.session_key)
        messages.success(request, "Your password is changed, and all other logins have ended.")
        return redirect("own_account")
    context = {"form": form, "own_roles": sorted(own_roles(user)), "logins": _logins(user).count()}
    return render(request, "accounts/own_account.html", context, status=422 if form.errors else 200)


@require_POST
def end_own_logins(request: HttpRequest) -> HttpResponse:
    """End all logins of the visitor except this one."""
    count = actions.end_all_logins(_user(request), _user(request), request.session.session_key)
    messages.success(request, f"{count} other {'login has' if count == 1 else 'logins have'} ended.")
    return redirect("own_account")


@require_safe
@requires_role(Role.ADMIN)
def accounts(request: HttpRequest) -> HttpResponse:
    """Show the accounts. Filters: part of the name, role, state (active or disabled)."""
    found = User.objects.order_by("username").prefetch_related("groups")
    found = found.annotate(
        logins=Count("login_sessions", filter=Q(login_sessions__expire_date__gt=timezone.now()))
    )
    if name := request.GET.get("name"):
        found = found.filter(username__icontains=name)
    if role := request.GET.get("role"):
        found = found.filter(groups__name=role)
    if state := request.GET.get("state"):
        found = found.filter(is_active=state == "active")
    return render(
        request,
        "accounts/accounts.html",
        {
            "accounts": Paginator(found, PAGE_SIZE).get_page(request.GET.get("page")),
            "query": query_without_page(request),
            "role_choices": ROLES,
        },
    )


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def add_account(request: HttpRequest) -> HttpResponse:
    """Show the form of a new account, or store it and show its set-password link."""
    form = NewAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = actions.create_account(
            form.cleaned_data["username"], _roles(form.cleaned_data["roles"]), _user(request)
        )
        return _account_page(request, user, link=actions.make_password_link(user, _user(request)))
    return render(request, "accounts/add.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@requires_role(Role.ADMIN)
def account(request: HttpRequest, account_id: int) -> HttpResponse:
    """Show an account, the commands on it, and its audit."""
    return _account_page(request, get_object_or_404(User, pk=account_id))


@require_POST
@requires_role(Role.ADMIN)
def change_account(request: HttpRequest, account_id: int) -> HttpResponse:
    """Carry out the command in the field `command`."""
    user, actor = get_object_or_404(User, pk=account_id), _user(request)
    command = request.POST.get("command", "")
    try:
        if command == "link":
            return _account_page(request, user, actions.make_password_link(user, actor))
        if command not in _COMMANDS:
            raise BadRequest("The form has a command that does not exist.")
        messages.success(request, _COMMANDS[command](request, user, actor))
    except AccountActionError as error:
        messages.error(request, str(error))
    return redirect("account", user.pk)


def _change_roles(request: HttpRequest, user: User, actor: User) -> str:
    form = RolesForm(request.POST)
    if not form.is_valid():
        raise BadRequest("The form has a role that does not exist.")
    actions.change_roles(user, _roles(form.cleaned_data["roles"]), actor)
    return f"The roles of {user} are stored."


def _change_email(request: HttpRequest, user: User, actor: User) -> str:
    actions.change_email(user, request.POST.get("email", "").strip(), actor)
    return f"The e-mail address of {user} is stored."


def _end_logins(_: HttpRequest, user: User, actor: User) -> str:
    count = actions.end_all_logins(user, actor)
    return f"{count} {'login' if count == 1 else 'logins'} of {user} ended."


def _disable(_: HttpRequest, user: User, actor: User) -> str:
    actions.disable(user, actor)
    return f"{user} is disabled, and all logins have ended."


def _enable(_: HttpRequest, user: User, actor: User) -> str:
    actions.enable(user, actor)
    return f"{user} is enabled."


def _pseudonymise(request: HttpRequest, user: User, actor: User) -> str:
    if request.POST.get("confirmation") != user.username:
        raise AccountActionError(f"Type the user name {user} to confirm. Nothing is changed.")
    actions.pseudonymise(user, actor)
    return f"The account is pseudonymised. Its name is now {user}."


_COMMANDS: dict[str, Callable[[HttpRequest, User, User], str]] = {
    "roles": _change_roles,
    "email": _change_email,
    "end-logins": _end_logins,
    "disable": _disable,
    "enable": _enable,
    "pseudonymise": _pseudonymise,
}
"""The commands of the page of an account; each returns the message of its success."""


@require_safe
@requires_role(Role.ADMIN)
def account_log(request: HttpRequest) -> HttpResponse:
    """Show the changes of all accounts, newest first. Filters: user name of account or actor, kind."""
    events = AccountEvent.objects.select_related("account", "actor")
    if name := request.GET.get("name"):
        events = events.filter(Q(account__username=name) | Q(actor__username=name))
    if kind := request.GET.get("kind"):
        events = events.filter(kind=kind)
    return render(
        request,
        "accounts/log.html",
        {
            "events": Paginator(events, PAGE_SIZE).get_page(request.GET.get("page")),
            "query": query_without_page(request),
            "kinds": AccountEvent.Kind.choices,
        },
    )


def _account_page(request: HttpRequest, user: User, link: str = "") -> HttpResponse:
    """Return the page of an account. A set-password link is shown on this page only, and is not stored."""
    roles = own_roles(user)
    response = render(
        request,
        "accounts/account.html",
        {
            "account": user,
            "account_roles": sorted(roles),
            "form": RolesForm(initial={"roles": list(roles)}),
            "logins": _logins(user).count(),
            "single_sign_on": bool(settings.OIDC_RP_CLIENT_ID),
            "identities": user.external_identities.count(),
            "pseudonymised": actions.is_pseudonymised(user),
            "link": request.build_absolute_uri(link) if link else "",
            "events": user.account_events.select_related("account", "actor")[:PAGE_SIZE],
        },
    )
    add_never_cache_headers(response)
    return response


def _logins(user: User) -> QuerySet[LoginSession]:
    return LoginSession.objects.filter(user=user, expire_date__gt=timezone.now())


def _roles(names: list[str]) -> list[Role]:
    return [Role(name) for name in names]


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
