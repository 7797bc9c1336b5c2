"""Reads the conversation of a request from the store that replicas share, before the request is mapped."""

from __future__ import annotations

from streamweir.codec.answer_ids import is_answer_id
from streamweir.requests.canonical import Request
from streamweir.requests.messages import tool_results
from streamweir_gateway.requests.conversations import Conversations

__all__ = ["load_conversation"]


async def load_conversation(conversations: Conversations, request: Request, key: str | None) -> None:
    """Update `conversations` with what other replicas have stored about the conversation of a request.

    Args:
        conversations: the conversations of the endpoint.
        request: the canonical request.
        key: the name of the client's key.
    """
    sync = conversations.sync
    if sync is None:
        return
    results = [message.get("tool_call_id", "") for message in tool_results(request.get("messages", []))]
    answers = [answer["interaction_id"] for answer in request.get("resume", [])]
    await sync.load(key, request.get("thread_id", ""), [*answers, *filter(is_answer_id, results)])
