"""Writes requests to FastGPT: chat completions with `detail`, in the chat that the client names.

Source: FastGPT's documentation of its chat API; the request contract, sections 4 and 5.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.canonical import Message, Part
from streamweir.requests.media import url_of
from streamweir.requests.messages import made_message
from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

_ROLES: Final = ("user", "assistant", "system")


def _write(outgoing: Outgoing) -> Written:
    common = without_absent(chatId=outgoing.thread_id, variables=outgoing.inputs)
    messages = [_message(message, outgoing) for message in _messages(outgoing)]
    return Written({**common, "stream": True, "detail": True, "messages": messages})


def _messages(outgoing: Outgoing) -> list[Message]:
    """Return the messages that the chat does not know yet; an answer is the user's next message."""
    if not outgoing.answers:
        return [_of_known_role(message) for message in outgoing.new_messages]
    (answer, *_) = outgoing.answers
    if answer["action"] in ("cancel", "reject"):
        raise outgoing.cannot_answer()
    return [made_message("user", answer_text(answer.get("value")) or "yes")]


def _of_known_role(message: Message) -> Message:
    """Return the message; results of tools become texts of the user, as FastGPT lacks their role."""
    if message["role"] in _ROLES:
        return message
    content = message.get("content", "")
    return made_message("user", f"tool: {content}" if isinstance(content, str) else content)


def _message(message: Message, outgoing: Outgoing) -> dict[str, Any]:
    content = message.get("content", "")
    if isinstance(content, str):
        return {"role": message["role"], "content": content}
    parts = [found for part in content if (found := _part(part, outgoing)) is not None]
    return {"role": message["role"], "content": parts}


def _part(part: Part, outgoing: Outgoing) -> dict[str, Any] | None:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    url = url_of(part)
    if url is None:
        outgoing.lose("files")
        return None
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return without_absent(type="file_url", name=part.get("name"), url=url)


WRITER: Final = RequestWriter(
    _write, history="new", threads="client", takes=frozenset({"system", "history", "files", "inputs"})
)
