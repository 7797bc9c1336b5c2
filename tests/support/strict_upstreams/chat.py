"""Chat completions as DeepSeek, OpenRouter, Google and Groq speak them. Errors: their own, of 2026."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from strict_upstreams.model import Body, Refused, StrictModel, exact, pieces_of, sse, written
from strict_upstreams.script import STEPS, Step

__all__ = ["Flavour", "StrictChat"]

Flavour = Literal["deepseek", "openrouter", "google", "groq"]
_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")


class StrictChat(StrictModel):
    """Refuses a message with calls if it lacks a field that the model sent with them and requires again.

    Args:
        flavour: `deepseek` wants `reasoning_content`, also where it is empty; `openrouter` the whole
            `reasoning_details`; `google` the `extra_content` of the first call; `groq` refuses the field
            `reasoning` that it sends.
        steps: of the conversation.
        name: part of ids and signatures.
        compares_arguments: changed arguments are refused too, by their bytes; off for clients that write them
            anew.
    """

    def __init__(
        self,
        flavour: Flavour = "deepseek",
        steps: Sequence[Step] = STEPS,
        *,
        name: str = "m",
        compares_arguments: bool = True,
    ) -> None:
        super().__init__(steps, name=name)
        self.flavour = flavour
        self.compares_arguments = compares_arguments
        self.turns: dict[str, Body] = {}
        """The messages with calls, by the id of each call."""

    def check(self, body: Body) -> None:
        for place, message in enumerate(body["messages"]):
            if message["role"] != "assistant":
                continue
            if self.flavour == "groq" and (field := next((f for f in _FIELDS if f in message), None)):
                raise Refused(
                    f"'messages.{place}' : for 'role:assistant' the following must be satisfied"
                    f"[('messages.{place}' : property '{field}' is unsupported)]"
                )
            if message.get("tool_calls"):
                self._check_turn(place, message)

    def _check_turn(self, place: int, message: Body) -> None:
        turn = self.turns.get(message["tool_calls"][0]["id"])
        if self.flavour == "deepseek":
            _check_reasoning(message, turn)
        if turn is None:
            raise Refused(f"messages.{place}.tool_calls: not the calls of a response")
        if self.flavour == "openrouter" and not _is_same(turn, message, "reasoning_details"):
            raise Refused(
                "The encrypted `reasoning_details` could not be verified: thinking signature missing"
            )
        shown, own = message["tool_calls"], turn["tool_calls"]
        if [call["id"] for call in shown] != [call["id"] for call in own]:
            raise Refused(f"messages.{place}.tool_calls: not the calls of the response")
        for mine, call in zip(own, shown, strict=True):
            if self.flavour == "google" and not _is_same(mine, call, "extra_content"):
                raise Refused("Function call is missing a thought_signature in functionCall parts.")
            if self.compares_arguments and mine["function"] != call["function"]:
                raise Refused(f"messages.{place}.tool_calls: arguments differ from the response")

    def turns_in(self, body: Body) -> int:
        return sum(message["role"] == "assistant" for message in body["messages"])

    def frames(self, body: Body, step: Step) -> Iterator[bytes]:
        response_id = self.new_id("chatcmpl-")
        thought = "\n".join(filter(None, step.thoughts)) if len(step.thoughts) == 1 else ""
        turn: Body = {"role": "assistant", "content": step.text}
        yield self._chunk(response_id, {"role": "assistant", "content": ""})
        for delta in self._reasoning(thought, turn):
            yield self._chunk(response_id, delta)
        for piece in pieces_of(step.text):
            yield self._chunk(response_id, {"content": piece})
        turn["tool_calls"] = [self._call(*call, is_first=not at) for at, call in enumerate(step.calls)]
        self.last = turn
        for index, call in enumerate(turn["tool_calls"]):
            self.turns[call["id"]] = turn
            for delta in _call_deltas(index, call):
                yield self._chunk(response_id, {"tool_calls": [delta]})
        yield self._chunk(response_id, {}, "tool_calls" if step.calls else "stop")
        yield b"data: [DONE]\n\n"

    def _reasoning(self, thought: str, turn: Body) -> Iterator[Body]:
        """The deltas of the reasoning; an empty one is sent too."""
        if self.flavour == "deepseek":
            turn["reasoning_content"] = thought
            yield from ({"reasoning_content": piece} for piece in pieces_of(thought) or ())
            if not thought:
                yield {"reasoning_content": ""}
        elif self.flavour == "groq":
            yield from ({"reasoning": piece} for piece in pieces_of(thought))
        elif self.flavour == "openrouter":
            text, signed = {"type": "reasoning.text", "index": 0}, {"signature": self.new("text")}
            encrypted = {"type": "reasoning.encrypted", "data": self.new("details"), "format": "x-v1"}
            turn["reasoning_details"] = [{**text, "text": thought, **signed}, {**encrypted, "index": 1}]
            for piece in pieces_of(thought):
                yield {"reasoning": piece, "reasoning_details": [{**text, "text": piece}]}
            yield {"reasoning_details": [{**text, "text": "", **signed}, {**encrypted, "index": 1}]}

    def _call(self, name: str, arguments: str, *, is_first: bool) -> Body:
        function = {"name": name, "arguments": arguments}
        call = {"id": self.new_id("call_"), "type": "function", "function": function}
        if self.flavour == "google" and is_first:
            call["extra_content"] = {"google": {"thought_signature": self.new("call")}}
        return call

    def _chunk(self, response_id: str, delta: Body, finish: str | None = None) -> bytes:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse(
            {
                "id": response_id,
                "object": "chat.completion.chunk",
                "created": 1790000000,
                "model": "m",
                "choices": [choice],
            }
        )


def _is_same(own: Body, shown: Body, name: str) -> bool:
    """Compare without the order of keys, which clients do not keep where they merge pieces."""
    return bool(json.loads(written(own.get(name)), parse_int=exact) == shown.get(name))


def _check_reasoning(message: Body, turn: Body | None) -> None:
    shown = message.get("reasoning_content")
    if shown is None or (shown and turn is not None and shown != turn["reasoning_content"]):
        raise Refused("The `reasoning_content` in the thinking mode must be passed back to the API.")


def _call_deltas(index: int, call: Body) -> Iterator[Body]:
    function = call["function"]
    yield {"index": index, **call, "function": {**function, "arguments": ""}}
    for piece in pieces_of(function["arguments"]):
        yield {"index": index, "function": {"arguments": piece}}
