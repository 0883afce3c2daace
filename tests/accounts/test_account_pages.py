"""Pages of accounts: what admins change and what the log of changes says, and what a person changes alone."""

import re
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.test import Client

from accounts.actions import give_roles
from accounts.models import AccountEvent, LoginSession
from accounts.pseudonyms import pseudonym
from accounts.roles import Role, roles_of
from accounts.sessions import SessionStore

pytestmark = pytest.mark.django_db

PASSWORD = "a fine long password"
Kind = AccountEvent.Kind


@pytest.fixture
def root() -> User:
    user = User.objects.create_user("root", password=PASSWORD)
    give_roles(user, [Role.ADMIN])
    return user


@pytest.fixture
def admin(root: User) -> Client:
    return logged_in(root)


@pytest.fixture
def ada() -> User:
    user = User.objects.create_user("ada", password=PASSWORD, first_name="Ada", email="ada@example.org")
    user.groups.set(Group.objects.filter(name=Role.TUTOR))
    return user


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def change(admin: Client, user: User, command: str, **fields: object) -> str:
    """Post a command to the page of the account; return the page that follows."""
    answer = admin.post(f"/accounts/{user.pk}/change/", {"command": command, **fields}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def shown_link(page: str) -> str:
    found = re.search(r'value="http://testserver(/set-password/[^"]+)"', page)
    assert found
    return found[1]


def set_password(link: str, password: str) -> Client:
    """Open the link in a new browser, and send the form."""
    client = Client()
    form = client.get(link, follow=True)
    if "This link has been used already" not in form.content.decode():
        client.post(form.redirect_chain[-1][0], {"new_password1": password, "new_password2": password})
    return client


def may_log_in(name: str, password: str) -> bool:
    return Client().post("/login/", {"username": name, "password": password}).status_code == 302


def events() -> list[tuple[str, str, str, str]]:
    found = AccountEvent.objects.order_by("pk").select_related("actor", "account")
    return [
        (event.actor.username if event.actor else "", event.kind, event.account.username, event.detail)
        for event in found
    ]


def test_an_admin_adds_an_account_whose_owner_sets_the_password_once(admin: Client):
    page = admin.post("/accounts/add/", {"username": "grace", "roles": ["tutor", "reviewer"]})
    link = shown_link(page.content.decode())
    grace = User.objects.get(username="grace")
    assert roles_of(grace) == {Role.TUTOR, Role.REVIEWER}
    set_password(link, "an invented passphrase")
    assert may_log_in("grace", "an invented passphrase")
    set_password(link, "another passphrase")
    assert not may_log_in("grace", "another passphrase")
    assert events() == [
        ("root", Kind.CREATED, "grace", "reviewer, tutor"),
        ("root", Kind.LINK, "grace", ""),
        ("grace", Kind.PASSWORD, "grace", ""),
    ]
    assert link not in admin.get(f"/accounts/{grace.pk}/").content.decode()
    assert link not in str(AccountEvent.objects.values())


@pytest.mark.parametrize(
    ("age", "works"), [(timedelta(days=2, hours=23), True), (timedelta(days=3, hours=1), False)]
)
def test_a_set_password_link_works_for_three_days(
    admin: Client, ada: User, monkeypatch: pytest.MonkeyPatch, age: timedelta, works: bool
):
    link = shown_link(change(admin, ada, "link"))
    later = datetime.now() + age
    monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda _: later)
    set_password(link, "another passphrase")
    assert may_log_in("ada", "another passphrase") == works


@pytest.mark.parametrize("password", ["short one", "1234567890123", "password1234", "gracehopper"])
def test_weak_passwords_are_refused(admin: Client, password: str):
    page = admin.post("/accounts/add/", {"username": "gracehopper", "roles": ["tutor"]})
    set_password(shown_link(page.content.decode()), password)
    assert not User.objects.get(username="gracehopper").has_usable_password()


@pytest.mark.parametrize("name", ["ada", "ADA", "ada lovelace", ""])
def test_a_name_that_cannot_be_one_is_refused(admin: Client, ada: User, name: str):
    assert admin.post("/accounts/add/", {"username": name, "roles": ["tutor"]}).status_code == 422
    assert User.objects.count() == 2


def test_roles_are_replaced(admin: Client, ada: User):
    change(admin, ada, "roles", roles=["reviewer", "admin"])
    ada = User.objects.get(pk=ada.pk)
    assert roles_of(ada) == set(Role)
    assert ada.is_staff
    change(admin, ada, "roles", roles=[])
    ada = User.objects.get(pk=ada.pk)
    assert roles_of(ada) == set()
    assert not ada.is_staff
    assert [detail for *_, detail in events()] == ["tutor → admin, reviewer", "admin, reviewer → no role"]


