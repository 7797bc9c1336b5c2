"""Reads and writes requests of `useChat`: a chat of UI messages, AI SDK 5, 6 and 7.

Source: bodies of ai 5.0.0, 6.0.326 and 7.0.172 (`DefaultChatTransport`), the types of `UIMessage` in them;
the request contract, sections 3 to 5. Intended difference: a page may add `resume` to the body, with answers
in the canonical form to questions for which the protocol has no form.
"""

from __future__ import annotations

from typing import Final

from streamweir.dialects.vercel_ui.request_reading import read_chat
from streamweir.dialects.vercel_ui.request_writing import write_chat
from streamweir.requests.sides import RequestReader, RequestWriter

__all__ = ["READER", "WRITER"]

READER: Final = RequestReader(
    read_chat, has_own_threads=True, field_names={"message": "messages", "thread_id": "id"}
)
WRITER: Final = RequestWriter(
    write_chat, history="all", threads="client", takes=frozenset({"system", "history", "files"})
)
