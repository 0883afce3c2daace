"""Single sign-on: the whole code flow with a provider, which account a person enters, and what ends a login."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import jwt
import pytest
import requests
from django.contrib.auth.models import User
from django.test import Client
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from oidc_provider_mock import run_server_in_thread
from pytest_django import Settings

from accounts.actions import (
    AccountActionError,
    Identity,
    account_for,
    change_email,
    create_account,
    disable,
    enable,
    end_all_logins,
    give_roles,
    pseudonymise,
)
from accounts.models import AccountEvent, ExternalIdentity
from accounts.roles import Role, own_roles
from config.logs import formatter

SECRET = "canary-of-a-client-secret"

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of a provider."""
    with run_server_in_thread(require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


@dataclass
class Provider:
    """A provider with people."""

    address: str

    def describe(self, subject: str, **claims: Any) -> None:
        """Store the claims of a person."""
        answer = httpx2.put(f"{self.address}/users/{subject}", json=claims, timeout=10)
        assert answer.status_code == 204

    def login(self, subject: str, client: Client | None = None, path: str = "") -> Client:
        """Log a person in through the provider's pages, in a browser that follows all redirects."""
        client = client or Client()
        sent = client.get("/single-sign-on/", {"next": path} if path else {})
        assert sent.status_code == 302
        assert "code_challenge_method=S256" in sent["Location"]
        answer = httpx2.post(sent["Location"], data={"sub": subject}, timeout=10)
        back = re.fullmatch(r"http://testserver(/single-sign-on/callback/\?.*)", answer.headers["Location"])
        assert back is not None
        self.answer = client.get(back[1])
        return client


@pytest.fixture
def provider(address: str, settings: Settings) -> Provider:
    settings.OIDC_RP_CLIENT_ID = "hintbench"
    settings.OIDC_RP_CLIENT_SECRET = SECRET
    settings.OIDC_ISSUER = address
    settings.OIDC_OP_AUTHORIZATION_ENDPOINT = f"{address}/oauth2/authorize"
    settings.OIDC_OP_TOKEN_ENDPOINT = f"{address}/oauth2/token"
    settings.OIDC_OP_USER_ENDPOINT = f"{address}/userinfo"
    settings.OIDC_OP_JWKS_ENDPOINT = f"{address}/jwks"
    settings.OIDC_NAME = "Example University"
    settings.AUTHENTICATION_BACKENDS = [
        *settings.AUTHENTICATION_BACKENDS,
        "accounts.single_sign_on.SingleSignOn",
    ]
    return Provider(address)


def visitor_of(client: Client) -> str:
    """Return the name of the account that is logged in, or ""."""
    found = re.search(r"<p><strong>([^<]+)</strong>", client.get("/account/").content.decode())
    return found[1] if found else ""


def login_page(client: Client) -> str:
    return client.get("/login/").content.decode()


def events() -> list[tuple[str, str]]:
    return [(event.kind, event.detail) for event in AccountEvent.objects.order_by("pk")]


def test_it_is_off_by_default(client: Client):
    assert client.get("/single-sign-on/").status_code == 404
    assert client.get("/single-sign-on/callback/?code=a&state=b").status_code == 404
    assert "single-sign-on" not in login_page(client)


def test_the_login_page_leads_to_the_provider(provider: Provider, client: Client):
    page = client.get("/login/?next=/problems/").content.decode()
    assert "Log in with Example University" in page
    assert 'href="/single-sign-on/?next=/problems/"' in page


def test_a_new_person_gets_an_account_without_a_role(provider: Provider):
    provider.describe("s-1", email="ada@example.org", email_verified=True, preferred_username="ada")
    client = provider.login("s-1", path="/glossary/")
    assert provider.answer["Location"] == "/glossary/"
    assert visitor_of(client) == "ada"
    user = User.objects.get(username="ada")
    assert (user.email, own_roles(user), user.has_usable_password()) == (
        "ada@example.org",
        frozenset(),
        False,
    )
    assert client.get("/problems/").status_code == 403
    assert events() == [("created", "no role"), ("linked", "")]
    give_roles(user, [Role.TUTOR])
    assert client.get("/problems/").status_code == 200
    provider.login("s-1", client)
    assert User.objects.count() == 1
    assert own_roles(user) == {Role.TUTOR}, "roles of admins stay"


def test_a_verified_address_links_an_existing_account_for_good(provider: Provider):
    user = create_account("tutor-7", [Role.TUTOR], None, "a fine long password")
    change_email(user, "ada@example.org", None)
    provider.describe("s-2", email="Ada@Example.org", email_verified=True, preferred_username="ada")
    assert visitor_of(provider.login("s-2")) == "tutor-7"
    assert events()[-1] == ("linked", "")
    provider.describe("s-2", email="new@example.org", email_verified=True)
    assert visitor_of(provider.login("s-2")) == "tutor-7", "the subject decides, not the address"
    provider.describe("s-3", email="ada@example.org", email_verified=True)
    provider.login("s-3")
    assert "Another person uses this account" in login_page(provider.login("s-3"))
    assert User.objects.count() == 1


@pytest.mark.parametrize("claims", [{"email_verified": False}, {}, {"email_verified": "true"}])
def test_an_address_that_is_not_verified_links_nothing(provider: Provider, claims: dict[str, object]):
    user = create_account("root", [Role.ADMIN], None)
    change_email(user, "root@example.org", None)
    provider.describe("s-4", email="root@example.org", preferred_username="root", **claims)
    assert visitor_of(provider.login("s-4")) == "root2"
    assert own_roles(User.objects.get(username="root2")) == frozenset()


def test_a_stated_claim_links_the_account_of_this_name(provider: Provider, settings: Settings):
    create_account("ada", [Role.TUTOR], None)
    provider.describe("s-5", staff={"id": "ada"})
    settings.OIDC_ACCOUNT_CLAIM = "staff.id"
    assert visitor_of(provider.login("s-5")) == "ada"


def test_a_stated_claim_gives_the_roles_at_each_login(provider: Provider, settings: Settings):
    settings.OIDC_ROLE_CLAIM = "realm_access.roles"
    provider.describe("s-6", preferred_username="eve", realm_access={"roles": ["tutor", "reviewer", "other"]})
    provider.login("s-6")
    eve = User.objects.get(username="eve")
    assert own_roles(eve) == {Role.TUTOR, Role.REVIEWER}
    assert events()[-1] == ("roles", "no role → reviewer, tutor")
    provider.describe("s-6", realm_access={"roles": "tutor"})
    provider.login("s-6")
    assert own_roles(eve) == {Role.TUTOR}


def test_a_disabled_account_stays_closed(provider: Provider):
    provider.describe("s-7", preferred_username="eve")
    client = provider.login("s-7")
    eve = User.objects.get(username="eve")
    disable(eve, None)
    assert visitor_of(client) == "", "the present login has ended"
    client = provider.login("s-7")
    assert visitor_of(client) == ""
    assert "Your account is disabled" in login_page(provider.login("s-7"))
    assert User.objects.count() == 1
    enable(eve, None)
    client = provider.login("s-7")
    assert visitor_of(client) == "eve"
    User.objects.update(is_active=False)  # without the action that ends logins
    assert visitor_of(client) == ""


def test_ended_logins_end_those_of_single_sign_on(provider: Provider):
    provider.describe("s-8", preferred_username="eve")
    client = provider.login("s-8")
    eve = User.objects.get(username="eve")
    assert end_all_logins(eve, eve) == 1
    assert visitor_of(client) == ""


def test_a_pseudonymised_account_keeps_no_identity(provider: Provider):
    provider.describe("s-9", preferred_username="eve")
    provider.login("s-9")
    pseudonymise(User.objects.get(username="eve"), None)
    assert not ExternalIdentity.objects.exists()


def test_a_logout_ends_both_logins(provider: Provider, settings: Settings):
    provider.describe("s-10", preferred_username="eve")
    client = provider.login("s-10")
    assert client.post("/logout/")["Location"] == "/login/"
    assert visitor_of(client) == ""
    settings.OIDC_LOGOUT_URL = f"{provider.address}/oauth2/end_session"
    client = provider.login("s-10")
    away = client.post("/logout/")["Location"]
    assert away == (
        f"{provider.address}/oauth2/end_session?client_id=hintbench&"
        "post_logout_redirect_uri=http%3A%2F%2Ftestserver%2Flogin%2F"
    )
    assert visitor_of(client) == ""
    create_account("ada", [], None)
    client.force_login(User.objects.get(username="ada"), "django.contrib.auth.backends.ModelBackend")
    assert client.post("/logout/")["Location"] == "/login/", "a login by password ends here only"


@pytest.mark.parametrize(
    ("setting", "value"),
    [("OIDC_ISSUER", "http://other.example.org"), ("OIDC_OP_JWKS_ENDPOINT", "http://localhost:1/jwks")],
)
def test_a_token_that_cannot_be_trusted_is_refused(
    provider: Provider, settings: Settings, setting: str, value: str
):
    provider.describe("s-11", preferred_username="eve")
    setattr(settings, setting, value)
    client = provider.login("s-11")
    assert "Single sign-on failed" in login_page(client)
    assert visitor_of(client) == ""
    assert not User.objects.exists()


def change_keys(monkeypatch: pytest.MonkeyPatch, *changes: dict[str, str]) -> None:
    """Let the provider publish its only key once for each change, with these fields replaced."""
    get = requests.get

    def published(url: str, **options: Any) -> requests.Response:
        answer = get(url, **options)
        if url.endswith("/jwks"):
            [key] = answer.json()["keys"]
            answer._content = json.dumps({"keys": [key | change for change in changes]}).encode()
        return answer

    monkeypatch.setattr(requests, "get", published)


def test_a_token_without_the_name_of_its_key_needs_a_provider_with_one_key(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    change_keys(monkeypatch, {"kid": "first"}, {"kid": "second"})
    assert visitor_of(provider.login("s-13")) == ""
    assert "single sign-on failed: the token names none of the keys at OIDC_JWKS_URL" in caplog.text


def test_a_token_with_the_name_of_its_key_is_checked_with_this_key(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    header = jwt.get_unverified_header
    monkeypatch.setattr(jwt, "get_unverified_header", lambda token: header(token) | {"kid": "second"})
    other = "AQAB"  # a modulus that fits no signature
    change_keys(monkeypatch, {"kid": "first", "n": other}, {"kid": "second"})
    provider.describe("s-14", preferred_username="edsger")
    assert visitor_of(provider.login("s-14")) == "edsger"
    change_keys(monkeypatch, {"kid": "third"})
    assert visitor_of(provider.login("s-14")) == ""


def test_a_token_for_another_client_is_refused(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    verified = OIDCAuthenticationBackend.verify_token
    monkeypatch.setattr(
        OIDCAuthenticationBackend,
        "verify_token",
        lambda *words, **keywords: verified(*words, **keywords) | {"aud": ["another"]},
    )
    client = provider.login("s-12")
    assert "Single sign-on failed" in login_page(client)
    assert not User.objects.exists()


@pytest.mark.parametrize("query", ["code=a&state=b", "error=access_denied&state=b", "", "code=a"])
def test_a_callback_without_a_begun_login_changes_nothing(provider: Provider, client: Client, query: str):
    answer = client.get(f"/single-sign-on/callback/?{query}")
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert "Single sign-on was cancelled or has expired" in login_page(client)
    client.get("/single-sign-on/")
    answer = client.get(f"/single-sign-on/callback/?{query}")
    assert answer.status_code == 302
    assert not User.objects.exists()


def test_no_secret_code_or_name_reaches_a_log(
    provider: Provider, caplog: pytest.LogCaptureFixture, settings: Settings
):
    caplog.set_level("INFO")
    provider.describe("canary-subject", email="canary@example.org", email_verified=True)
    provider.login("canary-subject")
    settings.OIDC_ISSUER = "http://other.example.org"
    provider.login("canary-subject")
    lines = "\n".join(
        formatter("text").format(record)
        for record in caplog.records
        if not record.name.startswith("oidc_provider")
        and record.name not in {"werkzeug", "urllib3.connectionpool"}
    )
    assert "path=/single-sign-on/callback/" in lines
    for canary in ("canary", SECRET, "code=", "state="):
        assert canary not in lines


def test_two_accounts_with_the_address_are_not_linked():
    for name in ("a", "b"):
        user = create_account(name, [], None)
        User.objects.filter(pk=user.pk).update(email="x@example.org")
    with pytest.raises(AccountActionError, match="Several accounts have your e-mail address"):
        account_for(Identity("i", "s", "x@example.org", "", ""))


@pytest.mark.parametrize(
    ("proposed", "email", "name"),
    [
        ("Ada Lovelace", "", "AdaLovelace"),
        ("", "ada@example.org", "ada"),
        ("", "", "person"),
        ("ADA", "", "ADA2"),
    ],
)
def test_a_new_account_has_a_free_valid_name(proposed: str, email: str, name: str):
    if proposed == "ADA":
        create_account("ada", [], None)
    assert account_for(Identity("i", "s", email, "", proposed)).username == name


def test_an_admin_stores_the_address_that_links_an_account(provider: Provider):
    root = create_account("root", [Role.ADMIN], None)
    ada = create_account("ada", [], None)
    change_email(root, "root@example.org", None)
    admin = Client()
    admin.force_login(root, "django.contrib.auth.backends.ModelBackend")

    def store(email: str) -> str:
        fields = {"command": "email", "email": email}
        return admin.post(f"/accounts/{ada.pk}/change/", fields, follow=True).content.decode()

    assert "The e-mail address of ada is stored." in store("ada@example.org")
    assert "is not an e-mail address" in store("ada")
    assert "Another account has this e-mail address" in store("ROOT@example.org")
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    assert AccountEvent.objects.filter(account=ada, kind="email", actor=root).count() == 1
