"""Reads the events of a run: pieces, the whole event after its pieces, calls, questions to a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.base import Decoder
from streamweir.codec.coerce import and_extra, counts_in, custom, leftover, meta_of, text_of, upstream_error
from streamweir.codec.families.gemini_content import FINISH_REASONS, TOKENS
from streamweir.codec.families.gemini_sources import citations
from streamweir.codec.finish import finish_error
from streamweir.codec.head_messages import head_objects
from streamweir.codec.message_template import TextFields
from streamweir.dialects.google_adk.decode_parts import Form, Parts
from streamweir.events import Content, Data, Event, Meta, Reference, SessionEnd
from streamweir.framing import Frame
from streamweir.ids import short_id

__all__ = ["GoogleAdkDecoder"]

_EVENT: Final = (
    *("id", "invocationId", "author", "partial", "turnComplete", "finishReason", "content", "actions"),
    *("longRunningToolIds", "timestamp", "usageMetadata", "modelVersion", "nodeInfo", "branch"),
    *("errorCode", "errorMessage", "interrupted", "avgLogprobs", "logprobsResult", "interactionId"),
    *("citationMetadata", "groundingMetadata"),
)
_ACTIONS: Final = ("stateDelta", "requestedToolConfirmations", "skipSummarization", "requestedAuthConfigs")
_LIMITS: Final = ("length", "content_filter")
"""The meanings of an `errorCode` that comes with a text that is an answer nevertheless."""

_LARGEST_COUNT: Final = 1 << 53


class GoogleAdkDecoder(Decoder):
    """Reads one run. It has no end event: the body ends after a whole event."""

    text_fields: ClassVar = TextFields(
        texts=(("content", "parts", 0, "text"),), ignored=(("timestamp",), ("id",))
    )

    def __init__(self) -> None:
        self._parts = Parts()
        self._summary: dict[str, Any] = {}
        self._is_whole = False
        self._has_pieces = False
        """Whether the open message has arrived in pieces, which the whole event will repeat."""
        self._sources: dict[str, Any] = {}
        """The sources of the open message; pieces and the whole event repeat them."""
        self._message_id: str | None = None
        """The id of the message whose pieces are arriving; older servers give each piece a different id."""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an event of a run, and for the frame of a run's failure."""
        del event
        match fields:
            case {"invocationId": str(), "author": str()}:
                return 0.95
            case {"error": str(), "error_details": dict()}:
                return 0.9
        return 0.0

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return the score of the first elements of an array, which is the answer of `/run`."""
        return max((cls.score(item, None) for item in head_objects(head)), default=0.0)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        if not frame.data.strip():
            return ()
        self._parts.code.request_id = self.request_id
        value = frame.json()
        return self._read_all(value) if isinstance(value, list) else self._read(value)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._summary

    def close(self) -> Iterable[Event]:
        """Return the end of the body. The end is proper if every call has a result or waits for one."""
        if not self._is_whole or (self._parts.is_open and not self._parts.waits):
            return ()
        status: Any = "suspended" if self._parts.waits else "completed"
        return (SessionEnd(status, summary=self._summary or None),)

    def _read_all(self, values: Iterable[Any]) -> Iterator[Event]:
        for value in values:
            yield from self._read(value)

    def _read(self, value: Any) -> Iterator[Event]:
        match value:
            case {"invocationId": str()} | {"author": str(), "content": dict()}:
                yield from self._event(value)
            case {"error": error} if error:
                yield _failure(error, value.get("error_details"))
            case {"detail": detail, **beside} if detail and not beside:
                yield upstream_error(detail)
            case _:
                yield custom("message", value)

    def _event(self, event: Mapping[str, Any]) -> Iterator[Event]:
        partial = event.get("partial") is True
        meta = self._meta(event)
        code, content = text_of(event.get("errorCode")), event.get("content")
        if code and standard_finish(code, FINISH_REASONS) not in _LIMITS:
            yield finish_error(code, meta) or upstream_error(event.get("errorMessage"), code=code, meta=meta)
            return
        if (error := finish_error(event.get("finishReason"), meta)) is not None:
            yield error
            return
        self._is_whole = not partial
        if isinstance(content, dict):
            form: Form = "piece" if partial else "repeat" if self._has_pieces else "whole"
            yield from self._parts.read(content, event, meta, form)
        self._has_pieces = partial and (self._has_pieces or isinstance(content, dict))
        if reason := code or text_of(event.get("finishReason")):
            self._summary["finish_reason"] = standard_finish(reason, FINISH_REASONS)
        self.complete = bool(reason) and not partial and not self._parts.is_open
        if not partial:
            self._count(event.get("usageMetadata"))
        yield from self._read_sources(event, meta)
        yield from _actions(event.get("actions"), meta)
        if rest := leftover(event, _EVENT):
            yield Content("", meta=and_extra(meta, rest))
        if not partial:
            self._message_id, self._sources = None, {}

    def _read_sources(self, event: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the sources of a message, and what else the server says of them."""
        for name in ("citationMetadata", "groundingMetadata"):
            given = event.get(name)
            if not given or given == self._sources.get(name):
                continue
            self._sources[name] = given
            found, rest = citations(given)
            if found:
                yield Reference(found, meta=meta)
            if rest:
                yield custom(name, rest, meta)

    def _meta(self, event: Mapping[str, Any]) -> Meta | None:
        """Return the ids of an event; pieces and the whole text after them belong to one message."""
        if self._message_id is None:
            self._message_id = short_id(text_of(event.get("id")))
        return meta_of(
            message_id=self._message_id, run_id=event.get("invocationId"), node_name=event.get("author")
        )

    def _count(self, usage: Any) -> None:
        """Add the tokens of one call of the model to the tokens of the run."""
        for name, count in counts_in(usage, TOKENS).items():
            self._summary[name] = min(self._summary.get(name, 0) + count, _LARGEST_COUNT)


def _actions(actions: Any, meta: Meta | None) -> Iterator[Event]:
    """Yield the changes in an event: changes of the state, and changes of the application."""
    if not isinstance(actions, dict):
        return
    delta = actions.get("stateDelta")
    if isinstance(delta, dict) and delta:
        patch = [
            {"op": "add", "path": "/" + name.replace("~", "~0").replace("/", "~1"), "value": value}
            for name, value in delta.items()
        ]
        yield Data("state_delta", patch, meta=meta)
    rest = {
        name: value for name, value in (leftover(actions, _ACTIONS) or {}).items() if value not in ({}, [])
    }
    if rest:
        yield custom("actions", rest, meta)


def _failure(error: Any, details: Any) -> Event:
    code = details.get("error_type") if isinstance(details, dict) else None
    return upstream_error(error, code=code)
