"""Administration pages: every recorded table can be read and none can be changed."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from accounts.models import PseudonymSalt
from tutoring.models import PrivateNote

RECORDED = [
    model
    for app in ("benchmark", "tutoring")
    for model in apps.get_app_config(app).get_models()
    if model not in (PseudonymSalt, PrivateNote)  # secrets, which no page of an admin displays
]


@pytest.fixture
def administrator(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.mark.parametrize("model", RECORDED, ids=lambda model: model.__name__)
def test_a_recorded_table_can_be_listed_and_searched_but_not_changed(
    model, administrator: User, client: Client
):
    request = RequestFactory().get("/")
    request.user = administrator
    page = admin.site.get_model_admin(model)
    assert page.has_view_permission(request)
    assert not page.has_add_permission(request)
    assert not page.has_change_permission(request)
    assert not page.has_delete_permission(request)
    client.force_login(administrator)
    address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    assert client.get(address, {"q": "anything"}).status_code == 200
    assert client.get(f"{address}add/").status_code == 403


def test_users_without_the_admin_role_have_no_access(db: None, client: Client):
    client.force_login(User.objects.create_user("tutor"))
    assert client.get("/admin/").status_code == 302


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("benchmark/keptfigures/?o=1", "benchmark/cachedrunreport/?o=1"),
        ("tutoring/nearmiss/5/change/", "tutoring/programscore/5/change/"),
        ("tutoring/settlement/?rule_set=1", "tutoring/reviewoutcome/?rule_set=1"),
    ],
)
def test_addresses_of_renamed_models_redirect(admin_client: Client, former: str, current: str) -> None:
    answer = admin_client.get(f"/admin/{former}")
    assert (answer.status_code, answer.headers["Location"]) == (301, f"/admin/{current}")
