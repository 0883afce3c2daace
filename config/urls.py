"""The URLs of the site; each app lists its own pages."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, include, path, re_path
from django.views.generic import RedirectView

from config.health import healthz
from config.metrics import metrics
from config.status_page import status

handler400 = "config.errors.bad_request"
handler500 = "config.errors.server_error"

RENAMED_IN_ADMIN = {
    "benchmark/keptfigures": "benchmark/cachedrunreport",
    "tutoring/nearmiss": "tutoring/programscore",
    "tutoring/settlement": "tutoring/reviewoutcome",
}
"""Admin addresses of models that older versions named differently; rows kept their primary keys."""


def redirect_in_admin(former: str, current: str) -> URLPattern:
    """Return a permanent redirect of every address below `former`; GET parameters are kept."""
    target = f"/admin/{current}/%(rest)s"
    return re_path(
        rf"^admin/{former}/(?P<rest>.*)$", RedirectView.as_view(url=target, permanent=True, query_string=True)
    )


urlpatterns = [
    path("healthz", login_not_required(healthz), name="healthz"),
    path("metrics", login_not_required(metrics), name="metrics"),
    path("status/", status, name="status"),
    path("", include(([redirect_in_admin(*names) for names in RENAMED_IN_ADMIN.items()], "former_admin"))),
    # One login page, with its limits, instead of the second one of the administration pages.
    path(
        "admin/login/",
        login_not_required(RedirectView.as_view(pattern_name="login", query_string=True)),
        name="admin_login",
    ),
    path("admin/password_change/", RedirectView.as_view(pattern_name="own_account"), name="admin_password"),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("benchmark.urls")),
    path("", include("tutoring.urls")),
]
