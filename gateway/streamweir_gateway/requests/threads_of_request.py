"""Adds the stored history of a thread to a request, and the turn of the answer to the history.

Source: the conversation contract, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from streamweir.requests.answered_calls import result_of
from streamweir.requests.canonical import Message, Request
from streamweir.requests.sides import RequestReader
from streamweir_gateway.requests.asked_upstream import AskedUpstream
from streamweir_gateway.requests.history_tap import HistoryTap
from streamweir_gateway.requests.kept_history import KeptHistory
from streamweir_gateway.requests.sound_messages import answered_messages

__all__ = ["WithHistory", "with_history"]


class WithHistory(NamedTuple):
    """A request with the history of its thread.

    Attributes:
        request: the canonical request.
        tap: adds the turn of the answer to the history; None: the thread of the request is not stored.
    """

    request: Request
    tap: HistoryTap | None = None


async def with_history(
    request: Request,
    reader: RequestReader,
    history: KeptHistory,
    key: str | None,
    upstreams: Sequence[AskedUpstream],
) -> WithHistory:
    """Return a request with the stored turns of its thread before its own messages.

    Args:
        request: the canonical request.
        reader: the reader of the client's protocol.
        history: the threads of the endpoint.
        key: the name of the client's key.
        upstreams: the upstreams that may be asked. An upstream that keeps threads itself knows the history.
    """
    thread = request.get("thread_id")
    names_thread = thread is not None or not reader.has_own_threads
    if not reader.sends_new_turns or not names_thread or any(map(_has_threads, upstreams)):
        return WithHistory(request)
    messages = request.get("messages", [])
    begins_anew = any(message["role"] == "assistant" for message in messages)
    earlier = [] if begins_anew or thread is None else await history.find(key, thread)
    if earlier is None:
        return WithHistory(request)  # the store does not answer, and must not lose the history
    system = [message for message in messages if message["role"] == "system"]
    own = [message for message in messages if message["role"] != "system"]
    answers = request.get("resume", [])
    ids = [answer["interaction_id"] for answer in answers]
    whole = answered_messages([*earlier, *own], ids, own=len(own))
    tap = HistoryTap(history, key, thread, [*whole, *map(result_of, answers)])
    if not earlier:
        return WithHistory(request, tap)
    changed: list[Message] = [*system, *whole]
    return WithHistory(cast("Request", {**request, "messages": changed}), tap)


def _has_threads(upstream: AskedUpstream) -> bool:
    writer = upstream.dialect.request_writer
    return writer is not None and writer.threads != "none"
