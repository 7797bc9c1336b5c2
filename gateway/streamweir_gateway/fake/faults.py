"""The table of faults: names, arguments and effects."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["AT", "CUT_CODINGS", "END", "FAULTS", "Argument", "Fault", "FaultKind", "Place", "faults_named"]

Place: TypeAlias = Literal["connection", "answer", "head", "transfer", "coding", "writes", "ending", "body"]
"""The part of a response that a fault changes. Two faults of one part exclude each other, except
in `head` and `body`.

connection: no response is sent. answer: the response is not a stream. head: the headers are changed.
transfer: the length of the body is given in another way. coding: the body is coded. writes: the bytes are cut
into other writes. ending: the body ends too early. body: the events are changed.
"""

Argument: TypeAlias = Literal["duration", "size", "status", "count"]

AT: Final = 30
"""The default position of a fault: the event in the middle of the answer's text."""

END: Final = -1
"""The position `@end`, after the last event."""


CUT_CODINGS: Final = ("gzip-cut", "deflate-cut", "br-cut")
"""Codings that also end the body too early."""


class FaultKind(NamedTuple):
    """One row of the table of faults."""

    name: str
    group: str
    place: Place
    explanation: str
    example: str
    has_position: bool = False
    """Whether the fault has a position: event (default: `AT`), or a number of bytes if `counts` says so."""
    counts: Literal["events", "bytes"] = "events"
    argument: Argument | None = None
    default: float | None = None
    """The default argument: seconds, bytes or a number. None means that the fault lasts for ever."""


class Fault(NamedTuple):
    """One fault with its position and argument."""

    kind: FaultKind
    position: int | None = None
    """The number of the event before which the fault happens (from 0), or `END`; None without a position."""
    argument: float | None = None
    """The argument: seconds, bytes, a status or a count, depending on the fault."""

    @property
    def name(self) -> str:
        """The name of the fault in the table."""
        return self.kind.name

    @property
    def amount(self) -> int:
        """The argument as a whole number."""
        return int(self.argument or 0)

    def __str__(self) -> str:
        place = "" if self.position is None else "@end" if self.position == END else f"@{self.position}"
        return f"{self.name}{place}"


def faults_named(faults: tuple[Fault, ...], *names: str) -> tuple[Fault, ...]:
    """Return those faults that have one of these names."""
    return tuple(fault for fault in faults if fault.name in names)


def _kind(  # noqa: PLR0913 - a row of the table
    group: str,
    place: Place,
    name: str,
    explanation: str,
    example: str = "",
    argument: Argument | None = None,
    default: float | None = None,
    *,
    counts: Literal["events", "bytes"] = "events",
) -> FaultKind:
    shown = example or name + _POSITIONS.get(place, "")
    has_position = "@" in shown
    return FaultKind(name, group, place, explanation, shown, has_position, counts, argument, default)


_POSITIONS: Final = {"ending": "@40", "body": "@10"}
"""The positions in the examples of faults that change the body, by their places."""

_connection: Final = partial(_kind, "No response", "connection")
_head: Final = partial(_kind, "Headers", "head")
_answer: Final = partial(_kind, "Answers that are no stream", "answer")
_writes: Final = partial(_kind, "Transfer", "writes")
_transfer: Final = partial(_kind, "Transfer", "transfer")
_coding: Final = partial(_kind, "Content codings", "coding")
_ending: Final = partial(_kind, "Streams that break", "ending")
_stream: Final = partial(_kind, "Streams that break", "body")
_end: Final = partial(_kind, "Ends of the run", "body")
_event: Final = partial(_kind, "Broken events", "body")


def _cut_coding(coding: str) -> FaultKind:
    explanation = f"{coding}, whose coded data ends within event N; the body itself ends properly"
    return _coding(f"{coding}-cut", explanation, f"{coding}-cut@20")


def _bomb(coding: str) -> FaultKind:
    explanation = f"{coding}; before event N so many bytes without meaning, sent as a thousandth of that"
    return _coding(f"{coding}-bomb", explanation, f"{coding}-bomb@5:1GiB", "size", 256 << 20)


