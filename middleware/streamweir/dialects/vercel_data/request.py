"""Writes requests to servers of AI SDK 4: a chat of messages with parts.

Source: `@ai-sdk/ui-utils` 1.2.11 (`UIMessage`) and `ai` 4.3.19 (`convertToCoreMessages`), which reads the
files of a user only from `experimental_attachments`; the request contract, sections 4 and 5.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.canonical import Message
from streamweir.requests.media import media_type_of, url_of
from streamweir.requests.messages import files_of, text_of_message
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

Turn = dict[str, Any]


def _write(outgoing: Outgoing) -> Written:
    chat_id = outgoing.thread_id or outgoing.new_id()
    turns: list[Turn] = []
    calls: dict[str, Turn] = {}
    for message in answered_calls(outgoing):
        if message["role"] == "tool":
            if call := calls.get(message.get("tool_call_id", "")):
                call |= _result(message, outgoing)
            continue
        turn = _turn(message, calls, outgoing)
        if turn["role"] == "assistant" and turns and turns[-1]["role"] == "assistant":
            turns[-1]["content"] += turn["content"]
            turns[-1]["parts"] += [{"type": "step-start"}, *turn["parts"]]
        else:
            turns.append(turn)
    return Written({"id": chat_id, "messages": turns})


def _turn(message: Message, calls: dict[str, Turn], outgoing: Outgoing) -> Turn:
    text = text_of_message(message)
    parts: list[Turn] = [{"type": "text", "text": text}] if text else []
    attachments = _attachments(message, outgoing)
    parts += [
        {"type": "file", "mimeType": media_type_of(file), "data": file["base64"]}
        for file in files_of(message)
        if "base64" in file
    ]
    for call in message.get("tool_calls", []):
        found = {"toolCallId": call["id"], "toolName": call["name"], "args": call["arguments"]}
        calls[call["id"]] = {"state": "call", **found}
        parts.append({"type": "tool-invocation", "toolInvocation": calls[call["id"]]})
    return {
        "id": message.get("id") or outgoing.new_id(),
        "role": message["role"],
        "content": text,
        "parts": parts,
        **without_absent(experimental_attachments=attachments),
    }


def _attachments(message: Message, outgoing: Outgoing) -> list[Turn]:
    """Return the files of a message that have an address; other files are counted as lost."""
    found: list[Turn] = []
    for file in files_of(message):
        url = url_of(file)
        if url is None:
            outgoing.lose("files")
        else:
            found.append(without_absent(name=file.get("name"), contentType=media_type_of(file), url=url))
    return found


def _result(message: Message, outgoing: Outgoing) -> Turn:
    """Return the fields of a result: its text, since pages have no place for the files of a tool."""
    text = text_of_message(message)
    if files_of(message):
        outgoing.lose("files")
    return {"state": "result", "result": {"error": text} if message.get("is_error") else text}


WRITER: Final = RequestWriter(
    _write, history="all", threads="client", takes=frozenset({"system", "history", "files"})
)
