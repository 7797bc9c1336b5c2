"""Reads the stream of a run: its start, the names of its events, its ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import custom, leftover, meta_of, text_of, upstream_error
from streamweir.codec.families.langchain_events import ChainEvents, is_chain_event
from streamweir.codec.families.langchain_forms import is_message
from streamweir.codec.families.langgraph_modes import INTERRUPT, MODES, GraphModes
from streamweir.codec.families.langgraph_protocol import GraphProtocol, is_protocol_event
from streamweir.codec.message_template import TextFields
from streamweir.events import Event, SessionEnd, SessionStart
from streamweir.framing import Frame
from streamweir.ids import short_id

__all__ = ["LanggraphServerDecoder"]

_SILENT: Final = frozenset({"checkpoints", "heartbeat", "ping", "feedback"})
_GROWING: Final = frozenset({"messages/partial", "messages/complete", "messages/metadata"})
_MESSAGES: Final = frozenset({"messages", "messages/partial"})
_PIECES: Final = frozenset({"on_chat_model_stream", "on_llm_stream"})
_FIRST: Final = ("run_id", "attempt", "thread_id")

_STATUSES: Final = {
    "RateLimitError": 429,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "TimeoutError": 504,
}
"""The HTTP status of a failure, by the ending of a name such as `OpenAIRateLimitError`."""


_PLACE: Final = re.compile(r"(?:/threads/(?P<thread_id>[\w.-]{1,128}))?/runs/(?P<run_id>[\w.-]{1,128})")
"""Matches the path by which the server names the run."""


class LanggraphServerDecoder(Decoder):
    """Reads one run. `end` ends it at once; the end of the body ends it if no message and no call is open."""

    text_fields: ClassVar = TextFields(
        texts=((0, "content"), (0, "content", 0, "text"), (0, "content", 0, "thinking"))
    )
    given_in: ClassVar = {"content-location": _PLACE, "location": _PLACE}

    def __init__(self) -> None:
        self._graph = GraphModes()
        self._runs = ChainEvents(self._graph)
        self._envelopes = GraphProtocol(self._graph)
        self._begun = self._known = self._is_streamed = False
        self._pieces_in = ""
        """The mode whose pieces of messages are read: if the client chose several, the first to arrive."""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for the first event of a run; home-made servers send states and updates.

        The envelopes of the server's threads are read as `langgraph-events`.
        """
        if is_protocol_event(fields):
            return 0.0
        match event, fields:
            case "metadata", {"run_id": str(), "attempt": int()}:
                return 0.97
            case "metadata", {"run_id": str()} if len(fields) == 1:
                return 0.45
            case None, {"messages": [*_, {"type": str(), "content": _} as last]} if is_message(last):
                return 0.6
            case None, {"__error__": _}:
                return 0.9
        if event in _GROWING:
            return 0.9
        return 0.5 if event in MODES else 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        if frame.event == "end":
            return self._end()
        if not frame.data.strip():
            return ()
        if not self._begun:
            ids, self._graph = self._graph.ids, GraphModes(self.room)
            self._graph.ids = {name: short_id(text) for name, text in self.given.items()} | ids
            self._runs = ChainEvents(self._graph, self.room)
            self._envelopes = GraphProtocol(self._graph)
        self._is_streamed = not frame.bare
        return self._read(frame.event or "", frame.json())

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._graph.messages.summary

    def close(self) -> Iterable[Event]:
        """Return the end of a complete body: no message or call open, and more than the run's id arrived."""
        is_open = self._graph.messages.is_open or self._envelopes.is_open
        if self._known and (self._graph.waits or not is_open):
            return self._end()
        return ()

    def _read(self, event: str, value: Any) -> Iterator[Event]:
        mode, _, namespace = event.partition("|")
        if mode == "metadata" and isinstance(value, dict):
            yield from self._start(value)
            return
        if mode == "error":
            yield _failure(value)
            return
        self._begun = True
        if is_protocol_event(value):
            self._known = True
            yield from self._envelopes.read(value)
            self.complete = self._envelopes.is_over
            return
        if mode in _SILENT:
            return
        if not mode and isinstance(value, dict):
            yield from self._answer(value)
            return
        self._known = True
        if mode == "events" and isinstance(value, dict) and is_chain_event(value.get("event")):
            yield from self._run(value)
            return
        if mode in _MESSAGES:
            self._pieces_in = self._pieces_in or mode
        if mode != "messages" or self._pieces_in != "events":
            yield from self._graph.read(mode, namespace, value)

    def _run(self, value: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of an `astream_events` event; models' are left out if messages repeat them."""
        if value["event"] in _PIECES:
            self._pieces_in = self._pieces_in or "events"
            if self._pieces_in != "events":
                return
        yield from self._runs.read(value["event"], value)

    def _start(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        ids = self._graph.ids
        for name in ("run_id", "thread_id"):
            if isinstance(fields.get(name), str):
                ids[name] = short_id(fields[name])
        yield SessionStart(meta=meta_of(**ids, extra=leftover(fields, _FIRST)))

    def _end(self) -> Iterator[Event]:
        graph = self._graph
        yield from graph.messages.start_calls()
        yield from self._runs.close()
        yield SessionEnd("suspended" if graph.waits else "completed", summary=graph.messages.summary or None)

    def _answer(self, value: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a whole state, as `/runs/wait` returns it, or of a failure."""
        graph = self._graph
        if "__error__" in value:
            yield _failure(value["__error__"])
            return
        if not isinstance(value.get("messages"), list) and INTERRUPT not in value:
            yield custom("message", value, meta_of(**graph.ids))
            return
        self._known = graph.has_state = graph.messages.found = True
        self.complete = not self._is_streamed
        yield from graph.read("values", "", value)


def _failure(value: Any) -> Event:
    if not isinstance(value, dict):
        return upstream_error(value)
    name, details = value.get("error"), leftover(value, ("error", "message"))
    return upstream_error(value.get("message"), code=name, status=_status(name), details=details)


def _status(name: Any) -> int | None:
    """Return the HTTP status that belongs to an exception of a model's client."""
    text = text_of(name)
    return next((status for ending, status in _STATUSES.items() if text.endswith(ending)), None)
