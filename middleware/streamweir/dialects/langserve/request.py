"""Writes requests to LangServe: the input of a runnable, and the conversation in its configuration.

Source: langserve 0.3.3 (`validation.py`, `api_handler.py`); the request contract, sections 4 and 5.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.canonical import Message
from streamweir.requests.messages import files_of, text_of_message
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

_TYPES: Final = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


def _write(outgoing: Outgoing) -> Written:
    takes_messages = outgoing.options.get("input") == "messages"
    body: dict[str, Any] = {"input": _messages(outgoing) if takes_messages else outgoing.text}
    if outgoing.thread_id is not None:
        thread = {"session_id": outgoing.thread_id, "thread_id": outgoing.thread_id}
        body["config"] = {"configurable": thread}
    return Written(body)


def _messages(outgoing: Outgoing) -> list[dict[str, Any]]:
    if any(files_of(message) for message in outgoing.messages):
        outgoing.lose("files")
    return [_message(message) for message in outgoing.messages]


def _message(message: Message) -> dict[str, Any]:
    calls = [
        {"id": call["id"], "name": call["name"], "args": call["arguments"]}
        for call in message.get("tool_calls", [])
    ]
    return {"type": _TYPES[message["role"]], "content": text_of_message(message)} | without_absent(
        tool_calls=calls, tool_call_id=message.get("tool_call_id")
    )


WRITER: Final = RequestWriter(
    _write, threads="client", answers=False, option_values={"input": ("text", "messages")}
)
