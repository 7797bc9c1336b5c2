"""Writes requests to Coze: messages for the bot that the configuration names, or results for a waiting chat.

Source: the documentation of the open platform (v3 chat); the request contract, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from streamweir.jsontext import write_json_text
from streamweir.requests.canonical import Message
from streamweir.requests.messages import files_of, text_of_message
from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

_CHAT: Final = re.compile(r"/v3/chat/?\Z")
_USER: Final = "streamweir"
_TYPES: Final = {"user": "question", "assistant": "answer"}
_REFUSED: Final = ("cancel", "reject")
_FILES: Final = {"image": "image", "audio": "audio"}


def _write(outgoing: Outgoing) -> Written:
    if outgoing.answers:
        return _answered(outgoing)
    if outgoing.system:
        outgoing.lose("system")
    body = {
        "user_id": outgoing.user or _USER,
        "stream": True,
        "auto_save_history": True,
        "additional_messages": [
            _message(message, outgoing) for message in outgoing.new_messages if message["role"] != "system"
        ],
        **without_absent(custom_variables=outgoing.inputs),
    }
    query = {"conversation_id": outgoing.thread_id} if outgoing.thread_id else {}
    return Written(body, query=query)


def _message(message: Message, outgoing: Outgoing) -> dict[str, Any]:
    role = "assistant" if message["role"] == "assistant" else "user"
    text = text_of_message(message)
    if message["role"] == "tool":
        text = f"tool: {text}"
    files = [_file(part) for part in files_of(message) if "url" in part]
    if len(files) < len(files_of(message)):
        outgoing.lose("files")
    content, kind = text, "text"
    if files:
        parts = [{"type": "text", "text": text}] if text else []
        content, kind = write_json_text([*parts, *files]), "object_string"
    return {"role": role, "type": _TYPES[role], "content": content, "content_type": kind}


def _file(part: Mapping[str, Any]) -> dict[str, str]:
    return {"type": _FILES.get(part["type"], "file"), "file_url": part["url"]}


def _answered(outgoing: Outgoing) -> Written:
    """Return the request with the results of the calls that a chat waits for."""
    held = outgoing.held(outgoing.answers[0])
    chat, conversation = held.get("chat_id"), held.get("conversation_id")
    if not isinstance(chat, str) or not isinstance(conversation, str):
        raise outgoing.cannot_answer()
    outputs = [
        {
            "tool_call_id": _call_id(outgoing.held(answer), answer["interaction_id"]),
            "output": "cancelled" if answer["action"] in _REFUSED else answer_text(answer.get("value")),
        }
        for answer in outgoing.answers
    ]
    return Written(
        {"tool_outputs": outputs, "stream": True},
        path=_CHAT.sub("/v3/chat/submit_tool_outputs", outgoing.path),
        query={"conversation_id": conversation, "chat_id": chat},
    )


def _call_id(held: Mapping[str, Any], interaction_id: str) -> str:
    """Return the server's id of a call, which clients may know by another id."""
    own = held.get("tool_call_id")
    return own if isinstance(own, str) and own else interaction_id


WRITER: Final = RequestWriter(
    _write,
    history="new",
    threads="server",
    takes=frozenset({"history", "files", "inputs"}),
    needs=("bot_id",),
)
