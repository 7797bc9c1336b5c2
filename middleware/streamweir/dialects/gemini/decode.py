"""Reads the responses of one generation: SSE frames, the elements of a JSON array, or one whole response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.base import Decoder
from streamweir.codec.coerce import counts_in, custom, leftover, meta_of, text_of, upstream_error
from streamweir.codec.families.gemini_content import FINISH_REASONS, TOKENS
from streamweir.codec.families.gemini_sources import citations
from streamweir.codec.finish import CUT_SHORT, finish_error, finish_with_calls
from streamweir.codec.head_messages import head_objects
from streamweir.codec.message_template import TextFields
from streamweir.dialects.gemini.decode_names import has_snake_case, in_camel_case
from streamweir.dialects.gemini.decode_parts import Parts
from streamweir.events import Event, Meta, Reference, SessionEnd, SessionStart
from streamweir.framing import Frame
from streamweir.ids import short_value

__all__ = ["GeminiDecoder"]

_FAILED: Final = frozenset({"UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"})
"""The finish reasons of a model that has made a call which cannot be run, so that there is no answer."""

_NUMBERED: Final = {
    **dict(enumerate(("", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"))),
    **dict.fromkeys((6, 7, 8), "PROHIBITED_CONTENT"),
    **dict.fromkeys((9, 10), "MALFORMED_FUNCTION_CALL"),
}
"""The finish reasons of requests with `enum-encoding=int`, as Google's gapic clients send them over REST.

