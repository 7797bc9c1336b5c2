"""Clients that run tools in a loop; each keeps the parts of an answer that its official library keeps.

Source: openai (`ChatCompletionStreamState`), anthropic (`MessageStream`), @ag-ui/client
(`defaultApplyEvents`), ai (`processUIMessageStream`), in their releases of 2026: how they fold a stream, and
what they send next.
"""

import json
from collections.abc import Iterator
from typing import Any

from streamweir.translation.message_state import MessageStreamHandler

__all__ = ["CLIENTS", "LoopClient"]

Message = dict[str, Any]
Call = tuple[str, str]


class LoopClient:
    """One conversation of a client.

    Attributes:
        messages: of the conversation.
        text: of the last answer.
    """

    protocol = "standard"

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.text = ""

    def ask(self, text: str) -> None:
        """Add a message of the user."""
        self.messages.append({"role": "user", "content": text})

    @property
    def body(self) -> dict[str, Any]:
        """The body of the next request."""
        return {"model": "m", "messages": self.messages, "stream": True}

    def take(self, data: bytes) -> list[Call]:
        """Take an answer into the conversation; return the calls of it: ids and names."""
        raise NotImplementedError

    def take_whole(self, value: Any) -> list[Call]:
        """Take an answer that is one document into the conversation; return the calls of it."""
        raise NotImplementedError

    def answer(self, call: Call, text: str) -> None:
        """Add the result of a call."""
        self.messages.append({"role": "tool", "tool_call_id": call[0], "content": text})


def frames_of(data: bytes) -> Iterator[Any]:
    """Yield the JSON of each frame of SSE."""
    for line in data.decode().split("\n"):
        if line.startswith("data:") and line[5:].strip() not in ("", "[DONE]"):
            yield json.loads(line[5:])


class StandardClient(LoopClient):
    """Keeps the canonical message that the Python client makes of the events."""

    def take(self, data: bytes) -> list[Call]:
        handler = MessageStreamHandler()
        for event in frames_of(data):
            handler.handle_event(event)
        message = handler.message.as_message()
        self.text = handler.message.main_content
        self.messages.append(message)
        return [(call["id"], call["name"]) for call in message.get("tool_calls", [])]


class AnthropicClient(LoopClient):
    """Keeps the blocks of a message."""

    protocol = "anthropic"

    @property
    def body(self) -> dict[str, Any]:
        return {**super().body, "max_tokens": 100}

    def take(self, data: bytes) -> list[Call]:
        blocks: list[Message] = []
        texts: dict[int, str] = {}
        for event in frames_of(data):
            match event:
                case {"type": "content_block_start", "content_block": block}:
                    blocks.append(block)
                case {"type": "content_block_delta", "index": index, "delta": delta}:
                    match delta:
                        case {"type": "input_json_delta", "partial_json": text}:
                            texts[index] = texts.get(index, "") + text
                        case {"type": "signature_delta", "signature": text}:
                            blocks[index]["signature"] = text
                        case {"type": "thinking_delta" | "text_delta"}:
                            name = delta["type"].removesuffix("_delta")
                            blocks[index][name] += delta[name]
        for index, text in texts.items():
            blocks[index]["input"] = json.loads(text or "{}")
        return self._keep(blocks)

    def take_whole(self, value: Any) -> list[Call]:
        return self._keep(value["content"])

    def _keep(self, blocks: list[Message]) -> list[Call]:
        self.messages.append({"role": "assistant", "content": blocks})
        self.text = "".join(block["text"] for block in blocks if block["type"] == "text")
        return [(block["id"], block["name"]) for block in blocks if block["type"] == "tool_use"]

    def answer(self, call: Call, text: str) -> None:
        result = {"type": "tool_result", "tool_use_id": call[0], "content": text}
        if self.messages[-1]["role"] == "user":
            self.messages[-1]["content"].append(result)
        else:
            self.messages.append({"role": "user", "content": [result]})


class ChatClient(LoopClient):
    """Keeps every field of the deltas, as openai's Python library merges them."""

    protocol = "openai-chat"

    def take(self, data: bytes) -> list[Call]:
        message: Message = {}
        for chunk in frames_of(data):
            for choice in chunk["choices"]:
                message = merged(message, choice["delta"])
        for call in message.get("tool_calls", []):
            call.pop("index", None)
        return self._keep(message)

    def take_whole(self, value: Any) -> list[Call]:
        return self._keep(value["choices"][0]["message"])

    def _keep(self, message: Message) -> list[Call]:
        self.messages.append({"content": None, **message, "role": "assistant"})
        self.text = message.get("content") or ""
        return [(call["id"], call["function"]["name"]) for call in message.get("tool_calls") or []]


