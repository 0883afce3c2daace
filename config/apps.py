from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        import config.checks  # noqa: F401  (registers the deployment checks)
