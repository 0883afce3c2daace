"""The judge as a Django application, which provides its management command and sets its cache folder."""

import os

from django.apps import AppConfig
from django.conf import settings


class JudgeConfig(AppConfig):
    name = "judge"

    def ready(self) -> None:
        """Set the cache folder of the judge, which does not read Django's settings."""
        os.environ["JUDGE_CACHE"] = str(settings.JUDGE_CACHE)
