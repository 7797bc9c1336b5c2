"""Clients of the protocols that a gateway answers in, each with the history that its users have.

None of them sends an opaque value back, even where its protocol could: the upstream gets its turns from the
gateway. Each sends numbers as doubles, as a page in JavaScript does.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from loopback import Answer
from streams import sse_messages


def doubled(value: Any) -> Any:
    """Return a JSON value as a page in JavaScript has it."""
    if isinstance(value, dict):
        return {name: doubled(item) for name, item in value.items()}
    if isinstance(value, list):
        return [doubled(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        return int(number) if number.is_integer() else number
    return value


class ProtocolClient:
    """One conversation of one client.

    Attributes:
        calls: those of the last answer that wait for a result: id, name, arguments.
        text: of the last answer.
    """

    protocol: ClassVar[str]
    accept = "application/json"

    def __init__(self) -> None:
        self.history: list[dict[str, Any]] = []
        self.calls: list[tuple[str, str, Any]] = []
        self.text = ""

    def ask(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    def body(self) -> dict[str, Any]:
        return {"model": "m", "messages": self.history}

    def take(self, answer: Answer) -> None:
        """Add an answer to the history."""
        raise NotImplementedError

    def add_results(self) -> None:
        """Add the result of each call."""
        raise NotImplementedError


class ChatClient(ProtocolClient):
    protocol = "openai-chat"

    def take(self, answer: Answer) -> None:
        message = answer.json["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        self.text = message["content"] or ""
        self.calls = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls]
        for call, (_, _, given) in zip(calls, self.calls, strict=True):
            call["function"]["arguments"] = json.dumps(doubled(given))
            call.pop("extra_content", None)
        kept = {"role": "assistant", "content": message["content"], "tool_calls": calls}
        self.history.append({name: value for name, value in kept.items() if value or name == "role"})

    def add_results(self) -> None:
        for call_id, _, _ in self.calls:
            self.history.append({"role": "tool", "tool_call_id": call_id, "content": "done"})


class AnthropicClient(ProtocolClient):
    protocol = "anthropic"

    def body(self) -> dict[str, Any]:
        return {**super().body(), "max_tokens": 100}

    def take(self, answer: Answer) -> None:
        content = [block for block in answer.json["content"] if block["type"] in ("text", "tool_use")]
        self.text = "".join(block["text"] for block in content if block["type"] == "text")
        self.calls = [(b["id"], b["name"], b["input"]) for b in content if b["type"] == "tool_use"]
        self.history.append({"role": "assistant", "content": doubled(content)})

    def add_results(self) -> None:
        results = [{"type": "tool_result", "tool_use_id": call[0], "content": "done"} for call in self.calls]
        self.history.append({"role": "user", "content": results})


class ResponsesClient(ProtocolClient):
    protocol = "openai-responses"

    def body(self) -> dict[str, Any]:
        return {"model": "m", "input": self.history}

    def take(self, answer: Answer) -> None:
        items = [item for item in answer.json["output"] if item["type"] in ("message", "function_call")]
        self.calls, texts = [], []
        for item in items:
            del item["id"]
            if item["type"] == "message":
                texts += [part["text"] for part in item["content"]]
            else:
                given = json.loads(item["arguments"])
                self.calls.append((item["call_id"], item["name"], given))
                item["arguments"] = json.dumps(doubled(given))
        self.text = "".join(texts)
        self.history += items

    def add_results(self) -> None:
        for call_id, _, _ in self.calls:
            self.history.append({"type": "function_call_output", "call_id": call_id, "output": "done"})


class StandardClient(ProtocolClient):
    protocol = "standard"

    def body(self) -> dict[str, Any]:
        return {"messages": self.history}

    def take(self, answer: Answer) -> None:
        message = answer.json["message"]
        self.text = message["content"]
        self.calls = [(c["tool_id"], c["tool_name"], c["arguments"]) for c in message["tool_calls"]]
        calls = [{"id": i, "name": name, "arguments": doubled(given)} for i, name, given in self.calls]
        kept = {"role": "assistant", "content": self.text, "tool_calls": calls}
        self.history.append({name: value for name, value in kept.items() if value})

    def add_results(self) -> None:
        for call_id, _, _ in self.calls:
            self.history.append({"role": "tool", "tool_call_id": call_id, "content": "done"})


class AgUiClient(ProtocolClient):
    protocol = "ag-ui"
    accept = "text/event-stream"

    def ask(self, text: str) -> None:
        self.history.append({"id": f"u{len(self.history)}", "role": "user", "content": text})

    def body(self) -> dict[str, Any]:
        fields = {
            "threadId": "t",
            "runId": "r",
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        return {**fields, "messages": self.history}

    def take(self, answer: Answer) -> None:
        texts: list[str] = []
        calls: dict[str, list[str]] = {}
        for event in answer.events:
            match event["type"]:
                case "TEXT_MESSAGE_CONTENT":
                    texts.append(event["delta"])
                case "TOOL_CALL_START":
                    calls[event["toolCallId"]] = [event["toolCallName"], ""]
                case "TOOL_CALL_ARGS":
                    calls[event["toolCallId"]][1] += event["delta"]
        self.text = "".join(texts)
        self.calls = [(call_id, name, json.loads(given)) for call_id, (name, given) in calls.items()]
        message: dict[str, Any] = {"id": f"a{len(self.history)}", "role": "assistant"}
        if self.text:
            message["content"] = self.text
        if self.calls:
            message["toolCalls"] = [
                {
                    "id": i,
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(doubled(given))},
                }
                for i, name, given in self.calls
            ]
        self.history.append(message)

    def add_results(self) -> None:
        for call_id, _, _ in self.calls:
            result = {"id": f"r{call_id}", "role": "tool", "toolCallId": call_id, "content": "done"}
            self.history.append(result)


class UiClient(ProtocolClient):
    """`useChat`: one message for all steps of an answer."""

    protocol = "vercel-ui"
    accept = "text/event-stream"

    def ask(self, text: str) -> None:
        parts = [{"type": "text", "text": text}]
        self.history.append({"id": f"m{len(self.history)}", "role": "user", "parts": parts})

    def body(self) -> dict[str, Any]:
        return {"id": "chat", "trigger": "submit-message", "messages": self.history}

    def take(self, answer: Answer) -> None:
        parts: list[dict[str, Any]] = [{"type": "step-start"}]
        text, self.calls = "", []
        for event in sse_messages(answer.body):
            if event["type"] == "text-delta":
                text += event["delta"]
            elif event["type"] == "tool-input-available":
                self.calls.append((event["toolCallId"], event["toolName"], event["input"]))
        self.text = text
        if text:
            parts.append({"type": "text", "text": text})
        for call_id, name, given in self.calls:
            call = {"type": f"tool-{name}", "toolCallId": call_id, "state": "input-available"}
            parts.append({**call, "input": doubled(given)})
        if self.history[-1]["role"] == "user":
            self.history.append({"id": f"m{len(self.history)}", "role": "assistant", "parts": []})
        self.history[-1]["parts"] += parts

    def add_results(self) -> None:
        for part in self.history[-1]["parts"]:
            if part["type"].startswith("tool-"):
                part |= {"state": "output-available", "output": "done"}


CLIENTS: tuple[type[ProtocolClient], ...] = (
    *(ChatClient, AnthropicClient, ResponsesClient, StandardClient, AgUiClient, UiClient),
)
