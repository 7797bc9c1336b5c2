"""Reads the ids of the conversation from a client's request, whether or not other fields are read.

Source: the request contract, section 3; the contract of resumable streams, section 3 (`find`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.requests.errors import RequestError
from streamweir.requests.fields import Fields
from streamweir.requests.sides import RequestReader

__all__ = ["conversation_names"]


def conversation_names(body: Mapping[str, Any], reader: RequestReader | None) -> dict[str, str]:
    """Return the ids in a request under the keys `thread_id` and `session_id`; an absent id is left out.

    Args:
        body: the body of the request, or the object made of its query if there is no body.
        reader: the reader of the client's protocol; None: the protocol has no reader.
    """
    named = {kind: body.get(kind) for kind in ("thread_id", "session_id")}
    named["thread_id"] = named["thread_id"] or _thread(body, reader)
    return {kind: value for kind, value in named.items() if isinstance(value, str) and value}


def _thread(body: Mapping[str, Any], reader: RequestReader | None) -> str | None:
    if reader is None:
        return None
    try:
        return reader.read(Fields(body)).get("thread_id")
    except RequestError:
        return None
