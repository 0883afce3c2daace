"""The ASGI application: pages over HTTP, live sessions over WebSocket."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (Django must be set up before the app imports models)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from benchmark.processes import exclude_loaded_objects, source_version  # noqa: E402
from tutoring.routing import websocket_urlpatterns  # noqa: E402
from tutoring.rules.detectors import detectors  # noqa: E402

source_version()  # before a newer source replaces the loaded one
detectors()  # so that no draft waits for them

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)

exclude_loaded_objects()
