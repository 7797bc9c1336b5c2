"""Reads the lines of a data stream: a code, a colon, and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.base import NO_EXTRA, Decoder
from streamweir.codec.coerce import custom, leftover, meta_of, named_data, text_of, upstream_error
from streamweir.codec.head_messages import head_messages
from streamweir.codec.message_template import TextFields
from streamweir.dialects.vercel_data.decode_ending import Ending
from streamweir.dialects.vercel_data.decode_parts import read_file, read_source
from streamweir.dialects.vercel_data.decode_tools import Calls
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Data, Event, Interaction, Meta, SessionEnd, Thinking
from streamweir.framing import Frame
from streamweir.ids import short_id
from streamweir.jsontext import parse_json

__all__ = ["VercelDataDecoder"]

_LINE: Final = re.compile(rb"\s*([0-9a-z]|aui-[a-z-]{1,40}):(.*)\Z", re.DOTALL)
_CODES: Final = re.compile(rb'[03g]:"|[28]:\[|[9abcdefhijk]:\{|aui-[a-z-]{1,40}:[\[{]')
_TEXTS: Final[Mapping[str, type[Content] | type[Thinking]]] = {
    "0": Content,
    "aui-text-delta": Content,
    "g": Thinking,
    "aui-reasoning-delta": Thinking,
}
_DELTAS: Final = {Content: "textDelta", Thinking: "reasoningDelta"}
_LISTS: Final = {"2": "data", "8": "annotation"}
_ENCRYPTED: Final = {"i": "data", "j": "signature"}
"""The codes of encrypted reasoning and of its signature, with the field that each of them has."""


class VercelDataDecoder(Decoder):
    """Reads a data stream. `d` ends it; without `d`, the body may end if no step and no call is open."""

    framing: ClassVar = "ndjson"  # lines alike; a failure in place of a stream is JSON
    text_fields: ClassVar = TextFields(
        texts=((),), prefix=re.compile(rb"(?:0|g|aui-(?:text|reasoning)-delta):")
    )
    media_types: ClassVar = frozenset({"text/plain"})

    def __init__(self) -> None:
        self._calls: Calls | None = None
        self._ending = Ending()
        self._message_id: str | None = None

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return a high score for a complete line with a code and a value of the code's kind."""
        return 0.9 if any(map(_is_line, (message.data for message in head_messages(head)))) else 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of a line; `d` and `3` end the stream."""
        if not frame.data.strip():
            return ()
        found = _LINE.match(frame.data)
        if found is None:
            return (custom("line", frame.json()),)
        value, damaged = parse_json(found[2])
        frame.invalid_text = frame.invalid_text or damaged
        if self._calls is None:
            self._calls = Calls(self.room)
        return self._calls.pass_on(self._read(found[1].decode(), value, self._calls))

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._ending.summary or NO_EXTRA

    def close(self) -> Iterable[Event]:
        """Return the end of a body without its end mark `d`."""
        calls = self._calls
        if calls is None or not self._ending.may_end_here:
            return ()
        if calls.waiting and not self._ending.leaves_calls:
            return ()
        return calls.pass_on(self._finish({}, calls))

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether the last step is over, and no call or step asks for another step."""
        return self._ending.is_over

    def _read(self, code: str, value: Any, calls: Calls) -> Iterable[Event]:
        if code in _TEXTS:
            return self._text(_TEXTS[code], value)
        if code in _LISTS:
            items = value if isinstance(value, list) else [value]
            return [named_data(_LISTS[code], item, self._meta()) for item in items]
        if code == "3":
            return (upstream_error(value, meta=self._meta()),)
        if code == "aui-state":
            return (self._state(value),)
        if not isinstance(value, dict):
            return (custom(code, value, self._meta()),)
        if code in "9abc":
            return calls.read(code, value, self._message_id)
        return self._read_object(code, value, calls)

    def _read_object(self, code: str, value: Mapping[str, Any], calls: Calls) -> Iterable[Event]:
        match code:
            case "d":
                return self._finish(value, calls)
            case "e":
                rest = leftover(value, Ending.FIELDS)
                if usage := self._ending.end_step(value):
                    rest = {**(rest or {}), "usage": usage}
                return self._rest("finish-step", rest)
            case "f":
                self._ending.begin_step()
                self._message_id = short_id(text_of(value.get("messageId"))) or None
                return self._rest("start-step", leftover(value, ("messageId",)))
            case "h":
                return (read_source(value, self._message_id),)
            case "k":
                return (read_file(value, self._message_id),)
            case "i" | "j":
                known = _ENCRYPTED[code]
                return self._rest("reasoning", leftover(value, (known,)))
        return (custom(code, value, self._meta()),)

    def _finish(self, value: Mapping[str, Any], calls: Calls) -> Iterator[Event]:
        """Yield the calls that the client is to run, then the end."""
        self._ending.end(value)
        meta = meta_of(message_id=self._message_id, extra=leftover(value, Ending.FIELDS))
        if self._ending.has_failed:
            yield SessionEnd("error", summary=self._ending.summary, meta=meta)
            return
        if (error := self._ending.error) is not None:
            yield error
            return
        yield from calls.start_all()
        waiting = calls.waiting
        for tool_id, name in waiting.items():
            yield Interaction(tool_id, "tool", title=name)
        status: Literal["suspended", "completed"] = "suspended" if waiting else "completed"
        yield SessionEnd(status, summary=self._ending.summary, meta=meta)

    def _text(self, kind: type[Content] | type[Thinking], value: Any) -> Iterable[Event]:
        rest = None
        if isinstance(value, dict):
            known = _DELTAS[kind]
            value, rest = value.get(known), leftover(value, (known,))
        text, meta = text_of(value), self._meta(rest)
        if not text and not rest:
            return ()
        return (Content(text, meta=meta) if kind is Content else Thinking(text, "reasoning", meta=meta),)

    def _state(self, value: Any) -> Event:
        """Return a whole state; any other change is named data, because a JSON Patch needs the old state."""
        match value:
            case [{"type": "set", "path": [], "value": dict(state), **rest}] if not rest:
                return Data("state", state, meta=self._meta())
        return named_data("aui-state", value, self._meta())

    def _rest(self, name: str, rest: Mapping[str, Any] | None) -> Iterable[Event]:
        return (custom(name, rest, self._meta()),) if rest else ()

    def _meta(self, rest: Mapping[str, Any] | None = None) -> Meta | None:
        return meta_of(message_id=self._message_id, extra=rest)


def _is_line(data: bytes) -> bool:
    """Return whether `data` is a complete line of a data stream."""
    found = _CODES.match(data)
    if found is None:
        return False
    try:
        parse_json(data[data.index(b":") + 1 :])
    except MalformedEvent:
        return False
    return True