From 6 on the numbers of Gemini's API and of Vertex differ: up to 8 both are filters, then one of them is a
malformed call.
"""

_RESPONSE: Final = (
    "candidates",
    "usageMetadata",
    "modelVersion",
    "responseId",
    "promptFeedback",
    "createTime",
)
_CANDIDATE: Final = (
    *("content", "index", "finishReason", "finishMessage", "safetyRatings", "tokenCount"),
    *("citationMetadata", "groundingMetadata", "avgLogprobs", "logprobsResult"),
)


class GeminiDecoder(Decoder):
    """Reads one generation. A finish reason completes it; there is no other sign of the end."""

    text_fields: ClassVar = TextFields(
        texts=(("candidates", 0, "content", "parts", 0, "text"),),
        ignored=tuple(("usageMetadata", name) for name in (*TOKENS, "thoughtsTokenCount")),
        counts=True,
    )

    def __init__(self) -> None:
        self._has_begun = False
        self._meta: Meta | None = None
        self._parts = Parts()
        self._summary: dict[str, Any] = {}

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for candidates, and a lower one for an error, as of all Google APIs."""
        del event
        match fields:
            case {
                "candidates": [{"content": dict()} | {"finishReason": str()} | {"finish_reason": str()}, *_]
            }:
                return 0.9
            case {"promptFeedback": dict()} | {"usageMetadata": {"promptTokenCount": _}}:
                return 0.9
            case {"prompt_feedback": dict()} | {"usage_metadata": {"prompt_token_count": _}}:
                return 0.9
            case {"error": {"code": int(), "status": str(), "message": str()}}:
                return 0.9
        return 0.0

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return the highest score of the objects in the head; 0.9 for the beginning of an array."""
        found = (cls.score(item, None) for item in head_objects(head))
        return max(found, default=0.9 if _begins_array(head) else 0.0)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        if not frame.data.strip():
            return ()
        self._parts.request_id = self.request_id
        self._parts.calls_room.size = self.room
        value = in_camel_case(frame.json()) if has_snake_case(frame.data) else frame.json()
        return self._read_all(value) if isinstance(value, list) else self._read(value)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._summary

    def close(self) -> Iterable[Event]:
        """Return the end: suspended if the client is to run functions."""
        if not self.complete:
            return ()
        if self._parts.has_called:
            finish = finish_with_calls(self._summary.get("finish_reason"))
            return (SessionEnd("suspended", summary={**self._summary, "finish_reason": finish}),)
        return (SessionEnd(summary=self._summary),)

    def _read_all(self, responses: Iterable[Any]) -> Iterator[Event]:
        for response in responses:
            yield from self._read(response)

    def _read(self, response: Any) -> Iterator[Event]:
        match response:
            case {"error": error} if error:
                yield _failure(error)
            case {"candidates": _} | {"promptFeedback": _} | {"usageMetadata": _}:
                yield from self._begin(response)
                yield from self._candidates(response)
                if rest := leftover(response, _RESPONSE):
                    yield custom("response", rest, self._meta)
            case _:
                yield custom("message", response)

    def _begin(self, response: Mapping[str, Any]) -> Iterator[Event]:
        if not self._has_begun:
            self._has_begun = True
            message_id = short_value(response.get("responseId"))
            self._parts.meta = self._meta = meta_of(message_id=message_id)
            origin = {"model": response.get("modelVersion")} if response.get("modelVersion") else None
            yield SessionStart(meta=meta_of(message_id=message_id, extra=origin))

    def _candidates(self, response: Mapping[str, Any]) -> Iterator[Event]:
        self._count(response.get("usageMetadata"))
        feedback = response.get("promptFeedback")
        if isinstance(feedback, dict):
            if feedback.get("blockReason"):
                self.complete = True
                self._summary["finish_reason"] = "content_filter"
            if rest := leftover(feedback, ("blockReason", "safetyRatings", "blockReasonMessage")):
                yield custom("promptFeedback", rest, self._meta)
        candidates = response.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            if isinstance(candidate, dict):
                yield from self._candidate(candidate)
            else:
                yield custom("candidate", candidate, self._meta)

    def _candidate(self, candidate: Mapping[str, Any]) -> Iterator[Event]:
        index = candidate.get("index")
        content = candidate.get("content")
        if isinstance(content, dict):
            channel = f"candidate-{index}" if isinstance(index, int) and index > 0 else None
            yield from self._parts.read(content, channel)
        for name in ("citationMetadata", "groundingMetadata"):
            found, rest = citations(candidate.get(name))
            if found:
                yield Reference(found, meta=self._meta)
            if rest:
                yield custom(name, rest, self._meta)
        if rest := leftover(candidate, _CANDIDATE):
            yield custom("candidate", rest, self._meta)
        given = candidate.get("finishReason")
        if reason := text_of(_NUMBERED.get(given, str(given)) if isinstance(given, int) else given):
            yield from self._finish(reason, candidate)

    def _finish(self, reason: str, candidate: Mapping[str, Any]) -> Iterator[Event]:
        if reason in _FAILED:
            yield upstream_error(candidate.get("finishMessage"), code=reason, meta=self._meta)
            return
        if (error := finish_error(reason, self._meta)) is not None:
            yield error
            return
        self.complete = True
        finish = self._summary["finish_reason"] = standard_finish(reason, FINISH_REASONS)
        yield from self._parts.end_calls(is_cut=finish in CUT_SHORT)

    def _count(self, usage: Any) -> None:
        """Note the tokens. Counts include all earlier tokens, so that later counts replace earlier ones."""
        if not isinstance(usage, dict):
            return
        self._summary |= counts_in(usage, TOKENS)
        for name in ("thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"):
            if type(count := usage.get(name)) is int:
                self._summary[name] = count


def _failure(error: Any) -> Event:
    if not isinstance(error, dict):
        return upstream_error(error)
    status = error.get("code")
    return upstream_error(
        error.get("message"),
        code=error.get("status"),
        status=status if isinstance(status, int) else None,
        details=leftover(error, ("message", "code", "status")),
    )


def _begins_array(head: bytes) -> bool:
    """Return whether the body is an array, which the API sends without `alt=sse`."""
    start = b"".join(head[:256].split())
    return start.startswith((b'[{"candidates":[', b'[{"error":{"code":'))
