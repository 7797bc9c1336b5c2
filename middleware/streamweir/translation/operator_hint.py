"""A hint for the operator about a stream that was not understood: one line of the log, never for the client.

The hint is computed once, and only if something went wrong. It contains no text of the answer and no
credential. Of the upstream's messages it shows the fields that name their kind, if these are plain words.

Source: the configuration contract ("When a stream is not understood").
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from streamweir.codec.base import NO_OPTIONS
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.head_messages import Head, HeadMessage, head_message, head_messages
from streamweir.codec.message_kinds import message_kind
from streamweir.events import Content, SessionEnd, Stamp, Thinking, ToolCallEnd, ToolCallStart
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.reading.decode_stats import MAX_NAMED

__all__ = ["FEWEST_EVENTS", "buffering_hint", "stream_hint"]

SURE: Final = 0.5
"""The least score at which a hint names another dialect."""

SURER: Final = 0.8
"""The least score at which another dialect is named if part of the stream was understood."""

FEWEST_EVENTS: Final = 10
"""The fewest events for which `buffering_hint` returns a hint."""

SHORTEST_MS: Final = 500
LARGEST_SHARE: Final = 0.05
"""If events come within at most this share of the time of the stream, they were buffered on the way."""


MAX_MARKS: Final = 256
"""The most line ends and braces of the head that are looked at; each may end a message."""

_MARKUP: Final = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
_ENDS: Final = frozenset({"truncated", "idle_timeout", "first_event_timeout", "malformed", "upstream_error"})


def stream_hint(
    stream: StreamNormalizer, *, speaks: str, dialects: Dialects, is_clean: bool = True
) -> str | None:
    """Return a hint about an ended stream; None if there is no cause for one.

    Args:
        stream: the normaliser of the stream.
        speaks: the configured dialect.
        dialects: the dialects that may be recognised in it.
        is_clean: the body ended properly.
    """
    error = stream.pipeline.error
    if error is None and (stream.reader.has_understood or not stream.reader.unknown):
        return _about_silence(stream, speaks)
    if error is not None and stream.pipeline.reason not in _ENDS:
        return None
    if not stream.bytes:
        return "the body is empty" if is_clean else None
    if _MARKUP.match(stream.head):
        return "HTML in place of a stream: the address is that of a page, a login or a proxy"
    if stream.reader.has_understood:
        other = _about_other_dialect(stream, speaks, dialects)
        return other or (_about_end(stream) if is_clean and stream.pipeline.reason == "truncated" else None)
    return _about_dialect(stream, speaks, dialects)


def buffering_hint(events: int, total_ms: float, span_ms: float) -> str | None:
    """Return a hint that an upstream's events arrived all at once at the end; None if they did not.

    Args:
        events: the number of events.
        total_ms: milliseconds from the request to the last event.
        span_ms: milliseconds from the first to the last event.
    """
    if events < FEWEST_EVENTS or total_ms < SHORTEST_MS or span_ms > total_ms * LARGEST_SHARE:
        return None
    last = max(1, round(span_ms))
    return f"{events} events in the last {last} ms of {round(total_ms)} ms: something between buffers"


def _about_other_dialect(stream: StreamNormalizer, speaks: str, dialects: Dialects) -> str | None:
    """Return a hint about a stream that was partly understood because it is in a similar dialect."""
    dialect = stream.reader.dialect
    head = _looked_at(stream)
    name, score = _best(head, speaks, dialects)
    if dialect is None or dialect.decoder is None or dialect.name == name or score < SURER:
        return None
    own = dialect.decoder.detect(head)
    return f"looks like {name} ({score:.1f}); speaks is {speaks}" if score > own else None


def _about_dialect(stream: StreamNormalizer, speaks: str, dialects: Dialects) -> str | None:
    """Return a hint about a stream that was not understood."""
    head = _looked_at(stream)
    name, score = _best(head, speaks, dialects)
    if score >= SURE:
        return f"looks like {name} ({score:.1f}); speaks is {speaks}"
    kinds = ", ".join(_kinds(head))
    if stream.reader.unknown:
        events = f"any of {stream.reader.unknown} events" if stream.reader.unknown > 1 else "the only event"
        return f"no rule of {_spoken(stream, speaks)} knew {events}" + (f": {kinds}" if kinds else "")
    if kinds:
        return f"no dialect knows these events: {kinds}"
    if not stream.head.strip():
        return "the body is empty"
    if not _has_events(stream.head):
        return "the body holds nothing but comments"
    if stream.pipeline.reason == "malformed" and not stream.reader.malformed:
        return "text in place of a stream: it begins with neither a field of SSE nor JSON"
    return None


def _about_silence(stream: StreamNormalizer, speaks: str) -> str | None:
    """Return a hint about a stream that ended properly without an answer; None for any other stream."""
    stats = stream.reader.frames.stats
    ended_well = stream.pipeline.reason in ("done", "interaction")
    if not ended_well or stream.pipeline.lifecycle.has_answer or not stats.messages:
        return None
    number = stats.messages
    silence = f"nothing was said in {number} event{'s' if number > 1 else ''}"
    if not stats.unknown:
        return silence
    kinds = f": {', '.join(stats.kinds)}" if stats.kinds else ""
    return f"{silence}; no rule of {_spoken(stream, speaks)} knew {stats.unknown} of them{kinds}"


def _about_end(stream: StreamNormalizer) -> str | None:
    dialect = stream.reader.dialect
    word = None if dialect is None else _end_word(dialect)
    if stream.reader.cut_off or dialect is None:
        return None
    if stream.pipeline.tools.left_open:
        return "ended within a tool call"
    without = f"without {word}" if word else f"without the end of {dialect.name}"
    return f"ended after {_last(stream)} {without}; if this backend never says its end: eof: complete"


def _last(stream: StreamNormalizer) -> str:
    match stream.pipeline.last:
        case kind if kind in (Content, Thinking):
            return "final text" if kind is Content else "a thought"
        case kind if kind in (ToolCallEnd, ToolCallStart):
            return "a tool call"
    return "its last event"


def _spoken(stream: StreamNormalizer, speaks: str) -> str:
    return speaks if stream.reader.dialect is None else stream.reader.dialect.name


def _looked_at(stream: StreamNormalizer) -> Head:
    """Return the head of the stream, cut to a bounded number of messages."""
    head = stream.head
    while head.count(b"\n") + head.count(b"\r") + head.count(b"}") > MAX_MARKS:
        head = head[: len(head) // 2]
    return Head(head)


def _best(head: Head, speaks: str, dialects: Dialects) -> tuple[str, float]:
    """Return the dialect with the highest score for `head`, other than the configured one."""
    scores = [
        (dialect.decoder.detect(head), dialect.name)
        for dialect in dialects.detectable
        if dialect.decoder is not None and dialect.name != speaks
    ]
    score, name = max(scores, default=(0.0, ""))
    return name, score


def _has_events(head: bytes) -> bool:
    return any(line.strip() and not line.startswith(b":") for line in head.splitlines())


def _kinds(head: Head) -> list[str]:
    """Return the kinds of the messages in `head`, each once."""
    found: dict[str, None] = {}
    for message in head_messages(head):
        if (kind := message_kind(message)) is not None:
            found[kind] = None
        if len(found) == MAX_NAMED:
            break
    return [*found]


@lru_cache(maxsize=64)
def _end_word(dialect: Dialect) -> str | None:
    """Return the end mark of a stream, as the dialect's encoder writes it."""
    if dialect.encoder is None:
        return None
    try:
        encoder = dialect.make_encoder(NO_OPTIONS)
        stamp = Stamp("req_0", 0, 0)
        frames = [*encoder.encode(SessionEnd(), stamp), *encoder.close()]
    except Exception:  # an encoder of an application may need more than an end
        return None
    messages = [message for frame in frames if (message := head_message(frame)) is not None]
    words = [message_kind(message) or _plain(message) for message in messages]
    known = [word for word in words if word]
    return known[-1].rpartition("=")[2].removeprefix("event: ") if known else None


def _plain(message: HeadMessage) -> str | None:
    text = message.data.decode("ascii", "replace")
    return text if re.fullmatch(r"\[[A-Z]+\]", text) else None
