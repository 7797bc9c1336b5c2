"""Writes requests to Flowise: one question, with variables and uploads.

Source: Flowise's prediction API; the request contract, sections 4 and 5.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.canonical import Part
from streamweir.requests.media import data_url, media_type_of
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]


def _write(outgoing: Outgoing) -> Written:
    settings = without_absent(sessionId=outgoing.thread_id, vars=outgoing.inputs)
    body = without_absent(
        chatId=outgoing.thread_id,
        overrideConfig=settings,
        uploads=[_upload(part) for part in outgoing.files()],
    )
    return Written({"question": outgoing.text, "streaming": True, **body})


def _upload(part: Part) -> dict[str, Any]:
    """Return an uploaded file, by its URL or as a data URL."""
    media_type = media_type_of(part)
    kind = "audio" if part["type"] == "audio" else "file"
    held = {"type": "url", "data": part["url"]} if "url" in part else {"type": kind, "data": data_url(part)}
    return {**held, "name": part.get("name") or "file", "mime": media_type}


WRITER: Final = RequestWriter(_write, threads="client", takes=frozenset({"files", "inputs"}), answers=False)
