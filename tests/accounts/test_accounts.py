"""The commands that create accounts."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.demo_accounts import DEMO_PASSWORD
from accounts.roles import Role, roles_of

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def printed_password(output: str) -> str:
    return output.split("password ")[1].strip()


def logs_in(client: Client, name: str, password: str) -> bool:
    """Return whether the login page accepts the password; the client is logged out again."""
    accepted = client.post("/login/", {"username": name, "password": password}).status_code == 302
    client.post("/logout/")
    return accepted


def test_demo_accounts_have_one_role_each_and_the_printed_password(client: Client):
    password = printed_password(run("create_demo_accounts"))
    for role in set(Role) - {Role.ADMIN}:
        assert roles_of(User.objects.get(username=f"demo-{role}")) == {role}
        assert logs_in(client, f"demo-{role}", password)
    assert roles_of(User.objects.get(username="demo-admin")) == set(Role)


def test_making_demo_accounts_again_changes_nothing_but_a_lost_password(client: Client):
    password = printed_password(run("create_demo_accounts"))
    user = User.objects.get(username="demo-tutor")
    user.set_password("forgotten")
    user.save()
    run("create_demo_accounts")
    assert User.objects.count() == len(Role)
    assert logs_in(client, "demo-tutor", password)


@pytest.mark.parametrize("setting", [{"HOST": "0.0.0.0"}, {"HTTPS": True}])
def test_demo_accounts_are_refused_where_others_can_reach_them(settings, setting: dict[str, object]):
    for name, value in setting.items():
        setattr(settings, name, value)
    with pytest.raises(CommandError, match="create_account"):
        run("create_demo_accounts")
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["demo-admin", "Demo-Admin"])
def test_the_published_password_is_refused_where_others_can_reach_the_site(
    client: Client, settings, name: str
):
    run("create_demo_accounts")
    assert "prints the demo accounts" in client.get("/login/").content.decode()
    settings.HTTPS = True
    answer = client.post("/login/", {"username": name, "password": DEMO_PASSWORD})
    assert answer.status_code == 200
    assert "allowed only on a loopback address" in answer.content.decode()
    assert "prints the demo accounts" not in answer.content.decode()
    printed = run("prepare")
    assert DEMO_PASSWORD not in printed
    user = User.objects.get(username="demo-admin")
    user.set_password("a-password-of-its-own")
    user.save()
    assert logs_in(client, "demo-admin", "a-password-of-its-own")


def test_a_new_account_can_log_in_and_has_its_roles(client: Client):
    output = run("create_account", "ada", "--role", "tutor", "--role", "reviewer")
    assert roles_of(User.objects.get(username="ada")) == {Role.TUTOR, Role.REVIEWER}
    assert logs_in(client, "ada", printed_password(output))
    assert not User.objects.get(username="ada").is_staff


def test_an_existing_account_is_kept_unless_its_reset_is_asked_for(client: Client):
    first = printed_password(run("create_account", "ada", "--role", "admin"))
    with pytest.raises(CommandError, match="--reset"):
        run("create_account", "ada", "--role", "tutor")
    assert logs_in(client, "ada", first)
    second = printed_password(run("create_account", "ada", "--role", "tutor", "--reset"))
    assert second != first
    assert logs_in(client, "ada", second)
    user = User.objects.get(username="ada")
    assert roles_of(user) == {Role.TUTOR}
    assert not user.is_staff


def test_a_name_that_cannot_be_one_is_refused():
    with pytest.raises(CommandError, match="only letters, digits"):
        run("create_account", "ada lovelace", "--role", "tutor")
    assert not User.objects.exists()
