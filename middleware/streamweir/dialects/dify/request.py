"""Writes requests to Dify: a question with named inputs for chats, only inputs for workflows and completions.

Source: Dify's service API; the request contract, sections 4 and 5.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.requests.canonical import Part
from streamweir.requests.media import media_type_of
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written

__all__ = ["WRITER"]

_WITHOUT_QUERY: Final = re.compile(r"/(?:workflows/(?:[^/]+/)?run|completion-messages)/?\Z")
_KINDS: Final = {"file": "document"}
_USER: Final = "streamweir"


def _write(outgoing: Outgoing) -> Written:
    has_query = _WITHOUT_QUERY.search(outgoing.path) is None
    if not has_query:
        outgoing.forget_thread()
    body: dict[str, Any] = {
        "inputs": dict(outgoing.inputs),
        "user": outgoing.user or _USER,
        "response_mode": "streaming",
    }
    if has_query:
        body |= {"query": outgoing.text, "conversation_id": outgoing.thread_id or ""}
    else:
        body["inputs"] = {"query": outgoing.text, **outgoing.inputs}
    if files := [_file(part) for part in outgoing.files("remote")]:
        body["files"] = files
    return Written(body)


def _file(part: Part) -> dict[str, str]:
    kind = part["type"]
    if kind == "file" and media_type_of(part).startswith("image/"):
        kind = "image"
    return {"type": _KINDS.get(kind, kind), "transfer_method": "remote_url", "url": part["url"]}


WRITER: Final = RequestWriter(_write, threads="server", takes=frozenset({"files", "inputs"}), answers=False)
