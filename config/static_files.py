"""The storage of static files: names with a hash of the content, and compressed copies beside the files.

`manage.py prepare` fills it. WhiteNoise serves the files with a cache time of years, because a changed file has another
name. Pages are not compressed: the size of a compressed page that mixes secrets (the CSRF token) with text of a visitor
reveals the secrets to an attacker who can measure it (BREACH). Static files contain neither.
"""

from django.contrib.staticfiles.apps import StaticFilesConfig
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Static files under hashed names. References in style sheets and imports in scripts use these names too."""

    support_js_module_import_aggregation = True


class StaticFiles(StaticFilesConfig):
    """Django's app of static files, without scripts that no page uses: their comments name files that are missing."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "django_htmx/ext/*"]
