"""The plain and the usual pieces of text of every dialect, as servers write them, by the hundred."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

__all__ = ["TEXTS", "body_of"]

_IDS: Final = "0c0ffee0-0000-4000-8000-000000000001"
_CREATED: Final = 1_790_000_000
_PADDING: Final = "abcdefghijklmnopqrstuvwxyz"


def _langchain(text: str) -> dict[str, Any]:
    """Return a chunk of a chat model, as LangChain writes it."""
    return {
        "content": text,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "AIMessageChunk",
        "name": None,
        "id": "lc_run--1",
        "tool_calls": [],
        "invalid_tool_calls": [],
        "usage_metadata": None,
        "tool_call_chunks": [],
        "chunk_position": None,
    }


def _chat(text: str, **more: Any) -> dict[str, Any]:
    """Return a chunk of a chat completion."""
    choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}
    shared = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": _CREATED, "model": "m-1"}
    return {**shared, "choices": [choice], **more}


def _a2a(text: str) -> dict[str, Any]:
    artifact = {"artifactId": "answer", "parts": [{"kind": "text", "text": text}]}
    update = {"kind": "artifact-update", "taskId": _IDS, "contextId": "c1", "append": True}
    return {"jsonrpc": "2.0", "id": "r1", "result": {**update, "artifact": artifact}}


def _a2a_status(text: str) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    message = {"kind": "message", "role": "agent", "messageId": f"m-{text}", "parts": parts}
    status = {"state": "working", "message": message}
    update = {"kind": "status-update", "taskId": _IDS, "contextId": "c1", "final": False}
    return {"jsonrpc": "2.0", "id": "r1", "result": {**update, "status": status}}


def _adk(text: str) -> dict[str, Any]:
    content = {"parts": [{"text": text}], "role": "model"}
    return {"content": content, "partial": True, "invocationId": "e1", "author": "shop", "id": "m1"}


def _agno(text: str) -> dict[str, Any]:
    shared = {"created_at": _CREATED, "event": "RunContent", "agent_id": "a", "agent_name": "a"}
    return {**shared, "run_id": _IDS, "session_id": "s", "content": text, "content_type": "str"}


def _coze(text: str) -> dict[str, Any]:
    shared = {"id": "m-1", "conversation_id": "cv-9", "bot_id": "b-1", "chat_id": "c-1"}
    return {**shared, "role": "assistant", "type": "answer", "content": text, "content_type": "text"}


def _dify(text: str) -> dict[str, Any]:
    shared = {"event": "message", "task_id": "tk-1", "conversation_id": "cv-1", "message_id": "mg-1"}
    return {**shared, "created_at": _CREATED, "answer": text, "from_variable_selector": ["answer", "answer"]}


def _easyflow(text: str) -> dict[str, Any]:
    shared = {"protocol": "easyflow-chat", "version": "1.1", "domain": "llm", "type": "message"}
    return {**shared, "conversation_id": "c-1", "message_id": "m-1", "payload": {"delta": text}}


def _gemini(text: str) -> dict[str, Any]:
    content = {"parts": [{"text": text}], "role": "model"}
    return {"candidates": [{"content": content, "index": 0}], "modelVersion": "m-1", "responseId": "r1"}


def _langgraph_event(text: str) -> dict[str, Any]:
    metadata = {"thread_id": "t1", "langgraph_step": 1, "langgraph_node": "agent"}
    shared = {"event": "on_chat_model_stream", "data": {"chunk": _langchain(text)}, "run_id": _IDS}
    return {**shared, "name": "ChatOpenAI", "tags": ["seq:step:1"], "metadata": metadata, "parent_ids": []}


def _langgraph_server(text: str) -> list[Any]:
    return [_langchain(text), {"langgraph_node": "agent", "langgraph_step": 1, "thread_id": "t1"}]


def _llama(text: str) -> dict[str, Any]:
    return {"value": {"delta": text}, "qualified_name": "app.Token", "type": "Token", "types": None}


def _ollama(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"model": "m:1b", "created_at": "2026-09-01T08:00:00.1Z", "message": message, "done": False}


def _responses(text: str) -> dict[str, Any]:
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    return {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}


def _ragflow(text: str) -> dict[str, Any]:
    shared = {"event": "message", "message_id": "m1", "created_at": _CREATED, "task_id": "t1"}
    return {**shared, "data": {"content": text}, "session_id": "s1"}


def _envelope(text: str) -> dict[str, Any]:
    shared = {"type": "content", "thread_id": "th-1", "run_id": "r1", "node_name": "agent"}
    more = {"timestamp": 1_790_000_000_123, "tags": [], "trace_id": "tr-1", "observation_id": ""}
    return {**shared, **more, "parent_observation_id": "", "data": {"delta": text}}


def _sse(message: Callable[[str], Any], event: str | None = None) -> Callable[[str, int], bytes]:
    """Return the writer of SSE blocks with such messages."""
    start = b"" if event is None else b"event: %b\n" % event.encode()
    return lambda text, _: b"%bdata: %b\n\n" % (start, _json(message(text)))


def _lines(message: Callable[[str], Any], prefix: bytes = b"") -> Callable[[str, int], bytes]:
    """Return the writer of lines with such messages."""
    return lambda text, _: b"%b%b\n" % (prefix, _json(message(text)))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _padded(text: str, number: int) -> bytes:
    padding = _PADDING[: 1 + number * 7 % len(_PADDING)]
    return b"data: %b\n\n" % _json(_chat(text, obfuscation=padding))


def _numbered(text: str, number: int) -> bytes:
    message = {**_responses(text), "sequence_number": number}
    return b"event: response.output_text.delta\ndata: %b\n\n" % _json(message)


def _standard(text: str, number: int) -> bytes:
    metadata = {"request_id": "req_1", "timestamp": _CREATED * 1000, "sequence": number}
    message = {"type": "content", "data": {"content": text}, "metadata": metadata}
    return b"id: %d\ndata: %b\n\n" % (number, _json(message))


TEXTS: Final[dict[str, Callable[[str, int], bytes]]] = {
    "a2a": _sse(_a2a),
    "a2a, a status with a message": _sse(_a2a_status),
    "ag-ui": _sse(lambda text: {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": text}),
    "agno": _sse(_agno, "RunContent"),
    "anthropic": _sse(
        lambda text: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        "content_block_delta",
    ),
    "coze": _sse(_coze, "conversation.message.delta"),
    "data-formulator": _lines(lambda text: {"type": "text_delta", "content": text}),
    "dify": _sse(_dify),
    "easyflow": _sse(_easyflow, "message"),
    "fastgpt": _sse(_chat, "answer"),
    "flowise": _sse(lambda text: {"event": "token", "data": text}),
    "gemini": _sse(_gemini),
    "google-adk": _sse(_adk),
    "langgraph-events": _sse(_langgraph_event),
    "langgraph-server": _sse(_langgraph_server, "messages"),
    "langserve": _sse(_langchain, "data"),
    "legacy": _sse(lambda text: {"type": "token", "content": text}),
    "llama-workflows": _lines(_llama),
    "ollama": _lines(_ollama),
    "openai-chat": _sse(_chat),
    "openai-chat, with padding": _padded,
    "openai-responses": _numbered,
    "ragflow": _sse(_ragflow),
    "standard": _standard,
    "stream-envelope": _sse(_envelope),
    "vercel-data": _lines(str, b"0:"),
    "vercel-ui": _sse(lambda text: {"type": "text-delta", "id": "txt-0", "delta": text}),
}
"""By dialect, and the kind of its messages: the bytes of a piece of text, by its number."""


def body_of(name: str, texts: int) -> list[bytes]:
    """Return so many pieces of text in the form `name` of `TEXTS`."""
    return [TEXTS[name](f"word{number} ", number) for number in range(texts)]
