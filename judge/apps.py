"""The judge as a Django application: for its management command, and to keep its cache with all other data."""

import os

from django.apps import AppConfig
from django.conf import settings


class JudgeConfig(AppConfig):
    name = "judge"

    def ready(self) -> None:
        """Tell the judge, which knows no settings, where to keep its launcher."""
        os.environ["JUDGE_CACHE"] = str(settings.JUDGE_CACHE)
