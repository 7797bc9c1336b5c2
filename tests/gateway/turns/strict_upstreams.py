"""Upstreams whose models think: they refuse a request that does not show them their turns unchanged.

Each has the same conversation, step by step: two parallel calls, one more call, an answer; then the answer to a
second question. It compares the turns in a request with those that it made, numbers by their digits, and answers
400 with the words of the real service. A request that was mended is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from scripted_upstream import Call, answer

ARGUMENTS = ('{"city": "Paris",  "n": 12345678901234567890, "f": 1.0}', '{"city":"Rome"}')
NEXT = '{"from": "Paris", "to": "Rome"}'
SIGNED = ("c2lnLTE=", "c2lnLTI=", "c2lnLTM=", "c2lnLTQ=")
ANSWERS = ("Take the train.", "You are welcome.")


def exact(data: str | bytes) -> Any:
    """Return the value of JSON with its numbers as texts, so that a changed digit shows."""
    return json.loads(data, parse_int=str, parse_float=str)


class StrictUpstream:
    """One such upstream, for any number of conversations that follow the same steps.

    Attributes:
        bodies: of all requests, as exact values.
        refusals: the words of all refusals.
    """

    dialect: ClassVar[str]
    path: ClassVar[str]
    overlay: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.refusals: list[str] = []

    async def __call__(self, call: Call) -> None:
        """Play the script of one connection."""
        body = exact(call.body)
        self.bodies.append(body)
        if (problem := self.problem(body)) is not None:
            self.refusals.append(problem)
            await call.send(answer(self.refusal(problem), "Content-Type: application/json", status="400 Bad"))
            return
        stream = "".join(f"data: {item}\n\n" for item in self.stream(self.step(body))).encode()
        await call.send(answer(stream, "Content-Type: text/event-stream"))

    def refusal(self, problem: str) -> bytes:
        return json.dumps({"error": {"message": problem, "type": "invalid_request_error"}}).encode()

    def problem(self, body: Any) -> str | None:
        """Return why a request is refused; None if it is taken."""
        raise NotImplementedError

    def step(self, body: Any) -> int:
        """Return which step of the conversation comes next."""
        raise NotImplementedError

    def stream(self, step: int) -> Iterator[str]:
        """Yield the JSON texts of the frames of a step."""
        raise NotImplementedError


class StrictAnthropic(StrictUpstream):
    """The Messages API with thinking on."""

    dialect = "anthropic"
    path = "/v1/messages"
    overlay: ClassVar = {"thinking": {"type": "enabled", "budget_tokens": 1024}}

    def turn(self, step: int) -> str:
        """Return the content of a turn, as JSON."""
        thinking = f'{{"type":"thinking","thinking":"I think {step}.","signature":"{SIGNED[step]}"}}'
        return f"[{thinking},{self._rest(step)}]"

    def _rest(self, step: int) -> str:
        match step:
            case 0:
                hidden = '{"type":"redacted_thinking","data":"cmVk"}'
                return ",".join([hidden, _use("a", "look", ARGUMENTS[0]), _use("b", "look", ARGUMENTS[1])])
            case 1:
                return f'{{"type":"text","text":"And now."}},{_use("c", "ride", NEXT)}'
        return f'{{"type":"text","text":"{ANSWERS[step - 2]}"}}'

    def step(self, body: Any) -> int:
        return sum(message["role"] == "assistant" for message in body["messages"])

    def problem(self, body: Any) -> str | None:
        turns = [message for message in body["messages"] if message["role"] == "assistant"]
        for step, message in enumerate(turns):
            content = message["content"]
            made = exact(self.turn(step))
            if "thinking" not in body:
                made = [block for block in made if "thinking" not in block["type"]]
                made = made[0]["text"] if len(made) == 1 and "text" in made[0] else made
                content = (
                    [block for block in content if block["type"] in ("text", "tool_use")]
                    if isinstance(content, list)
                    else content
                )
                if not _same_calls(made, content):
                    return "the mended turn is another one"
            elif not isinstance(content, list) or "thinking" not in content[0]["type"]:
                found = content if isinstance(content, str) else content[0]["type"]
                if step < 2:
                    return f"Expected `thinking` or `redacted_thinking`, but found `{found}`."
            elif content != made:
                return (
                    f"messages.{step}: `thinking` blocks in the latest message cannot be modified: {content}"
                )
        return None

    def stream(self, step: int) -> Iterator[str]:
        yield '{"type":"message_start","message":{"id":"msg","role":"assistant","model":"m","content":[],"usage":{}}}'
        for index, block in enumerate(_items(self.turn(step))):
            yield from self._block(index, block)
        reason = "tool_use" if step < 2 else "end_turn"
        yield f'{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":9}}}}'
        yield '{"type":"message_stop"}'

    def _block(self, index: int, block: str) -> Iterator[str]:
        fields = json.loads(block)
        start, deltas = dict(fields), []
        match fields["type"]:
            case "thinking":
                start |= {"thinking": "", "signature": ""}
                text = fields["thinking"]
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in (text[:3], text[3:])]
                deltas.append({"type": "signature_delta", "signature": fields["signature"]})
            case "text":
                start |= {"text": ""}
                text = fields["text"]
                deltas = [{"type": "text_delta", "text": piece} for piece in (text[:3], text[3:])]
            case "tool_use":
                start |= {"input": {}}
                text = block[block.index('"input":') + 8 : -1]
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in (text[:5], text[5:])]
        yield json.dumps({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield json.dumps({"type": "content_block_delta", "index": index, "delta": delta})
        yield json.dumps({"type": "content_block_stop", "index": index})


class StrictGemini(StrictUpstream):
    """Gemini 3: the first call of each step since the user's last text has its signature."""

    dialect = "gemini"
    path = "/v1beta/models/m:streamGenerateContent"

    def parts(self, step: int) -> list[str]:
        """Return the parts of a turn, as JSON."""
        thought = f'{{"text":"I think {step}.","thought":true}}'
        match step:
            case 0:
                first = f'{{"functionCall":{{"name":"look","args":{ARGUMENTS[0]}}},"thoughtSignature":"{SIGNED[0]}"}}'
                return [thought, first, f'{{"functionCall":{{"name":"look","args":{ARGUMENTS[1]}}}}}']
            case 1:
                call = f'{{"functionCall":{{"name":"ride","args":{NEXT}}},"thoughtSignature":"{SIGNED[1]}"}}'
                return [thought, '{"text":"And now."}', call]
        return [f'{{"text":"{ANSWERS[step - 2]}","thoughtSignature":"{SIGNED[step]}"}}']

    def step(self, body: Any) -> int:
        return sum(content["role"] == "model" for content in body["contents"])

    def problem(self, body: Any) -> str | None:
        for step, content in enumerate(c for c in body["contents"] if c["role"] == "model"):
            calls = [part for part in content["parts"] if "functionCall" in part]
            made = [part for part in map(exact, self.parts(step)) if "functionCall" in part]
            if [call["functionCall"]["name"] for call in calls] != [
                call["functionCall"]["name"] for call in made
            ]:
                return "the calls are others"
            for index, (call, own) in enumerate(zip(calls, made, strict=True)):
                sent = call.get("thoughtSignature")
                if index and sent is not None:
                    return "thought signature is not valid"
                if not index and sent is None:
                    return "Function call is missing a thought_signature in functionCall parts."
                if sent not in (None, "skip_thought_signature_validator") and call != own:
                    return f"thought signature is not valid: {call}"
        return None

    def refusal(self, problem: str) -> bytes:
        return json.dumps({"error": {"code": 400, "message": problem, "status": "INVALID_ARGUMENT"}}).encode()

    def stream(self, step: int) -> Iterator[str]:
        for part in self.parts(step):
            yield f'{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}},"index":0}}],"responseId":"r"}}'
        yield '{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP","index":0}]}'


