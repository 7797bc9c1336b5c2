"""The Gemini API, models of 3 and later. Errors: its own, of 2025 and 2026."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from strict_upstreams.model import Body, Raw, Refused, StrictModel, loaded, ordered, pieces_of, sse
from strict_upstreams.script import STEPS, Step

__all__ = ["StrictGemini"]

SKIPPED: Final = "skip_thought_signature_validator"
_MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
    " correctly, and missing thought_signature may lead to degraded model performance. Additional data,"
    " function call `default_api:{}` , position {}."
)


class StrictGemini(StrictModel):
    """Wants the signature of the first call of every step since the last text of the user, on that very part.

    Args:
        steps: of the conversation.
        name: part of signatures.
        gives_ids: calls have ids of its own, and results must name them.
        compares_args: changed `args` are refused too; off for clients that read numbers as doubles.
    """

    def __init__(
        self,
        steps: Sequence[Step] = STEPS,
        *,
        name: str = "m",
        gives_ids: bool = False,
        compares_args: bool = True,
    ) -> None:
        super().__init__(steps, name=name)
        self.signed: dict[str, Body] = {}
        """The parts by their signatures."""
        self.gives_ids = gives_ids
        self.compares_args = compares_args
        self.ids: set[str] = set()

    def check(self, body: Body) -> None:
        contents = body["contents"]
        begin = max((at for at, content in enumerate(contents) if _is_question(content)), default=-1)
        for place, content in enumerate(contents):
            if place and content["role"] == contents[place - 1]["role"]:
                raise Refused("Please ensure that roles alternate between user and model.")
            for part in content["parts"]:
                self._check_part(part)
            if content["role"] == "model" and place > begin:
                _check_step(content["parts"], place)

    def _check_part(self, part: Body) -> None:
        signature = part.get("thoughtSignature")
        if signature is not None and signature != SKIPPED:
            own = self.signed.get(signature)
            if own is None or not self._is_same(own, part):
                raise Refused("Thought signature is not valid.")
        for kind in ("functionCall", "functionResponse"):
            call_id = part.get(kind, {}).get("id")
            if call_id is not None and call_id not in self.ids:
                raise Refused(f"{kind}.id is not an id of a function call.")

    def _is_same(self, own: Body, part: Body) -> bool:
        if "functionCall" not in own:
            return "functionCall" not in part and str(part.get("text", "")).endswith(own["text"])
        mine, shown = own["functionCall"], part.get("functionCall", {})
        if mine["name"] != shown.get("name") or mine.get("id") != shown.get("id"):
            return False
        return not self.compares_args or loaded(mine["args"]) == ordered(shown["args"])

    def turns_in(self, body: Body) -> int:
        return sum(content["role"] == "model" for content in body["contents"])

    def frames(self, body: Body, step: Step) -> Iterator[bytes]:
        parts = [*self._made(step)]
        self.last = {"role": "model", "parts": parts}
        response_id = self.new_id("r-")
        for part in parts:
            yield sse(self._response(response_id, [part]))
        done = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
        yield sse({"candidates": [done], "usageMetadata": usage, "responseId": response_id})

    def _response(self, response_id: str, parts: list[Body]) -> Body:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        return {"candidates": [candidate], "modelVersion": "m", "responseId": response_id}

    def _made(self, step: Step) -> Iterator[Body]:
        for thought in step.thoughts:
            yield from ({"text": piece, "thought": True} for piece in pieces_of(thought))
        *pieces, last = [*pieces_of(step.text)] or [""]
        yield from ({"text": piece} for piece in pieces)
        if last and step.calls:
            yield {"text": last}
        elif last:
            yield self._signed({"text": last})
        for number, (name, arguments) in enumerate(step.calls):
            call: Body = {"name": name, "args": Raw(arguments)}
            if self.gives_ids:
                call = {"id": self.new_id("fc-"), **call}
                self.ids.add(call["id"])
            part: Body = {"functionCall": call}
            yield part if number else self._signed(part)

    def _signed(self, part: Body) -> Body:
        signature = self.new("part")
        self.signed[signature] = part
        return {**part, "thoughtSignature": signature}

    def error(self, refused: Refused) -> Body:
        return {"error": {"code": refused.status, "message": str(refused), "status": "INVALID_ARGUMENT"}}


def _is_question(content: Body) -> bool:
    return content["role"] == "user" and any("text" in part for part in content["parts"])


def _check_step(parts: Sequence[Body], place: int) -> None:
    calls: list[Any] = [part for part in parts if "functionCall" in part]
    if calls and "thoughtSignature" not in calls[0]:
        raise Refused(_MISSING.format(calls[0]["functionCall"]["name"], place))
    if any("thoughtSignature" in part for part in calls[1:]):
        raise Refused("Thought signature is not valid.")
