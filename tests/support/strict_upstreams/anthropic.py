"""The Messages API. Errors: its own, of 2025 and 2026."""

from collections.abc import Iterator, Sequence
from typing import Any

from strict_upstreams.model import Body, Raw, Refused, StrictModel, loaded, ordered, pieces_of, sse
from strict_upstreams.script import STEPS, Step

__all__ = ["StrictAnthropic"]

_THINKING = ("thinking", "redacted_thinking")
_MODIFIED = (
    "messages.{}.content.{}: `thinking` or `redacted_thinking` blocks in the latest assistant message"
    " cannot be modified. These blocks must remain as they were in the original response."
)
_EXPECTED = (
    "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking`"
    " is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set"
    " of `tool_use` and `tool_result` blocks). To avoid this requirement, disable `thinking`."
)


class StrictAnthropic(StrictModel):
    """Wants the thinking of every step of the running tool loop, unless `thinking` is absent.

    Args:
        steps: of the conversation.
        name: part of ids and signatures.
        compares_input: changed `input` is refused too; off for clients that read numbers as doubles.
    """

    def __init__(
        self, steps: Sequence[Step] = STEPS, *, name: str = "m", compares_input: bool = True
    ) -> None:
        super().__init__(steps, name=name)
        self.blocks: dict[str, Body] = {}
        """The blocks of thinking by signature or data, those of calls by id."""
        self.turns: dict[str, list[Body]] = {}
        """The blocks of the turn of a call, by its id."""
        self.compares_input = compares_input

    def check(self, body: Body) -> None:
        messages = body["messages"]
        if not body.get("max_tokens"):
            raise Refused("max_tokens: Field required")
        for place, message in enumerate(messages):
            if place and message["role"] == messages[place - 1]["role"]:
                raise Refused(f"messages.{place}: roles must alternate")
            self._check_blocks(place, _blocks_of(message))
        if body.get("thinking", {}).get("type") == "enabled":
            begin = max((at for at, message in enumerate(messages) if _is_question(message)), default=-1)
            for place in range(begin + 1, len(messages)):
                self._check_step(place, messages[place])

    def _check_blocks(self, place: int, blocks: Sequence[Body]) -> None:
        for at, block in enumerate(blocks):
            kind = block["type"]
            if kind in _THINKING:
                own = self.blocks.get(block.get("signature" if kind == "thinking" else "data", ""))
                if own is None:
                    raise Refused(f"messages.{place}.content.{at}: Invalid `signature` in `{kind}` block")
                if own != block:
                    raise Refused(_MODIFIED.format(place, at))
            elif kind == "tool_use" and not self._is_own_call(block):
                raise Refused(f"messages.{place}.content.{at}.input: differs from the response")
        if blocks and blocks[-1]["type"] in _THINKING:
            raise Refused(f"messages.{place}: The final block in an assistant message cannot be `thinking`.")

    def _is_own_call(self, block: Body) -> bool:
        own = self.blocks.get(block["id"])
        if own is None or own["name"] != block["name"]:
            return False
        return not self.compares_input or bool(loaded(own["input"]) == ordered(block["input"]))

    def _check_step(self, place: int, message: Body) -> None:
        blocks = _blocks_of(message)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if message["role"] != "assistant" or not calls:
            return
        if blocks[0]["type"] not in _THINKING:
            raise Refused(_EXPECTED.format(place, blocks[0]["type"]))
        turn = self.turns[calls[0]["id"]]
        if [block["type"] for block in turn] != [block["type"] for block in blocks]:
            raise Refused(_MODIFIED.format(place, 0))

    def turns_in(self, body: Body) -> int:
        return sum(message["role"] == "assistant" for message in body["messages"])

    def frames(self, body: Body, step: Step) -> Iterator[bytes]:
        is_thinking = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
        blocks = [*self._made(step, is_thinking=is_thinking)]
        usage = {"input_tokens": 3, "output_tokens": 1}
        message = {"id": self.new_id("msg_"), "type": "message", "role": "assistant", "model": "m"}
        start: Body = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield _frame("message_start", message=start)
        for index, block in enumerate(blocks):
            yield from _block_frames(index, block)
        reason = "tool_use" if step.calls else "end_turn"
        yield _frame("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
        yield _frame("message_stop")

    def _made(self, step: Step, *, is_thinking: bool) -> Iterator[Body]:
        turn: list[Body] = []
        for thought in step.thoughts if is_thinking else ():
            key = self.new("thinking")
            block: Body = {"type": "redacted_thinking", "data": key}
            if thought:
                block = {"type": "thinking", "thinking": thought, "signature": key}
            self.blocks[key] = block
            turn.append(block)
        if step.text:
            turn.append({"type": "text", "text": step.text})
        for name, arguments in step.calls:
            call = {"type": "tool_use", "id": self.new_id("toolu_"), "name": name, "input": Raw(arguments)}
            self.blocks[call["id"]] = call
            self.turns[call["id"]] = turn
            turn.append(call)
        self.last = {"role": "assistant", "content": turn}
        yield from turn

    def error(self, refused: Refused) -> Body:
        error = {"type": "invalid_request_error", "message": str(refused)}
        return {"type": "error", "error": error, "request_id": self.new_id("req_")}


def _blocks_of(message: Body) -> list[Body]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _is_question(message: Body) -> bool:
    return message["role"] == "user" and any(block["type"] == "text" for block in _blocks_of(message))


def _frame(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _block_frames(index: int, block: Body) -> Iterator[bytes]:
    empty: dict[str, Body] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    yield _frame("content_block_start", index=index, content_block={**block, **empty.get(block["type"], {})})
    for delta in _deltas(block):
        yield _frame("content_block_delta", index=index, delta=delta)
    yield _frame("content_block_stop", index=index)


def _deltas(block: Body) -> Iterator[Body]:
    match block:
        case {"type": "thinking", "thinking": text, "signature": signature}:
            yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces_of(text))
            yield {"type": "signature_delta", "signature": signature}
        case {"type": "text", "text": text}:
            yield from ({"type": "text_delta", "text": piece} for piece in pieces_of(text))
        case {"type": "tool_use", "input": text}:
            yield from ({"type": "input_json_delta", "partial_json": str(piece)} for piece in pieces_of(text))
