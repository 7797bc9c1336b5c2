"""Reads the Messages API: its stream of blocks, and a whole message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import is_broken_off, standard_finish
from streamweir.codec.base import Decoder
from streamweir.codec.block_forms import BlockForms, object_in
from streamweir.codec.coerce import and_extra, custom, leftover, message_meta, text_of, upstream_error
from streamweir.codec.counts import keep_counts
from streamweir.codec.finish import CUT_SHORT, finish_error
from streamweir.codec.message_template import Piece, TextFields
from streamweir.codec.suspension import SUSPENSION, asked_in, is_suspended
from streamweir.codec.text_form import TextForm
from streamweir.dialects.anthropic.decode_blocks import Blocks
from streamweir.dialects.anthropic.shared_words import CANCELLED, FINISH_REASONS, STATUSES
from streamweir.events import Content, Event, Interaction, Meta, SessionEnd, SessionStart
from streamweir.framing import Frame
from streamweir.ids import short_value

__all__ = ["AnthropicDecoder"]

_TYPES: Final = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    }
)
_TOKENS: Final = frozenset({"input_tokens", "output_tokens"})
_KNOWN_TOKENS: Final = ("prompt_tokens", "completion_tokens")
_PAUSES: Final = ("pause_turn", "compaction")
"""The stop reasons of a turn that continues when the client sends it back."""

_DELTA: Final = frozenset({"stop_reason", "stop_sequence", "stop_details", "container"})
_BOOKKEEPING: Final = ("context_management", "input_transformations")
"""Reports of changes to the request, which are passed on with the counts."""

_START: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"})
_TYPE: Final = frozenset({"type"})
_OF_START: Final = frozenset({"type", "message"})
_OF_BLOCK: Final = frozenset({"type", "index", "content_block"})
_OF_DELTA: Final = frozenset({"type", "index", "delta"})
_OF_STOP: Final = frozenset({"type", "index"})
_QUIET: Final = frozenset(
    spelled.encode()
    for message in (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_stop", "index": 0},
        {"type": "ping"},
    )
    for spelled in (json.dumps(message), json.dumps(message, separators=(",", ":")))
)
"""Messages that mean nothing while no block has a value to be sent. Answers of one text have each of them."""
_GOOD_ENDS: Final = {
    word.encode(): standard
    for word, standard in FINISH_REASONS.items()
    if word not in _PAUSES and not is_broken_off(word)
}
"""The standard's finish reason, by a stop reason that means nothing else."""

_MOST: Final = 1 << 53
"""Counts of tokens are less than this."""

_MANY: Final = 16
"""With this many counts in the summary, a further message is decoded: not all of its counts may have a place.
"""
_OF_END: Final = frozenset({"type", "delta", "usage"})
"""The fields of the last messages that rules read."""


