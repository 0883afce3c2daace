"""Addresses of the login, of the visitor's own account, and of the accounts for admins."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from accounts import views

urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("single-sign-on/", login_not_required(views.single_sign_on), name="single_sign_on"),
    path(
        "single-sign-on/callback/",
        login_not_required(views.single_sign_on_callback),
        name="single_sign_on_callback",
    ),
    path("set-password/<uidb64>/<token>/", views.SetPassword.as_view(), name="set_password"),
    path("account/", views.own_account, name="own_account"),
    path("account/end-logins/", views.end_own_logins, name="end_own_logins"),
    path("accounts/", views.accounts, name="accounts"),
    path("accounts/add/", views.add_account, name="add_account"),
    path("accounts/log/", views.account_log, name="account_log"),
    path("accounts/<int:account_id>/", views.account, name="account"),
    path("accounts/<int:account_id>/change/", views.change_account, name="change_account"),
]
