"""Reads the conversation of a request from the store that replicas share, before the request is mapped."""

from __future__ import annotations

from streamweir.codec.answer_ids import is_answer_id
from streamweir.requests.canonical import Request
from streamweir.requests.messages import tool_results
from streamweir_gateway.requests.conversation_sync import ConversationSync

__all__ = ["load_conversation"]


async def load_conversation(sync: ConversationSync, request: Request, key: str | None) -> None:
    """Update the conversations of this process with what other replicas have stored about that of a request.

    Args:
        sync: shares the conversations of the endpoint with other processes.
        request: the canonical request.
        key: the name of the client's key.
    """
    results = [message.get("tool_call_id", "") for message in tool_results(request.get("messages", []))]
    answers = [answer["interaction_id"] for answer in request.get("resume", [])]
    await sync.load(key, request.get("thread_id", ""), [*answers, *filter(is_answer_id, results)])