def merged(before: Message, delta: Message) -> Message:
    """Merge a delta: texts and numbers are added, entries of lists found by their index."""
    for key, value in delta.items():
        known = before.get(key)
        if known is None or key in ("index", "type"):
            before[key] = value
        elif isinstance(known, str) and isinstance(value, str):
            before[key] = known + value
        elif isinstance(known, dict) and isinstance(value, dict):
            before[key] = merged(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            for entry in value:
                if entry["index"] < len(known):
                    known[entry["index"]] = merged(known[entry["index"]], entry)
                else:
                    known.insert(entry["index"], entry)
    return before


class AgUiClient(LoopClient):
    """Keeps messages of texts, reasoning and calls; a value belongs to the entity that it names."""

    protocol = "ag-ui"

    def ask(self, text: str) -> None:
        self.messages.append({"id": f"u{len(self.messages)}", "role": "user", "content": text})

    @property
    def body(self) -> dict[str, Any]:
        rest: Message = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        return {"threadId": "t", "runId": f"r{len(self.messages)}", "messages": self.messages, **rest}

    def take(self, data: bytes) -> list[Call]:
        begin = len(self.messages)
        for event in frames_of(data):
            self._apply(event)
        new = self.messages[begin:]
        self.text = "".join(message.get("content") or "" for message in new if message["role"] == "assistant")
        return [
            (call["id"], call["function"]["name"]) for message in new for call in message.get("toolCalls", [])
        ]

    def _apply(self, event: Message) -> None:
        match event:
            case {"type": "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START" as kind, "messageId": message_id}:
                role = "assistant" if kind.startswith("TEXT") else "reasoning"
                self.messages.append({"id": message_id, "role": role, "content": ""})
            case {"type": "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT", "messageId": message_id}:
                self._message(message_id)["content"] += event["delta"]
            case {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}:
                call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
                parent = event.get("parentMessageId")
                if not self.messages or parent is None or self.messages[-1]["id"] != parent:
                    self.messages.append({"id": parent or call_id, "role": "assistant"})
                self.messages[-1].setdefault("toolCalls", []).append(call)
            case {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": text}:
                self._call(call_id)["function"]["arguments"] += text
            case {"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": entity}:
                holder = self._call(entity) if subtype == "tool-call" else self._message(entity)
                holder["encryptedValue"] = event["encryptedValue"]

    def _message(self, message_id: str) -> Message:
        return next(message for message in self.messages if message["id"] == message_id)

    def _call(self, call_id: str) -> Message:
        calls = (call for message in self.messages for call in message.get("toolCalls", []))
        return next(call for call in calls if call["id"] == call_id)

    def answer(self, call: Call, text: str) -> None:
        self.messages.append({"id": f"t{call[0]}", "role": "tool", "toolCallId": call[0], "content": text})


class VercelClient(LoopClient):
    """Keeps the parts of one UI message; the answers to its calls go on in the same message."""

    protocol = "vercel-ui"

    def ask(self, text: str) -> None:
        parts = [{"type": "text", "text": text}]
        self.messages.append({"id": f"u{len(self.messages)}", "role": "user", "parts": parts})

    @property
    def body(self) -> dict[str, Any]:
        return {"id": "chat", "messages": self.messages, "trigger": "submit-message"}

    def take(self, data: bytes) -> list[Call]:
        if self.messages[-1]["role"] != "assistant":
            self.messages.append({"id": f"a{len(self.messages)}", "role": "assistant", "parts": []})
        parts = self.messages[-1]["parts"]
        begin = len(parts)
        held: dict[str, Message] = {}
        for chunk in frames_of(data):
            self._apply(chunk, parts, held)
        new = parts[begin:]
        self.text = "".join(part["text"] for part in new if part["type"] == "text")
        return [
            (part["toolCallId"], part["type"].removeprefix("tool-"))
            for part in new
            if part.get("state") == "input-available"
        ]

    def _apply(self, chunk: Message, parts: list[Message], held: dict[str, Message]) -> None:
        kind = chunk["type"]
        if kind == "start-step":
            parts.append({"type": "step-start"})
        elif kind in ("text-start", "reasoning-start"):
            part = {"type": kind.removesuffix("-start"), "text": "", "state": "streaming"}
            held[kind[:4] + chunk["id"]] = part
            parts.append(part)
        elif kind in ("text-delta", "text-end", "reasoning-delta", "reasoning-end"):
            part = held[kind[:4] + chunk["id"]]
            part["text"] += chunk.get("delta", "")
            part["state"] = "done" if kind.endswith("end") else "streaming"
            if "providerMetadata" in chunk:
                part["providerMetadata"] = chunk["providerMetadata"]
        elif kind == "tool-input-available":
            part = {
                "type": f"tool-{chunk['toolName']}",
                "toolCallId": chunk["toolCallId"],
                "input": chunk["input"],
            }
            part["state"] = "input-available"
            if "providerMetadata" in chunk:
                part["callProviderMetadata"] = chunk["providerMetadata"]
            parts.append(part)

    def answer(self, call: Call, text: str) -> None:
        part = next(part for part in self.messages[-1]["parts"] if part.get("toolCallId") == call[0])
        part |= {"state": "output-available", "output": text}


class ResponsesClient(LoopClient):
    """Keeps the items of the output, with `store: false` and encrypted reasoning; nulls as they are."""

    protocol = "openai-responses"

    @property
    def body(self) -> dict[str, Any]:
        include = ["reasoning.encrypted_content"]
        return {"model": "m", "input": self.messages, "stream": True, "store": False, "include": include}

    def take(self, data: bytes) -> list[Call]:
        (response,) = [event["response"] for event in frames_of(data) if event["type"] in _ENDS]
        output = response["output"]
        self.messages += output
        texts = [part["text"] for item in output if item["type"] == "message" for part in item["content"]]
        self.text = "".join(texts)
        return [(item["call_id"], item["name"]) for item in output if item["type"] == "function_call"]

    def answer(self, call: Call, text: str) -> None:
        self.messages.append({"type": "function_call_output", "call_id": call[0], "output": text})


_ENDS = ("response.completed", "response.incomplete", "response.failed")

CLIENTS = {
    client.protocol: client
    for client in (StandardClient, AnthropicClient, ChatClient, ResponsesClient, AgUiClient, VercelClient)
}