_TABLE: Final = (
    _connection("refused", "nothing listens (for the whole server only)"),
    _connection("accept-close", "the connection is accepted and closed without a word"),
    _connection("reset-before-headers", "the connection is reset in place of an answer"),
    _connection("no-headers", "the request is read, and nothing comes back"),
    _connection("cut-headers", "the connection is closed within the headers"),
    _connection("not-http", "the answer is no HTTP"),
    _head("drip-headers", "the headers come byte by byte, with so much time between", "drip-headers:50ms",
          "duration", 0.05),
    _head("informational", "so many 1xx responses (100, 102, 103) come before the real one",
          "informational:10000", "count", 1000),
    _head("long-header", "one header line of this size", "long-header:1MiB", "size", 64 << 10),
    _head("many-headers", "so many header lines", "many-headers:5000", "count", 1000),
    _head("retry-after", "a Retry-After header; goes with status", "retry-after:3s", "duration", 3),
    _answer("status", "this HTTP status, with an error body that says too much", "status:503", "status", 500),
    _answer("redirect", "a redirect with this status to an address with credentials in it", "redirect:307",
            "status", 307),
    _answer("no-content", "204, without a body"),
    _answer("html", "200 and an HTML page"),
    _answer("html-stream", "an HTML page that is declared as the stream"),
    _answer("json-envelope", "200 and one JSON object that tells of a failure"),
    _answer("empty", "200 and an empty body"),
    _answer("wrong-type", "200 and a picture"),
    _writes("bytewise", "every byte is written by itself, headers included"),
    _writes("random-cuts", "the bytes are cut anywhere (--seed), in characters and line ends too"),
    _transfer("close-delimited", "no length and no chunks: the body ends with the connection"),
    _transfer("length-short", "Content-Length is less than the body"),
    _transfer("length-long", "Content-Length is more than the body; then the connection is closed"),
    _transfer("length-junk", "Content-Length is no number"),
    _transfer("two-lengths", "two Content-Length headers contradict each other"),
    _transfer("no-last-chunk", "the whole run, but the connection closes without the last chunk"),
    *(_coding(name, f"the body is {name}-coded, asked for or not") for name in ("gzip", "deflate", "br")),
    *map(_cut_coding, ("gzip", "deflate", "br")),
    *map(_bomb, ("gzip", "deflate", "br")),
    _coding("unknown-coding", "the body claims a coding that nobody knows"),
    _ending("cut", "the connection is closed before event N, within a chunk"),
    _ending("cut-within", "the connection is closed in the middle of event N"),
    _ending("cut-byte", "the connection is closed behind byte N of the body", "cut-byte@1000",
            counts="bytes"),
    _ending("stop", "the body ends properly before event N"),
    _ending("stop-within", "the body ends properly in the middle of event N"),
    _ending("reset", "the connection is reset before event N; reset@0: right after the headers"),
    _ending("bad-chunk", "a chunk without a size before event N"),
    _ending("endless-line", "before event N a line that never ends"),
    _stream("stall", "silence before event N: so long, or for ever", "stall@20:30s", "duration", None),
    _stream("comments", "nothing but comments (NDJSON: empty lines) before event N, so many, 10 in a second",
            "comments@0:100", "count", 50),
    _stream("drip", "from event N on byte by byte, with so much time between", "drip@20:100ms",
            "duration", 0.1),
    _stream("burst", "before event N so many events at once", "burst@20:100000", "count", 100_000),
    _stream("open-tools", "before event N so many tool calls without an end", "open-tools@20:10000", "count",
            10_000),
    _end("no-end", "the run ends without its end", "no-end"),
    _end("second-end", "the end of the run comes twice", "second-end"),
    _end("after-end", "so many events follow the end", "after-end:10", "count", 10),
    _end("silence-after-end", "the end comes, and the connection stays open for ever", "silence-after-end"),
    _end("error", "an error event before event N, and the run's end", "error@20"),
    _end("error-then-more", "an error event before event N, and the run goes on", "error-then-more@20"),
    _event("failures", "before event N a failed tool, a failed step and a warning that say too much"),
    _event("badjson", "before event N an event that is no JSON; badjson@end: behind the last"),
    _event("garbage", "so many random bytes before event N (--seed)", "garbage@10:4KiB", "size", 1024),
    _event("bad-utf8", "event N holds bytes that are no UTF-8"),
    _event("nul", "event N holds NUL as an escape"),
    _event("nul-byte", "event N holds NUL as a byte, which makes it no JSON"),
    _event("surrogate", "event N holds a lone surrogate"),
    _event("nan", "every number of event N is NaN or Infinity"),
    _event("huge-int", "every number of event N has 400 digits"),
    _event("duplicate-keys", "every key of event N occurs twice"),
    _event("wrong-types", "before event N its copies with wrong types in each field, and in all at once"),
    _event("nested", "event N holds a value nested so deep", "nested@10:10000", "count", 10_000),
    _event("long-line", "event N is a line of this size", "long-line@10:10MiB", "size", 10 << 20),
)  # fmt: skip

FAULTS: Final[dict[str, FaultKind]] = {kind.name: kind for kind in _TABLE}
"""All faults by name, in groups."""
