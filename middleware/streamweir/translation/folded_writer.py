"""Writes a stream as one JSON object at its end: the folded result, or the protocol's whole answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson

from streamweir.codec.base import Encoder
from streamweir.codec.client_names import ClientNames
from streamweir.codec.opaque_values import without_opaque
from streamweir.errors import LimitExceeded
from streamweir.events import Content, Error, Event, SessionStart, Stamp, Thinking, ToolCallStart
from streamweir.framing import MEDIA_TYPES, FramingChoice
from streamweir.jsontext import write_json
from streamweir.translation.answer_order import AnswerOrder
from streamweir.translation.argument_texts import ArgumentTexts
from streamweir.translation.failure_body import failure_body
from streamweir.translation.fold import LIMIT, Fold, KeptJson, closes, plain
from streamweir.translation.report import not_understood_error

__all__ = ["FoldedWriter"]


class FoldedWriter:
    """Writes the answer of a stream as a whole.

    Args:
        request_id: the id of the stream.
        encoder: the encoder of the protocol, which may have a whole answer of its own.
        limit: the most bytes of the answer.
        is_own: returns whether the stream is read in the dialect that is written; None: it is not.

    Attributes:
        framing: `json`.
        headers: always empty; see `StreamWriter`.
        unsupported, added: always empty and 0; see `StreamWriter`.
    """

    def __init__(
        self,
        request_id: str,
        encoder: Encoder,
        *,
        limit: int = LIMIT,
        is_own: Callable[[], bool] | None = None,
    ) -> None:
        self.framing: FramingChoice = "json"
        self.media_type = MEDIA_TYPES["json"]
        self.headers: Mapping[str, str] = MappingProxyType({})
        self.unsupported: Counter[str] = Counter()
        self.added = 0
        self._encoder = encoder
        self._carries_opaque = encoder.carries_opaque
        self._has_own_answer = type(encoder).whole_answer is not Encoder.whole_answer
        keep = KeptJson if self._has_own_answer else orjson.Fragment
        self._fold = Fold(request_id, limit=limit, keep=keep)
        is_ordered = self._has_own_answer or self._carries_opaque
        self._order = AnswerOrder(self._fold, limit=limit) if is_ordered else None
        writes_texts = self._has_own_answer and encoder.streams_arguments
        self._arguments = ArgumentTexts(limit) if writes_texts else None
        self._limit = limit
        self._is_own = is_own
        self._stamp = Stamp(request_id, 0, 0)
        self._out = b""

    @property
    def has_answer(self) -> bool:
        """Whether the body is an answer. Half an answer does not count for clients that go by the status."""
        failed = (self._fold.error or self._failure) is not None and self._encoder.reports_by_status
        return self._fold.has_answer and not failed

    @property
    def is_not_understood(self) -> bool:
        """Whether the body is the error of an answer that was not understood."""
        return self._failure is not None

    @property
    def _failure(self) -> Error | None:
        """The error for an answer that was not understood, if the client gets no warnings; else None."""
        if self._encoder.warns or not any(warning.is_not_understood for warning in self._fold.warnings):
            return None
        return not_understood_error()

    @property
    def reports_by_status(self) -> bool:
        """Whether clients of the protocol go by the HTTP status of a failure; see `Encoder`."""
        return self._encoder.reports_by_status

    @property
    def streams_arguments(self) -> bool:
        """Whether the answer shows arguments of calls as text, made of the upstream's pieces."""
        return self._arguments is not None

    def take_names(self, names: ClientNames) -> None:
        """Take the names that the client used in its request; call it before the first event."""
        self._encoder.names = names

    def begin_body(self) -> None:
        """Do nothing: the body is sent at the end."""

    def take(self) -> bytes:
        """Return the folded result once it is written; empty bytes before that and on later calls."""
        out, self._out = self._out, b""
        return out

    def take_last(self) -> bytes:
        """See `take`."""
        return self.take()

    def with_ids(self, data: bytes) -> bytes:
        """Return `data`: there are no events in the body."""
        return data

    def write(self, event: Event, stamp: Stamp) -> None:
        """Add `event`.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        self._stamp = stamp
        if self._encoder.began_at is None:
            self._encoder.began_at = stamp.timestamp
        if not self._carries_opaque and isinstance(event, Content | Thinking | ToolCallStart):
            rest = without_opaque(event)
            if rest is None:
                return
            event = rest
        if type(event) is SessionStart:
            self._encoder.upstream = event.upstream or ""
            self._encoder.writes_extra = self._is_own is not None and self._is_own()
        self._fold.add(event)
        if self._arguments is not None:
            self._arguments.add(event)
        if self._order is not None:
            self._order.add(event)
            if self._writes_turn and 2 * self._fold.size > self._limit and not closes(event):
                raise LimitExceeded("the folded answer is larger than allowed")

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Add texts: at once if they surely fit, else one by one, because the limit is exact.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        whole = "".join(texts)
        if self._fold.has_room(len(whole)):
            self.write(event.with_text(whole), stamp)
            return
        for place, text in enumerate(texts):
            try:
                self.write(event.with_text(text), stamp)
            except LimitExceeded as error:
                error.taken = place + 1
                raise

    def finish(self) -> None:
        """Write the answer."""
        error = self._fold.error or self._failure
        if error is not None and self._encoder.reports_by_status:
            self._out = failure_body(self._encoder, error, self._stamp.request_id)
            return
        self._out = write_json(self._whole_answer()) + b"\n"

    def _whole_answer(self) -> Mapping[str, Any]:
        if not self._has_own_answer:
            return self._with_turn(self._fold.result())
        folded: dict[str, Any] = plain(self._fold.result())
        if self._arguments is not None:
            folded["message"]["tool_calls"] = self._arguments.added_to(folded["message"]["tool_calls"])
        order = self._order and self._order.entries()
        return self._encoder.whole_answer({**folded, "order": order}, self._stamp) or folded

    @property
    def _writes_turn(self) -> bool:
        """Whether the result also has the message in request form, so texts and calls occur twice."""
        return not self._has_own_answer and self._order is not None and self._order.has_opaque

    def _with_turn(self, folded: dict[str, Any]) -> Mapping[str, Any]:
        if self._order is not None and self._writes_turn:
            folded["message"]["turn"] = self._order.message()
        return folded

    def heartbeat(self) -> bytes:
        """Return nothing: the status of the answer is unknown before its end."""
        return b""

    def default_heartbeat(self) -> bytes:
        """See `heartbeat`."""
        return b""