class StrictDeepSeek(StrictUpstream):
    """Chat completions in thinking mode: `reasoning_content` of each message with calls, also an empty one."""

    dialect = "openai-chat"
    path = "/v1/chat/completions"

    def message(self, step: int) -> dict[str, Any]:
        thought = {"reasoning_content": "" if step == 1 else f"I think {step}."}
        match step:
            case 0:
                calls = [_chat_call("a", "look", ARGUMENTS[0]), _chat_call("b", "look", ARGUMENTS[1])]
                return {"role": "assistant", "content": None, **thought, "tool_calls": calls}
            case 1:
                calls = [_chat_call("c", "ride", NEXT)]
                return {"role": "assistant", "content": "And now.", **thought, "tool_calls": calls}
        return {"role": "assistant", "content": ANSWERS[step - 2], **thought}

    def step(self, body: Any) -> int:
        return sum(message["role"] == "assistant" for message in body["messages"])

    def problem(self, body: Any) -> str | None:
        for step, sent in enumerate(m for m in body["messages"] if m["role"] == "assistant"):
            made = self.message(step)
            if "tool_calls" not in made:
                continue
            if "reasoning_content" not in sent:
                return "The `reasoning_content` in the thinking mode must be passed back to the API."
            if sent["reasoning_content"] != "" and sent != made:
                return f"The `reasoning_content` was changed: {sent}"
        return None

    def stream(self, step: int) -> Iterator[str]:
        message = self.message(step)
        thought = message["reasoning_content"]
        deltas = [{"role": "assistant", "content": message["content"] and "", "reasoning_content": ""}]
        deltas += [{"reasoning_content": piece} for piece in (thought[:3], thought[3:]) if piece]
        if text := message["content"]:
            deltas += [{"content": text[:3]}, {"content": text[3:]}]
        for index, call in enumerate(message.get("tool_calls", [])):
            given = call["function"]["arguments"]
            first = {**call, "index": index, "function": {**call["function"], "arguments": given[:4]}}
            deltas += [
                {"tool_calls": [first]},
                {"tool_calls": [{"index": index, "function": {"arguments": given[4:]}}]},
            ]
        for delta in deltas:
            yield _chunk(delta, None)
        yield _chunk({}, "tool_calls" if "tool_calls" in message else "stop")
        yield "[DONE]"