def test_a_reset_ends_the_logins_and_the_password(admin: Client, ada: User):
    browser = logged_in(ada)
    link = shown_link(change(admin, ada, "link"))
    assert browser.get("/account/").status_code == 302
    assert not may_log_in("ada", PASSWORD)
    set_password(link, "another passphrase")
    assert may_log_in("ada", "another passphrase")


def test_a_disabled_account_cannot_be_used_until_it_is_enabled(admin: Client, ada: User):
    browser = logged_in(ada)
    change(admin, ada, "disable")
    assert browser.get("/account/").status_code == 302
    assert not may_log_in("ada", PASSWORD)
    assert "Enable it first" in change(admin, ada, "link")
    change(admin, ada, "enable")
    assert may_log_in("ada", PASSWORD)
    assert [kind for _, kind, *_ in events()] == [Kind.DISABLED, Kind.ENABLED]


def test_an_admin_ends_the_logins_of_another_person_only(admin: Client, ada: User):
    browsers = [logged_in(ada), logged_in(ada)]
    assert "2 logins of ada ended" in change(admin, ada, "end-logins")
    assert all(browser.get("/account/").status_code == 302 for browser in browsers)
    assert admin.get("/account/").status_code == 200
    assert may_log_in("ada", PASSWORD)


def test_a_person_ends_the_logins_in_all_other_browsers(ada: User, root: User):
    here, there, other = logged_in(ada), logged_in(ada), logged_in(root)
    assert "2 times, this browser included" in here.get("/account/").content.decode()
    page = here.post("/account/end-logins/", follow=True).content.decode()
    assert "autofocus" not in page, "the keyboard begins at the top of the page"
    assert "1 other login has ended" in page
    assert "in this browser only" in page
    assert there.get("/account/").status_code == 302
    assert other.get("/account/").status_code == 200
    assert events() == [("ada", Kind.LOGINS_ENDED, "ada", "1")]


def test_a_person_changes_the_password(ada: User):
    here, there = logged_in(ada), logged_in(ada)
    fields = {"new_password1": "another passphrase", "new_password2": "another passphrase"}
    assert here.post("/account/", {"old_password": "wrong", **fields}).status_code == 422
    assert here.post("/account/", {"old_password": PASSWORD, **fields}).status_code == 302
    assert here.get("/account/").status_code == 200
    assert there.get("/account/").status_code == 302
    assert may_log_in("ada", "another passphrase")
    assert events() == [("ada", Kind.PASSWORD, "ada", "")]


def test_a_pseudonymised_account_keeps_nothing_of_the_person(admin: Client, ada: User):
    change(admin, ada, "disable")
    assert "Nothing is changed" in change(admin, ada, "pseudonymise", confirmation="Ada")
    change(admin, ada, "pseudonymise", confirmation="ada")
    stored = User.objects.get(pk=ada.pk)
    assert stored.username == pseudonym(stored)
    assert (stored.first_name, stored.last_name, stored.email, stored.last_login) == ("", "", "", None)
    assert not stored.is_active
    assert not stored.has_usable_password()
    assert "cannot be enabled" in change(admin, stored, "enable")
    for address in ("/accounts/", "/accounts/log/", f"/accounts/{ada.pk}/"):
        assert ">ada<" not in admin.get(address).content.decode()
    assert "ada" not in str(AccountEvent.objects.values())


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("roles", {"roles": ["tutor"]}),
        ("disable", {}),
        ("pseudonymise", {"confirmation": "root"}),
    ],
)
def test_admins_cannot_lock_themselves_out(
    admin: Client, root: User, command: str, fields: dict[str, object]
):
    assert "Ask another admin" in change(admin, root, command, **fields)
    assert admin.get("/accounts/").status_code == 200
    assert events() == []


@pytest.mark.parametrize("fields", [{"command": "delete"}, {"command": "roles", "roles": ["king"]}, {}])
def test_unknown_commands_and_roles_are_refused(admin: Client, ada: User, fields: dict[str, str]):
    assert admin.post(f"/accounts/{ada.pk}/change/", fields).status_code == 400


def test_accounts_and_their_log_have_filters(admin: Client, ada: User):
    change(admin, ada, "disable")
    for query, found in [
        ("name=AD", True),
        ("role=tutor", True),
        ("role=reviewer", False),
        ("state=active", False),
    ]:
        assert (">ada<" in admin.get(f"/accounts/?{query}").content.decode()) == found, query
    for query, found in [
        ("name=root", True),
        ("kind=disabled", True),
        ("kind=roles", False),
        ("name=x", False),
    ]:
        assert (">ada<" in admin.get(f"/accounts/log/?{query}").content.decode()) == found, query


def test_no_page_deletes_an_account(admin: Client, ada: User):
    assert admin.get("/admin/auth/user/").status_code == 404
    assert "/admin/auth/" not in admin.get("/admin/").content.decode()


def test_an_anonymous_session_belongs_to_no_account():
    store = SessionStore()
    store["x"] = 1
    store.save()
    assert LoginSession.objects.get(session_key=store.session_key).user is None
