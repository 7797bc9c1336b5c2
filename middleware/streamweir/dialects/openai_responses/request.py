"""Reads and writes requests of the Responses API: a list of items in place of messages.

Source: the Responses API (2026); the request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.dialects.openai_responses.request_input import DIALECT
from streamweir.dialects.openai_responses.request_items import written_items
from streamweir.dialects.openai_responses.request_mending import mend
from streamweir.dialects.openai_responses.request_reading import read_responses
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]

_DEFAULT_MODEL: Final = "default"


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    parameters = outgoing.parameters("temperature", "top_p", "max_tokens")
    choice = request.get("tool_choice")
    body = without_absent(
        model=request.get("model") or _DEFAULT_MODEL,
        instructions=outgoing.system,
        input=written_items(outgoing),
        stream=True,
        tools=[{"type": "function", **tool} for tool in request.get("tools", [])],
        tool_choice={"type": "function", **choice} if isinstance(choice, dict) else choice,
        temperature=parameters.get("temperature"),
        top_p=parameters.get("top_p"),
        max_output_tokens=parameters.get("max_tokens"),
        user=outgoing.user,
        metadata=request.get("metadata"),
        text=_text_format(request.get("response_format")),
    )
    if not body.get("instructions"):
        body.pop("instructions", None)
    return Written({**outgoing.extra, **body})


def _text_format(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    match given:
        case {"type": "json_schema", "json_schema": dict(schema)}:
            return {"format": {"type": "json_schema", **schema}}
        case {"type": str()}:
            return {"format": given}
    return None


READER: Final = RequestReader(
    read_responses,
    has_own_threads=True,
    sends_new_turns=True,
    answers_by_message=True,
    field_names={"message": "input", "messages": "input", "thread_id": "conversation"},
)
WRITER: Final = RequestWriter(
    _write,
    history="all",
    takes=frozenset({"system", "history", "files", "tools", "response_format"}),
    mend=mend,
    native_opaque=DIALECT,
)