class AnthropicDecoder(Decoder):
    """Reads one stream. `message_stop` is its end; without it, the message has broken off."""

    text_fields: ClassVar = TextFields(
        texts=(("delta", "text"), ("delta", "thinking")),
        form=TextForm(
            '{"type":"content_block_delta","index":<number>,"delta":{"type":"text_delta","text":<text>}}',
            usual_block="event: content_block_delta\ndata: "
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":<text>}}',
        ),
    )

    block_forms: ClassVar = BlockForms(
        begin=(
            '{"type":"message_start","message":{',
            '"model":<model=word>,?',
            '"id":<id=word>,"type":"message","role":"assistant"',
            ',"model":<later_model=word>?',
            ',"content":[],"stop_reason":null,"stop_sequence":null',
            ',"usage":<usage=object>}<blanks>}',
            '<next>{"type":"content_block_start","index":<number>,'
            '"content_block":{"type":"text","text":""}<blanks>}?',
        ),
        finish=(
            '{"type":"content_block_stop","index":<number><blanks>}<next>?',
            '{"type":"message_delta","delta":{"stop_reason":<reason=word>,"stop_sequence":null}',
            ',"usage":<counts=object><blanks>}',
            '<next>{"type":"message_stop"<blanks>}<over=mark>?',
        ),
        quiet=(
            '{"type":"content_block_start","index":<number>,',
            '"content_block":{"type":"text","text":""}<blanks>}',
        ),
        ping=('{"type":"ping"<blanks>}',),
        close=('{"type":"content_block_stop","index":<number><blanks>}',),
        end=('{"type":"message_stop"<blanks>}',),
    )

    def __init__(self) -> None:
        self._has_blocks = False
        """A message was decoded: until then there are no `Blocks`, which answers of one text do not need."""
        self._meta: Meta | None = None
        self._summary: dict[str, Any] = {}
        self._waits = False

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for the events of the API, and for a whole message."""
        kind = text_of(fields.get("type"))
        if kind in _TYPES:
            return 0.97 if event in (None, kind) else 0.0
        match fields:
            case {"type": "message", "role": "assistant", "content": list(), "stop_reason": _}:
                return 0.97
            case {"type": "error", "error": {"type": str(name), "message": str()}} if name in STATUSES:
                return 0.9
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        if frame.data in _QUIET and self._is_idle:
            return ()
        if not frame.data.strip():
            return ()
        self._blocks.limit = self.room
        self._blocks.request_id = self.request_id
        message = frame.json()
        if not isinstance(message, dict):
            return (custom("message", message),)
        return self._read(message)

    def read_block(self, found: re.Match[bytes]) -> Sequence[Event] | None:
        """Return the events of a usual block; None before the answer, and while a call is incomplete."""
        kind = found.lastgroup
        if self._has_blocks and not self._blocks.is_idle:
            return None
        if kind == "begin":
            return self._begin(found)
        if self._meta is None:
            return None
        if kind == "finish":
            return self._finish(found)
        return self._stop(None) if kind == "end" else ()

    @property
    def plain_piece(self) -> Piece | None:
        """A text of the message that has begun."""
        return None if self._meta is None else Content("", meta=self._meta)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._summary

    @cached_property
    def _blocks(self) -> Blocks:
        self._has_blocks = True
        blocks = Blocks()
        blocks.meta = self._meta
        return blocks

    @property
    def _is_idle(self) -> bool:
        """Whether no block has a value to be sent."""
        return not self._has_blocks or self._blocks.is_idle

    def _read(self, message: dict[str, Any]) -> Iterable[Event]:
        kind = message.get("type")
        if kind == "content_block_delta" and "index" in message and isinstance(message.get("delta"), dict):
            return self._blocks.delta(message["index"], message["delta"], _beside(message, _OF_DELTA))
        block = message.get("content_block")
        if kind == "content_block_start" and "index" in message and isinstance(block, dict):
            return self._blocks.start(message["index"], block, _beside(message, _OF_BLOCK))
        if kind == "content_block_stop" and "index" in message:
            return self._blocks.stop(message["index"], _beside(message, _OF_STOP))
        if kind == "message_start" and isinstance(message.get("message"), dict):
            return self._start(message["message"], _beside(message, _OF_START))
        return self._read_other(kind, message)

    def _read_other(self, kind: Any, message: dict[str, Any]) -> Iterable[Event]:
        """Return the events of a message that does not begin the answer and belongs to no block."""
        match kind:
            case "message_delta":
                return self._message_delta(message)
            case "message_stop":
                return self._stop(_beside(message, _TYPE))
            case "message" if isinstance(message.get("content"), list):
                return self._whole(message)
            case "ping":
                return ()
        if isinstance(message.get("error"), dict):
            return self._failure(message["error"])
        return (custom(text_of(message.get("type")) or "message", leftover(message, ("type",)), self._meta),)

    def _start(self, start: Mapping[str, Any], beside: dict[str, Any] | None) -> tuple[Event, ...]:
        self._meta = self._blocks.meta = message_meta(short_value(start.get("id")))
        origin = {"model": start.get("model")}
        if beside or not start.keys() <= _START:
            origin |= {**(leftover(start, _START) or {}), **(beside or {})}
        meta = and_extra(self._meta, leftover(origin, ()))
        return (SessionStart(meta=meta), *self._count(start.get("usage")))

    def _begin(self, found: re.Match[bytes]) -> Sequence[Event] | None:
        """Return the start of a usual answer."""
        message_id, model, later_model, usage = found.group("id", "model", "later_model", "usage")
        if len(self._summary) >= _MANY or (counts := object_in(usage)) is None:
            return None
        meta: Meta = {"message_id": message_id.decode()} if message_id else {}
        self._meta = meta or None
        if self._has_blocks:
            self._blocks.meta = self._meta
        if (model := model if later_model is None else later_model) is not None:
            meta = meta.copy()
            meta["extra"] = {"model": model.decode()}
        start = SessionStart(meta=meta or None)
        return (start, *further) if (further := self._count(counts)) else (start,)

    def _finish(self, found: re.Match[bytes]) -> Sequence[Event] | None:
        """Note the counts and the stop reason of a usual answer; return its end, if that is a part of the
        match.
        """
        reason, usage, over = found.group("reason", "counts", "over")
        finish = _GOOD_ENDS.get(reason)
        if finish is None or len(self._summary) >= _MANY or (counts := object_in(usage)) is None:
            return None
        self._count(counts)
        self._summary["finish_reason"] = finish
        return () if over is None else self._stop(None)

    def _message_delta(self, message: Mapping[str, Any]) -> tuple[Event, ...]:
        delta = message.get("delta")
        fields = delta if isinstance(delta, dict) else {}
        events = [*self._count(message.get("usage")), *self._close_blocks(fields), *self._stop_reason(fields)]
        if fields.get("container"):
            self._summary["container"] = fields["container"]
        if message.keys() <= _OF_END:
            return tuple(events)
        events += self._suspension(message)
        self._summary.update((name, message[name]) for name in _BOOKKEEPING if message.get(name))
        if rest := leftover(message, (*_OF_END, SUSPENSION, *_BOOKKEEPING)):
            events.append(custom("message_delta", rest, self._meta))
        return tuple(events)

    def _close_blocks(self, delta: Mapping[str, Any]) -> Iterable[Event]:
        """Return the calls whose blocks were not closed (as Kimi does), unless the message broke off."""
        reason = delta.get("stop_reason")
        return self._blocks.stop_all() if isinstance(reason, str) and not is_broken_off(reason) else ()

    def _stop_reason(self, delta: Mapping[str, Any]) -> Sequence[Event]:
        reason = delta.get("stop_reason")
        events: list[Event] = []
        if isinstance(reason, str):
            if (error := finish_error(reason, self._meta)) is not None:
                return (error,)
            self._summary["finish_reason"] = standard_finish(reason, FINISH_REASONS)
        if reason in _PAUSES:
            self._waits = True
            events.append(Interaction("", "continue", meta=self._meta))
        if rest := _beside(delta, _DELTA):
            events.append(custom("delta", rest, self._meta))
        return events

    def _suspension(self, message: Mapping[str, Any]) -> Iterable[Event]:
        self._waits = self._waits or is_suspended(message)
        return asked_in(message)

    def _stop(self, beside: dict[str, Any] | None) -> tuple[Event, ...]:
        meta = self._meta if beside is None else and_extra(self._meta, beside)
        summary = self._summary or None
        if not self._has_blocks:
            return (SessionEnd("suspended" if self._waits else "completed", None, summary, meta=meta),)
        calls = (*self._blocks.stop_all(),)
        if self._summary.get("finish_reason") not in CUT_SHORT:
            calls += (*self._blocks.ask_for_cut(),)
        waits = self._waits or self._blocks.called
        return (*calls, SessionEnd("suspended" if waits else "completed", None, summary, meta=meta))

    def _whole(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a whole message, sent in place of a stream."""
        yield from self._start(message, leftover(message, (*_START, SUSPENSION)))
        for index, block in enumerate(message["content"]):
            if isinstance(block, dict):
                yield from self._blocks.start(index, block, None)
                yield from self._blocks.stop(index, None)
            else:
                yield custom("content", block, self._meta)
        yield from self._stop_reason({"stop_reason": message.get("stop_reason")})
        yield from self._suspension(message)
        yield from self._stop(None)

    def _failure(self, error: Mapping[str, Any]) -> Iterator[Event]:
        kind = text_of(error.get("type"))
        if error.get("details") == CANCELLED:
            yield SessionEnd("cancelled")
            return
        yield upstream_error(
            error.get("message"),
            code=text_of(error.get("code")) or kind,
            status=STATUSES.get(kind),
            details=leftover(error, ("type", "message")),
        )

    def _count(self, usage: Any) -> tuple[Event, ...]:
        """Note the tokens. Counts are of the whole message, so that later counts replace earlier ones."""
        if not isinstance(usage, dict):
            return ()
        summary, rest = self._summary, None
        given, made = usage.get("input_tokens"), usage.get("output_tokens")
        has_more = len(usage) > (given is not None) + (made is not None)
        if has_more and (others := leftover(usage, _TOKENS)):
            rest = keep_counts(summary, others, _KNOWN_TOKENS)
        if type(given) is int and 0 <= given < _MOST:
            summary["prompt_tokens"] = given
        if type(made) is int and 0 <= made < _MOST:
            summary["completion_tokens"] = made
        if "prompt_tokens" in summary and "completion_tokens" in summary:
            summary["total_tokens"] = summary["prompt_tokens"] + summary["completion_tokens"]
        return (custom("usage", rest, self._meta),) if rest else ()


def _beside(fields: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """Return the fields that no rule reads and that have a value; None if there are no such fields."""
    return None if fields.keys() <= known else leftover(fields, known)
