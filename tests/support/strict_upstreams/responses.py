"""The Responses API with `store: false`. Errors: its own, of 2025 and 2026."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from strict_upstreams.model import Body, Refused, StrictModel, pieces_of, sse
from strict_upstreams.script import STEPS, Step

__all__ = ["StrictResponses"]

_NO_REASONING = "Item '{}' of type '{}' was provided without its required 'reasoning' item: '{}'."
_NO_FOLLOWING = "Item '{}' of type 'reasoning' was provided without its required following item."
_NOT_FOUND = (
    "Item with id '{}' not found. Items are not persisted when `store` is set to false."
    " Try again with `store` set to true, or remove this item from your input."
)


class StrictResponses(StrictModel):
    """Wants reasoning directly before the item that it led to, whole and encrypted; ids only beside it.

    Args:
        steps: of the conversation.
        name: part of ids and encrypted contents.
        compares_arguments: changed arguments are refused too, by their bytes.
    """

    def __init__(
        self, steps: Sequence[Step] = STEPS, *, name: str = "m", compares_arguments: bool = True
    ) -> None:
        super().__init__(steps, name=name)
        self.compares_arguments = compares_arguments
        self.items: dict[str, Body] = {}
        """The items by their ids."""
        self.led_to: dict[str, str] = {}
        """The id of the reasoning, by the id of the item that it led to."""
        self.calls: dict[str, Body] = {}

    def check(self, body: Body) -> None:
        if isinstance(items := body["input"], str):
            return
        before: Body = {}
        for place, item in enumerate(items):
            if name := next((name for name, value in item.items() if value is None), None):
                raise Refused(
                    f"Invalid type for 'input[{place}].{name}': expected a value, but got null instead."
                )
            self._check_item(item, before)
            if before.get("type") == "reasoning" and self.led_to.get(item.get("id", "")) != before["id"]:
                raise Refused(_NO_FOLLOWING.format(before["id"]))
            before = item
        if before.get("type") == "reasoning":
            raise Refused(_NO_FOLLOWING.format(before["id"]))

    def _check_item(self, item: Body, before: Body) -> None:
        item_id, kind = item.get("id"), item.get("type", "message")
        own = self.items.get(item_id or "")
        if kind == "reasoning":
            self._check_encrypted(item, own)
        elif own is not None and before.get("id") != self.led_to.get(str(item_id), before.get("id")):
            raise Refused(_NO_REASONING.format(item_id, kind, self.led_to[str(item_id)]))
        elif item_id is not None and own is None:
            raise Refused(_NOT_FOUND.format(item_id), status=404)
        if kind == "function_call":
            self._check_call(item)

    def _check_call(self, item: Body) -> None:
        own = self.calls.get(item["call_id"])
        if own is None or own["name"] != item["name"]:
            raise Refused("input: not a call of a response")
        if self.compares_arguments and own["arguments"] != item["arguments"]:
            raise Refused("input: arguments differ from the response")

    def _check_encrypted(self, item: Body, own: Body | None) -> None:
        if "encrypted_content" not in item:
            raise Refused(_NOT_FOUND.format(item.get("id")), status=404)
        if own is None or own["encrypted_content"] != item["encrypted_content"]:
            message = f"The encrypted content for item {item.get('id')} could not be verified."
            raise Refused(message, code="invalid_encrypted_content")

    def turns_in(self, body: Body) -> int:
        """Return how many turns there are: rows of items of the assistant."""
        if isinstance(items := body["input"], str):
            return 0
        is_ours = [item.get("role") == "assistant" or item.get("type") in _OURS for item in items]
        return sum(own and not (at and is_ours[at - 1]) for at, own in enumerate(is_ours))

    def frames(self, body: Body, step: Step) -> Iterator[bytes]:
        number = 0
        base = {"id": self.new_id("resp_"), "object": "response", "created_at": 1790000000, "model": "m"}

        def frame(kind: str, **fields: Any) -> bytes:
            nonlocal number
            number += 1
            return sse({"type": kind, "sequence_number": number - 1, **fields}, kind)

        yield frame("response.created", response={**base, "status": "in_progress", "output": []})
        output = [*self._made(step)]
        for index, item in enumerate(output):
            for kind, fields in _item_events(item):
                yield frame(kind, output_index=index, **fields)
        usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
        done = {**base, "status": "completed", "output": output, "usage": usage}
        yield frame("response.completed", response=done)

    def _made(self, step: Step) -> Iterator[Body]:
        items: list[Body] = []
        for thought in step.thoughts[-1:]:
            summary = [{"type": "summary_text", "text": thought}] if thought else []
            reasoning: Body = {"type": "reasoning", "id": self.new_id("rs_"), "summary": summary}
            items.append({**reasoning, "encrypted_content": self.new("reasoning"), "status": None})
        if step.text:
            content = {"type": "output_text", "text": step.text, "annotations": [], "logprobs": []}
            message = {"type": "message", "id": self.new_id("msg_"), "role": "assistant"}
            items.append({**message, "status": "completed", "content": [content]})
        for name, arguments in step.calls:
            call = {"type": "function_call", "id": self.new_id("fc_"), "call_id": self.new_id("call_")}
            items.append({**call, "name": name, "arguments": arguments, "status": "completed"})
            self.calls[call["call_id"]] = items[-1]
        for before, item in pairwise(items):
            if before["type"] == "reasoning":
                self.led_to[item["id"]] = before["id"]
        self.items.update({item["id"]: item for item in items})
        self.last = items
        yield from items


_OURS = ("reasoning", "function_call")


def _item_events(item: Body) -> Iterator[tuple[str, Body]]:
    item_id = {"item_id": item["id"]}
    match item:
        case {"type": "reasoning", "summary": summary}:
            yield "response.output_item.added", {"item": {**item, "summary": [], "encrypted_content": ""}}
            for part in summary:
                at = {**item_id, "summary_index": 0}
                yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
                for piece in pieces_of(part["text"]):
                    yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
                yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
                yield "response.reasoning_summary_part.done", {**at, "part": part}
        case {"type": "message", "content": [part]}:
            yield "response.output_item.added", {"item": {**item, "content": [], "status": "in_progress"}}
            at = {**item_id, "content_index": 0}
            yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
            for piece in pieces_of(part["text"]):
                yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
            yield "response.content_part.done", {**at, "part": part}
        case {"type": "function_call", "arguments": text}:
            yield "response.output_item.added", {"item": {**item, "arguments": "", "status": "in_progress"}}
            for piece in pieces_of(text):
                yield "response.function_call_arguments.delta", {**item_id, "delta": piece}
            yield "response.function_call_arguments.done", {**item_id, "arguments": text}
    yield "response.output_item.done", {"item": item}
