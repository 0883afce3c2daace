"""Single sign-on by OpenID Connect. It is off unless `settings.OIDC_RP_CLIENT_ID` is set.

An account belongs to the subject of an issuer from the first login on. That login links an existing account, or makes a
new one without a role (accounts.actions.account_for).
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlencode

import jwt
import requests
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView

from accounts.actions import AccountActionError, Identity, account_for, change_roles
from accounts.roles import Role

logger = logging.getLogger(__name__)

BACKEND = f"{__name__}.SingleSignOn"
"""The name of the backend in the session of a person who logged in this way."""


class UntrustedTokenError(SuspiciousOperation):
    """A token of the provider that is refused. The message quotes nothing of the token."""


class SingleSignOn(OIDCAuthenticationBackend):  # type: ignore[misc]
    """The backend of logins by the provider. Sessions of disabled accounts end, as with passwords."""

    get_user = ModelBackend.get_user  # the other one returns disabled accounts too

    def verify_token(self, token: str, **keywords: Any) -> dict[str, Any]:
        """Return the claims of a token that the provider issued for this site.

        Raises UntrustedTokenError, SuspiciousOperation and PyJWTError.
        """
        claims: dict[str, Any] = super().verify_token(token, **keywords)
        audience = claims.get("aud")
        if claims.get("iss") != settings.OIDC_ISSUER:
            raise UntrustedTokenError("the issuer of the token is not OIDC_ISSUER")
        if settings.OIDC_RP_CLIENT_ID not in (audience if isinstance(audience, list) else [audience]):
            raise UntrustedTokenError("the token is not for the client OIDC_CLIENT_ID")
        return claims

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """Return the provider's key that signed a token.

        A token may omit the id of the key if the provider has one key (OpenID Connect Core 1.0, section 10.1).
        Raises UntrustedTokenError, PyJWTError, and OSError or ValueError if the provider does not answer with keys.
        """
        answer = requests.get(settings.OIDC_OP_JWKS_ENDPOINT, timeout=settings.OIDC_TIMEOUT)
        answer.raise_for_status()
        header = jwt.get_unverified_header(token)
        keys = [key for key in answer.json()["keys"] if key.get("alg") in (None, header["alg"])]
        if "kid" in header:
            keys = [key for key in keys if key.get("kid") == header["kid"]]
        if len(keys) != 1:
            raise UntrustedTokenError("the token names none of the keys at OIDC_JWKS_URL")
        return jwt.PyJWK(keys[0])

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User:
        """Return the account of the person, which may be disabled, and give it the roles of OIDC_ROLE_CLAIM."""
        claims = self.get_userinfo(access_token, id_token, payload)
        if not payload.get("sub") or claims.get("sub") != payload["sub"]:
            raise UntrustedTokenError("the provider describes another person than the token")
        user = account_for(_identity(claims))
        if settings.OIDC_ROLE_CLAIM and user.is_active:
            change_roles(user, _roles(claims), None)
        return user


class Callback(OIDCAuthenticationCallbackView):  # type: ignore[misc]
    """The address to which the provider returns the visitor."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Log the visitor in, or show the login page with the reason why not."""
        try:
            response: HttpResponse = super().get(request)
        except AccountActionError as error:
            return self._refuse(str(error))
        except (OSError, ValueError, KeyError, jwt.PyJWTError, SuspiciousOperation) as error:
            # OSError includes all errors of requests, whose messages may quote answers of the provider.
            reason = str(error) if isinstance(error, UntrustedTokenError) else type(error).__name__
            logger.warning("single sign-on failed: %s", reason)
            return self._refuse("Single sign-on failed. Try again, or ask an admin.")
        user: User | None = getattr(self, "user", None)
        if user is None:
            return self._refuse("Single sign-on was cancelled or has expired. Try again.")
        if not user.is_active:
            return self._refuse("Your account is disabled. Ask an admin.")
        return response

    @property
    def failure_url(self) -> str:
        return reverse("login")

    def _refuse(self, reason: str) -> HttpResponse:
        messages.error(self.request, reason)
        response: HttpResponse = self.login_failure()
        return response


def provider_logout(request: HttpRequest) -> str:
    """Return the address that ends the visitor's login at the provider and leads back to the login page."""
    back = request.build_absolute_uri(reverse("login"))
    query = urlencode({"client_id": settings.OIDC_RP_CLIENT_ID, "post_logout_redirect_uri": back})
    return f"{settings.OIDC_LOGOUT_URL}?{query}"


def _identity(claims: dict[str, Any]) -> Identity:
    """Return what the claims say of the person. An e-mail address counts only if the provider has verified it."""
    email = claims.get("email")
    verified = claims.get("email_verified") is True and isinstance(email, str)
    name = _claim(claims, settings.OIDC_ACCOUNT_CLAIM) if settings.OIDC_ACCOUNT_CLAIM else None
    proposed = claims.get("preferred_username")
    return Identity(
        issuer=settings.OIDC_ISSUER,
        subject=str(claims["sub"]),
        email=str(email) if verified else "",
        account_name=name if isinstance(name, str) else "",
        proposed_name=proposed if isinstance(proposed, str) else "",
    )


def _roles(claims: dict[str, Any]) -> list[Role]:
    """Return the roles that the claim OIDC_ROLE_CLAIM names: a text or a list. Other values are not roles."""
    value = _claim(claims, settings.OIDC_ROLE_CLAIM)
    names = value if isinstance(value, list) else [value]
    return [role for role in Role if role.value in names]


def _claim(claims: dict[str, Any], name: str) -> Any:
    """Return a claim; a name with dots, such as `realm_access.roles`, leads into objects."""
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
