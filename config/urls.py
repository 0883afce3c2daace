"""The URLs of the site; each app lists its own pages."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path

from config.health import healthz

handler400 = "config.errors.bad_request"

urlpatterns = [
    path("healthz", login_not_required(healthz), name="healthz"),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("benchmark.urls")),
    path("", include("tutoring.urls")),
]
