"""The methods of a `StreamingEngine` that emit events between its start and its end.

Source: the library contract, section 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from streamweir.codec.event_validation import checked_event, checked_meta
from streamweir.emit.engine_stream import EngineStream
from streamweir.errors import EventValidationError, LifecycleError
from streamweir.events import (
    META_FIELDS,
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    Reference,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
)

__all__ = ["Emitters", "MetaFields"]

E = TypeVar("E", bound=Event)

MetaFields = Mapping[str, Any] | None

_META: Final = frozenset(META_FIELDS) - {"session_id", "source"}
"""The allowed keys of `meta`: without the session, which the engine sets, and the source, which only
translated events have.
"""


class Emitters(ABC):
    """The emitters of the events between the start and the end of a stream."""

    _stream: EngineStream
    _ids: Meta

    async def emit_thinking(self, content: str, stage: str | None = None, *, meta: MetaFields = None) -> str:
        """Send a piece of reasoning; `stage`: reasoning, planning or analyzing."""
        return await self._emit(self._event(Thinking, meta, content=content, stage=stage))

    async def emit_tool_call_start(
        self,
        tool_id: str,
        tool_name: str,
        description: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        *,
        meta: MetaFields = None,
    ) -> str:
        """Begin a tool call, with its complete arguments."""
        event = self._event(
            ToolCallStart,
            meta,
            tool_id=_filled("tool_id", tool_id),
            tool_name=tool_name,
            description=description,
            arguments=arguments,
        )
        if self._stream.has_started(tool_id):
            raise LifecycleError(f"the tool_id {tool_id!r} is used twice")
        return await self._emit(event)

    async def emit_tool_call_delta(
        self, tool_id: str, arguments_delta: str, tool_name: str | None = None, *, meta: MetaFields = None
    ) -> str:
        """Send a piece of the JSON text of a call's arguments, before the start of the call."""
        event = self._event(
            ToolCallDelta,
            meta,
            tool_id=_filled("tool_id", tool_id),
            arguments_delta=arguments_delta,
            tool_name=tool_name or None,
        )
        if self._stream.has_started(tool_id):
            raise LifecycleError(f"the call {tool_id!r} has started, with its arguments complete")
        return await self._emit(event)

    async def emit_tool_call_progress(
        self,
        tool_id: str,
        progress: float | None = None,
        message: str | None = None,
        *,
        meta: MetaFields = None,
    ) -> str:
        """Report the progress of a call: 0 to 1, or None if only a message is known."""
        event = self._event(
            ToolCallProgress, meta, tool_id=_filled("tool_id", tool_id), progress=progress, message=message
        )
        self._check_running(tool_id)
        return await self._emit(event)

    async def emit_tool_call_end(
        self,
        tool_id: str,
        status: str = "success",
        result: Any = None,
        error: Mapping[str, Any] | str | None = None,
        duration_ms: int | None = None,
        *,
        meta: MetaFields = None,
    ) -> str:
        """End a call. The `error` of a failed call is `{code, message}` or the message."""
        if duration_ms is not None:
            meta = {**(meta or {}), "duration_ms": duration_ms}
        event = self._event(
            ToolCallEnd,
            meta,
            tool_id=_filled("tool_id", tool_id),
            status=status,
            result=result,
            error=_tool_error(error),
        )
        self._check_running(tool_id)
        return await self._emit(event)

    async def emit_content(
        self,
        content: str,
        format: str | None = None,  # noqa: A002 (the field's name in the protocol)
        is_complete: bool = False,
        *,
        op: str | None = None,
        channel: str | None = None,
        meta: MetaFields = None,
    ) -> str:
        """Send a piece of the answer; with `op="replace"` it replaces the text of its message."""
        return await self._emit(
            self._event(
                Content,
                meta,
                content=content,
                format=format,
                is_complete=is_complete or None,
                op=op,
                channel=channel,
            )
        )

    async def emit_data(
        self,
        data_type: str,
        data: Mapping[str, Any] | Sequence[Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        meta: MetaFields = None,
    ) -> str:
        """Send structured data: dataframe, chart, image, audio, file, state, state_delta or custom."""
        return await self._emit(self._event(Data, meta, data_type=data_type, data=data, metadata=metadata))

    async def emit_reference(self, citations: Sequence[Mapping[str, Any]], *, meta: MetaFields = None) -> str:
        """Send the sources of the answer, each as `{id?, title?, url?, snippet?, document_id?, score?}`."""
        return await self._emit(self._event(Reference, meta, citations=citations))

    async def emit_status(
        self, scope: str, state: str, *, name: str | None = None, detail: Any = None, meta: MetaFields = None
    ) -> str:
        """Report that a step of the run changes its state."""
        return await self._emit(self._event(Status, meta, scope=scope, state=state, name=name, detail=detail))

    async def emit_warning(
        self, message: str, *, message_code: str | None = None, detail: Any = None, meta: MetaFields = None
    ) -> str:
        """Report a problem that does not end the run; `detail` is sent only with `debug`."""
        return await self._emit(
            self._event(Warning, meta, message=message, message_code=message_code, detail=detail)
        )

    async def emit_interaction(  # noqa: PLR0913 (the fields of the event)
        self,
        interaction_id: str,
        kind: str,
        state: str = "requested",
        *,
        title: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
        ui: Mapping[str, Any] | None = None,
        questions: Sequence[Mapping[str, Any]] | None = None,
        resume: Mapping[str, Any] | None = None,
        meta: MetaFields = None,
    ) -> str:
        """Ask a person or the client for an answer. End the session as `suspended` to wait for it."""
        return await self._emit(
            self._event(
                Interaction,
                meta,
                interaction_id=interaction_id,
                kind=kind,
                state=state,
                title=title,
                description=description,
                schema=schema,
                ui=ui,
                questions=questions,
                resume=resume,
            )
        )

    # For all emitters

    @abstractmethod
    async def _deliver(self, data: bytes) -> str:
        """Pass the bytes of an event to the sink, and return them as text."""

    async def _emit(self, event: Event) -> str:
        self._check_open()
        return await self._deliver(self._stream.push(event))

    def _event(self, cls: type[E], meta: MetaFields, **fields: Any) -> E:
        return checked_event(cls, fields, self._meta_of(cls, meta))

    def _meta_of(self, cls: type[E], meta: MetaFields) -> Meta | None:
        own = checked_meta(meta, cls, allowed=_META)
        return {**self._ids, **(own or {})} or None

    def _check_open(self) -> None:
        if self._stream.over:
            raise LifecycleError("the stream is over")
        if self._stream.failed:
            raise LifecycleError("only session_end may follow a terminal error")

    def _check_running(self, tool_id: str) -> None:
        if self._stream.has_ended(tool_id):
            raise LifecycleError(f"the call {tool_id!r} is over")


def _filled(field: str, value: Any) -> Any:
    if value == "":
        raise EventValidationError(field, "must not be empty")
    if value is None:
        raise EventValidationError(field, "is missing")
    return value


def _tool_error(error: Mapping[str, Any] | str | None) -> Any:
    """Return an error in the form of the protocol; if it has no code, with the default code."""
    if isinstance(error, str):
        return {"code": "TOOL_FAILED", "message": error}
    if isinstance(error, Mapping):
        return {"code": "TOOL_FAILED", "message": "", **error}
    return error
