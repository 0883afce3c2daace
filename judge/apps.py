"""The judge as a Django application, which provides its management command and sets its folders."""

import os

from django.apps import AppConfig
from django.conf import settings


class JudgeConfig(AppConfig):
    name = "judge"

    def ready(self) -> None:
        """Set the folders of the judge, which does not read Django's settings."""
        os.environ["JUDGE_CACHE"] = str(settings.JUDGE_CACHE)
        os.environ["JUDGE_TEMPORARY"] = str(settings.JUDGE_TEMPORARY)