class StrictResponses(StrictUpstream):
    """The Responses API with `store: false`: encrypted reasoning directly before the item that it led to."""

    dialect = "openai-responses"
    path = "/v1/responses"
    overlay: ClassVar = {"store": False, "include": ["reasoning.encrypted_content"]}

    def items(self, step: int) -> list[dict[str, Any]]:
        thought = {"type": "reasoning", "id": f"rs_{step}", "summary": [], "encrypted_content": SIGNED[step]}
        match step:
            case 0:
                calls = [_function_call("a", "look", ARGUMENTS[0]), _function_call("b", "look", ARGUMENTS[1])]
                return [thought, *calls]
            case 1:
                return [thought, _function_call("c", "ride", NEXT)]
        return [thought, _message_item(f"msg_{step}", ANSWERS[step - 2])]

    def step(self, body: Any) -> int:
        sent = [item.get("call_id") for item in body["input"] if item.get("type") == "function_call"]
        texts = sum(item.get("role") == "assistant" for item in body["input"])
        return (
            texts + 2
            if texts
            else len({"a": 0, "b": 0, "c": 1}.keys() & {*map(_plain_id, sent)}) // 1
            and (2 if "c" in map(_plain_id, sent) else 1)
        )

    def problem(self, body: Any) -> str | None:
        made = [item for step in range(4) for item in self.items(step)]
        own = {item["id"]: item for item in made}
        before: Any = {}
        for item in body["input"]:
            if item.get("type") == "item_reference" or None in item.values():
                return "a null field is no valid input"
            if "id" in item and item["id"] in own:
                if (
                    item.get("type") == "function_call"
                    and item["id"] != "fc_b"
                    and before.get("type") != "reasoning"
                ):
                    return f"Item '{item['id']}' of type 'function_call' was provided without its required 'reasoning' item"
                if item != own[item["id"]]:
                    return f"Item with id '{item['id']}' not found."
            before = item
        if body.get("store") is False and "reasoning" not in [item.get("type") for item in body["input"]]:
            sent = [item for item in body["input"] if item.get("type") == "function_call"]
            if any("id" in item for item in sent):
                return "Item with id 'fc_a' not found. Items are not persisted when `store` is set to false."
        return None

    def stream(self, step: int) -> Iterator[str]:
        items = self.items(step)
        shown = [{**item, "status": None} if item["type"] == "reasoning" else item for item in items]
        response: dict[str, Any] = {"id": "resp", "object": "response", "model": "m", "store": False}
        yield json.dumps(
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
        )
        for index, item in enumerate(shown):
            place = {"output_index": index, "item": item}
            yield json.dumps({"type": "response.output_item.added", **place})
            if item["type"] == "message":
                text = item["content"][0]["text"]
                for piece in (text[:3], text[3:]):
                    delta = {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": piece}
                    yield json.dumps({"type": "response.output_text.delta", **delta})
            yield json.dumps({"type": "response.output_item.done", **place})
        yield json.dumps(
            {"type": "response.completed", "response": {**response, "status": "completed", "output": shown}}
        )


STRICT: tuple[type[StrictUpstream], ...] = (StrictAnthropic, StrictGemini, StrictDeepSeek, StrictResponses)


def _use(call_id: str, name: str, given: str) -> str:
    return f'{{"type":"tool_use","id":"{call_id}","name":"{name}","input":{given}}}'


def _chat_call(call_id: str, name: str, given: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}


def _function_call(call_id: str, name: str, given: str) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
    return {**call, "arguments": given, "status": "completed"}


def _message_item(item_id: str, text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content}


def _chunk(delta: dict[str, Any], reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return json.dumps(
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )


def _plain_id(call_id: Any) -> str:
    return str(call_id).partition("-")[0]


def _items(array: str) -> list[str]:
    """Return the texts of the items of a JSON array, each as it is written."""
    decoder, found, at = json.JSONDecoder(), [], 1
    while at < len(array) - 1:
        _, end = decoder.raw_decode(array, at)
        found.append(array[at:end])
        at = end + 1
    return found


def _same_calls(made: Any, sent: Any) -> bool:
    """Return whether two contents have the same calls, by id and name."""
    if isinstance(made, str) or isinstance(sent, str):
        return True
    calls = [[(b["id"], b["name"]) for b in content if b["type"] == "tool_use"] for content in (made, sent)]
    return calls[0] == calls[1]
