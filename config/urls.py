"""Every address of the site; each app lists its own pages."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from config.health import healthz

handler400 = "config.errors.bad_request"

urlpatterns = [
    path("healthz", login_not_required(healthz), name="healthz"),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
    path("", include("benchmark.urls")),
    path("", include("tutoring.urls")),
]
