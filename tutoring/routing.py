"""Addresses of the WebSocket consumers."""

from django.urls import path

from tutoring.views.socket import SessionConsumer

websocket_urlpatterns = [path("ws/sessions/<uuid:session_id>/", SessionConsumer.as_asgi())]
