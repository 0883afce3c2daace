"""Responses that a browser stores as files."""

from django.http import HttpResponse


def file_download(content: str | bytes, media_type: str, name: str) -> HttpResponse:
    """Return a response that a browser stores as the file `name`; text is sent as UTF-8."""
    kind = media_type if isinstance(content, bytes) else f"{media_type}; charset=utf-8"
    return HttpResponse(
        content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
