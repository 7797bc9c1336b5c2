"""Reads and writes requests of the standard protocol: the canonical fields, and old clients' names for them.

Source: the request contract, sections 2 to 4.
"""

from __future__ import annotations

from typing import Any, Final, cast

from streamweir.requests.canonical import FIELDS, LOSSES, PARAMETERS, Message, Part, Request, ToolCall
from streamweir.requests.canonical_reader import read_fields
from streamweir.requests.fields import Fields
from streamweir.requests.opaque_values import ALL_DIALECTS
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.own_turns import without_places
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written

__all__ = ["READER", "WRITER"]


def _read(fields: Fields) -> Request:
    return read_fields(fields, takes_old_names=True)


def _write(outgoing: Outgoing) -> Written:
    """Return the canonical request unchanged."""
    request: dict[str, Any] = {**outgoing.request, "stream": True}
    if messages := [_message(message, outgoing) for message in outgoing.messages]:
        request["messages"] = messages
    outgoing.parameters(*PARAMETERS)
    extra = {name: value for name, value in outgoing.extra.items() if name not in FIELDS}
    body = {name: request[name] for name in FIELDS if name in request and name != "extra"}
    return Written({**body, **extra})


def _message(message: Message, outgoing: Outgoing) -> Message:
    """Return the message with the opaque values that this upstream has made."""
    if not outgoing.is_own(message):
        return without_places(message)
    content = message.get("content")
    made: dict[str, Any] = {**message}
    if isinstance(content, list):
        made["content"] = [_opened(part, outgoing) for part in content]
    if calls := message.get("tool_calls"):
        made["tool_calls"] = [_opened(call, outgoing) for call in calls]
    return cast("Message", made)


def _opened(item: Part | ToolCall, outgoing: Outgoing) -> dict[str, Any]:
    own = outgoing.opaque_of(item)
    return {**item, "opaque": own} if own else {**item}


READER: Final = RequestReader(_read, has_resume=True, sends_new_turns=True)
WRITER: Final = RequestWriter(
    _write, history="all", threads="client", takes=frozenset(LOSSES), native_opaque=ALL_DIALECTS
)
