"""Requests of readers and reviewers through Django's test client."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any
from uuid import uuid4

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def post(client: Client, path: str, **form: object) -> tuple[int, dict]:
    answer = client.post(path, {"command": str(uuid4()), **form}, headers={"Accept": "application/json"})
    return answer.status_code, answer.json()


def whole(answer: Any) -> str:
    """Return the body of a page, or of a streamed download."""

    async def joined() -> bytes:
        return b"".join([chunk async for chunk in answer])

    return (async_to_sync(joined)() if answer.streaming else answer.content).decode()


def content(answer: Any) -> str:
    """Return the body of a response; of an archive, the bodies of its files."""
    if answer.headers.get("Content-Type") != "application/zip":
        return whole(answer)
    with zipfile.ZipFile(BytesIO(b"".join(answer) if answer.streaming else answer.content)) as archive:
        return "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())
