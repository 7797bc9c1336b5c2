"""Reads FastGPT's events: chunks of the answer, tool calls, steps, questions to a person."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import (
    custom,
    leftover,
    meta_of,
    milliseconds,
    named_data,
    objects_in,
    text_of,
    upstream_error,
)
from streamweir.codec.families.openai_chunks import ChunkReader, is_completion
from streamweir.codec.message_template import TextFields
from streamweir.dialects.fastgpt.decode_questions import question
from streamweir.dialects.fastgpt.decode_tools import Tools
from streamweir.dialects.fastgpt.decode_whole import parts_of, read_parts
from streamweir.events import Event, Interaction, Reference, SessionEnd, State, Status
from streamweir.framing import Frame

__all__ = ["FastGPTDecoder"]

_TEXTS: Final = (
    *("historyPreview", "textOutput", "query", "answerText", "quoteList"),
    *("reasoningText", "moduleLogo"),
)
"""The fields of a node's record that are left out: prompt, history, and text not of the answer."""

_RECORD: Final = (*_TEXTS, "nodeId", "id", "moduleName", "moduleType", "runningTime", "error", "errorText")
_CITATION: Final = {"id": "id", "sourceName": "title", "q": "snippet", "collectionId": "document_id"}
_SUCCESS: Final = 200
"""The code in the envelope of a successful answer."""


class FastGPTDecoder(Decoder):
    """Reads one stream. A finish reason or `[DONE]` completes it; the records of the nodes may follow."""

    text_fields: ClassVar = TextFields(
        texts=(
            ("choices", 0, "delta", "content"),
            ("choices", 0, "delta", "reasoning_content"),
        ),
        ignored=(("created",),),
    )

    def __init__(self) -> None:
        self._chunks = ChunkReader()
        self._tools = Tools()
        self._asked = False

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for event names with their usual fields."""
        match event, fields:
            case (("answer" | "fastAnswer"), {"choices": list()}):
                return 0.97
            case (("toolCall" | "toolParams" | "toolResponse"), {"tool": dict()}):
                return 0.97
            case "flowNodeStatus", {"status": _, "name": _}:
                return 0.97
            case "interactive", {"interactive": dict()}:
                return 0.97
            case None, {"choices": [{"message": dict()}, *_], "responseData": list()}:
                return 0.97
            case (("flowNodeResponse" | "updateVariables" | "workflowDuration"), _):
                return 0.6
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        text = frame.data.strip()
        if text == b"[DONE]":
            self.complete = True
            return ()
        return self._read(frame.event, frame.json()) if text else ()

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._chunks.summary

    def close(self) -> Iterable[Event]:
        """Return the end: suspended if a person was asked or the client is to run calls."""
        if not self.complete:
            return ()
        if self._asked:
            return (*self._tools.close(), SessionEnd("suspended", summary=self._chunks.summary or None))
        return (*self._tools.close(), *self._chunks.close())

    def _read(self, name: str | None, value: Any) -> Iterable[Event]:
        match name, value:
            case "error", _:
                return (_error(value),)
            case ((None | "answer" | "fastAnswer"), dict()) if is_completion(value):
                return self._answer(value)
            case (("toolCall" | "toolParams" | "toolResponse"), {"tool": dict(tool)}):
                self._tools.room.size = self.room
                rest = leftover(value, ("tool", "responseValueId"))
                return self._tools.read(str(name), tool, rest)
            case "flowNodeStatus", {"status": status}:
                return (_node(status, value),)
            case "flowNodeResponse", dict():
                return (_record(value),)
            case "flowResponses", list():
                return _records(value)
            case "workflowDuration", {"durationSeconds": seconds}:
                return (_duration(seconds, value),)
            case "interactive", {"interactive": dict(asked)}:
                self._asked = self.complete = self.pauses = True
                return question(asked, leftover(value, ("interactive",)))
            case "updateVariables", _:
                return (named_data("updateVariables", value),)
            case None, {"code": int(code), "message": _} if code != _SUCCESS:
                return (_error(value),)
        return (custom(name or "message", value),)

    def _answer(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        self._chunks.name_stream(self.request_id, self.room)
        if "responseData" in chunk or parts_of(chunk):
            chunk = yield from self._whole(chunk)
        yield from self._chunks.read(chunk)
        self.complete = self.complete or self._chunks.complete

    def _whole(self, answer: Mapping[str, Any]) -> Generator[Event, None, Mapping[str, Any]]:
        """Yield the events of the parts of a whole answer that only FastGPT has; return the other fields."""
        if parts := parts_of(answer):
            for event in read_parts(parts):
                self._asked = self._asked or isinstance(event, Interaction)
                yield event
            choice = leftover(answer["choices"][0], ("message",)) or {}
            answer = {**answer, "choices": [{**choice, "delta": {}}]}
        yield from _records(objects_in(answer.get("responseData")))
        if variables := answer.get("newVariables"):
            yield named_data("updateVariables", variables)
        return leftover(answer, ("responseData", "newVariables")) or {}


def _error(value: Any) -> Event:
    if not isinstance(value, dict):
        return upstream_error(value)
    code = value.get("code")
    return upstream_error(
        value.get("message") or value.get("error") or value.get("statusText"),
        code=value.get("statusText") if isinstance(code, int) else code,
        status=code if isinstance(code, int) else None,
        details=leftover(value, ("code", "message", "statusText", "error")),
    )


def _node(status: Any, value: Mapping[str, Any]) -> Event:
    name = text_of(value.get("name")) or None
    state: State = "finished" if status == "finish" else "running"
    state = "failed" if status in ("error", "failed") else state
    return Status("node", state, name, leftover(value, ("status", "name")))


def _record(record: Mapping[str, Any]) -> Event:
    """Return the event of a finished node."""
    error = record.get("error") or record.get("errorText")
    duration = milliseconds(record.get("runningTime"), scale=1000)
    name = text_of(record.get("moduleName")) or None
    meta = meta_of(node_id=text_of(record.get("nodeId")), node_name=name, duration_ms=duration)
    if error:
        return Status("node", "failed", name, {"error": text_of(error)}, meta=meta)
    return Status("node", "finished", name, leftover(record, _RECORD), meta=meta)


def _records(records: Iterable[Any]) -> Iterator[Event]:
    """Yield the events of the repeated records of nodes: sources, failures, and other fields as data."""
    rest: list[dict[str, Any]] = []
    for record in records:
        if not isinstance(record, dict):
            yield custom("flowResponses", record)
            continue
        if found := _citations(record.get("quoteList")):
            yield Reference(found)
        if record.get("error") or record.get("errorText"):
            yield _record(record)
        elif kept := leftover(record, _TEXTS):
            rest.append(kept)
    if rest:
        yield named_data("flowResponses", rest)


def _citations(quotes: Any) -> list[dict[str, Any]]:
    found = [
        {ours: text for name, ours in _CITATION.items() if (text := text_of(quote.get(name)))}
        for quote in objects_in(quotes)
    ]
    return [citation for citation in found if citation]


def _duration(seconds: Any, value: Mapping[str, Any]) -> Event:
    rest = leftover(value, ("durationSeconds",))
    meta = meta_of(duration_ms=milliseconds(seconds, scale=1000))
    return Status("workflow", "finished", detail=rest, meta=meta)
