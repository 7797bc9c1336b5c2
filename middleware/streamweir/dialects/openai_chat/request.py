"""Reads and writes requests of chat completions, a format that many servers and clients use.

Source: the request contract, sections 3 and 4.
"""

from __future__ import annotations

from typing import Final

from streamweir.dialects.openai_chat.request_mending import mend, refuses_field
from streamweir.requests.openai_chat import chat_body, read_chat
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written

__all__ = ["READER", "WRITER"]


def _write(outgoing: Outgoing) -> Written:
    return Written(chat_body(outgoing))


READER: Final = RequestReader(read_chat, answers_by_message=True, field_names={"message": "messages"})
WRITER: Final = RequestWriter(
    _write,
    mend=mend,
    is_lasting=refuses_field,
    history="all",
    takes=frozenset({"system", "history", "files", "tools", "response_format"}),
    native_opaque="openai-chat",
)
