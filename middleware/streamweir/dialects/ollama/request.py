"""Writes requests to Ollama: a conversation for `/api/chat`, a text for `/api/generate`.

Source: ollama/ollama `docs/api.md`; the request contract, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.call_arguments import arguments_object
from streamweir.requests.canonical import Message
from streamweir.requests.content import parts_of
from streamweir.requests.kept_message import kept_fields
from streamweir.requests.messages import files_of, text_of_message
from streamweir.requests.openai_chat import chat_tools
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

_GENERATE: Final = re.compile(r"/generate/?\Z")
_DEFAULT_MODEL: Final = "default"
_OPTIONS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "num_predict",
    "stop": "stop",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    options = {_OPTIONS[name]: value for name, value in outgoing.parameters(*_OPTIONS).items()}
    common = without_absent(model=request.get("model") or _DEFAULT_MODEL, options=options)
    body = _generate(outgoing) if _GENERATE.search(outgoing.path) else _chat(outgoing)
    return Written({**common, **body, "stream": True})


def _chat(outgoing: Outgoing) -> dict[str, Any]:
    messages = answered_calls(outgoing)
    names = {call["id"]: call["name"] for message in messages for call in message.get("tool_calls", [])}
    return without_absent(
        messages=[_message(message, names, outgoing) for message in messages],
        tools=chat_tools(outgoing.request.get("tools", [])),
    )


def _message(message: Message, names: Mapping[str, str], outgoing: Outgoing) -> dict[str, Any]:
    if (kept := kept_fields(message)) is not None:
        return kept
    calls = [
        {"function": {"name": call["name"], "arguments": arguments_object(call)}}
        for call in message.get("tool_calls", [])
    ]
    found = without_absent(
        thinking=_thinking(message) or None,
        images=_images(message, outgoing),
        tool_calls=calls,
        tool_name=names.get(message.get("tool_call_id", "")) if message["role"] == "tool" else None,
    )
    return {"role": message["role"], "content": text_of_message(message), **found}


def _thinking(message: Message) -> str:
    """Return the reasoning in a message; reasoning of other dialects has been left out before."""
    parts = parts_of(message.get("content"))
    return "".join(part.get("text", "") for part in parts if part["type"] == "reasoning")


def _images(message: Message, outgoing: Outgoing) -> Sequence[str]:
    """Return the images in a message as base64; other files are counted as lost."""
    files = files_of(message)
    images = [part["base64"] for part in files if part["type"] == "image" and "base64" in part]
    if len(images) < len(files):
        outgoing.lose("files")
    return images


def _generate(outgoing: Outgoing) -> dict[str, Any]:
    """Return a request with one text, which holds the earlier conversation; the system prompt is separate."""
    if outgoing.answers:
        raise outgoing.cannot_answer()
    if outgoing.request.get("tools"):
        outgoing.lose("tools")
    files = outgoing.files("bytes")
    images = [part["base64"] for part in files if part["type"] == "image"]
    if len(images) < len(files):
        outgoing.lose("files")
    return without_absent(prompt=outgoing.text_beside_system, system=outgoing.system or None, images=images)


WRITER: Final = RequestWriter(
    _write, history="all", takes=frozenset({"system", "history", "files", "tools"}), native_opaque="ollama"
)
