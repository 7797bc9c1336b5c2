"""The trace context of a request: taken from the client's request or begun here, and sent to the upstream.

Source: W3C Trace Context, level 1; of level 2 the `random` flag.
"""

from __future__ import annotations

import os
import re
from typing import Final

from msgspec import Struct
from starlette.types import Scope

from streamweir.http.headers import HeaderList, request_id_of
from streamweir_gateway.remembered_headers import RememberedHeaders

__all__ = [
    "TRACE_CONTEXT",
    "TraceContext",
    "ids_of",
    "new_ids",
    "new_request_id",
    "settled_trace_context",
    "trace_context_of",
]

TRACE_CONTEXT: Final = "trace_context"
"""The key of `scope["state"]` under which the trace context is kept."""

_TRACEPARENT: Final = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})"
    r"-(?!0{32})(?P<trace_id>[0-9a-f]{32})"
    r"-(?!0{16})(?P<parent_id>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})"
    r"(?P<rest>-.*)?",
    re.ASCII,
)
_MEMBER: Final = re.compile(
    r"(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
    r"=[ -+\--<>-~]{0,255}[!-+\--<>-~]",
    re.ASCII,
)
_MAX_MEMBERS: Final = 32
_SAMPLED: Final = 0x01
_RANDOM: Final = 0x02
_FLAGS: Final = ("00", "01", "02", "03")
"""The flags as they are written."""

_ID_BYTES: Final = 16 + 16 + 8
"""The random bytes for the ids of a request, a trace and a span."""

_DRAWN: Final = 64
"""The number of requests for which random bytes are drawn at once."""


class TraceContext(Struct, frozen=True):
    """The trace that a request belongs to, and the gateway's span in it."""

    trace_id: str
    """The id of the trace: 32 hexadecimal digits."""
    span_id: str
    """The id of the gateway's span, the parent of the upstream's spans: 16 hexadecimal digits."""
    flags: int = _SAMPLED
    """The flags of the trace.

    A trace that begins here is sampled, because each request has a line in the log.

    If it were not sampled, the upstream would record less than without a trace context.
    """
    tracestate: str = ""
    """The client's `tracestate`, sent on unchanged; empty if there is no `tracestate`."""

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers for the upstream."""
        headers = [("traceparent", f"00-{self.trace_id}-{self.span_id}-{_FLAGS[self.flags]}")]
        if self.tracestate:
            headers.append(("tracestate", self.tracestate))
        return headers

    def lines(self) -> str:
        """Return the headers for the upstream as lines of HTTP/1.1."""
        line = f"traceparent: 00-{self.trace_id}-{self.span_id}-{_FLAGS[self.flags]}\r\n"
        return f"{line}tracestate: {self.tracestate}\r\n" if self.tracestate else line


def settled_trace_context(scope: Scope) -> TraceContext:
    """Return the trace context of a request: the same object at each call."""
    try:
        context: TraceContext = scope["state"][TRACE_CONTEXT]
    except KeyError:
        context = scope.setdefault("state", {})[TRACE_CONTEXT] = trace_context_of(scope["headers"])
    return context


def trace_context_of(headers: HeaderList) -> TraceContext:
    """Return the trace context for a request: the trace in its headers, or a new trace. Never raises.

    A `traceparent` that is invalid or repeated counts as missing, and `tracestate` is ignored then.
    """
    parents, states = [], []
    for name, value in headers:
        if len(name) in (10, 11):  # the length of either, so that most headers cost nothing
            lowered = name.lower()
            if lowered == b"traceparent":
                parents.append(value)
            elif lowered == b"tracestate":
                states.append(value)
    match = _continued(parents)
    if match is None:
        return TraceContext(_random_id(16), _random_id(8))
    known = _SAMPLED | _RANDOM if match["version"] == "00" else _SAMPLED
    flags = int(match["flags"], 16) & known
    return TraceContext(match["trace_id"], _random_id(8), flags, _tracestate(states))


def _continued(parents: list[bytes]) -> re.Match[str] | None:
    """Return the parts of the only traceparent, if valid. Later versions may be longer than version 00."""
    if len(parents) != 1:
        return None
    match = _TRACEPARENT.fullmatch(parents[0].decode("latin-1").strip(" \t"))
    if match is None or (match["version"] == "00" and match["rest"] is not None):
        return None
    return match


def _tracestate(states: list[bytes]) -> str:
    """Return all members of `tracestate`, joined; empty if a member is malformed or there are too many."""
    pieces = (piece.strip(" \t") for piece in b",".join(states).decode("latin-1").split(","))
    members = [piece for piece in pieces if piece]
    if len(members) > _MAX_MEMBERS or not all(map(_MEMBER.fullmatch, members)):
        return ""
    return ",".join(members)


_drawn: list[str] = []
"""Random hexadecimal digits for requests to come, drawn for many at once, and anew in a forked process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)


def _digits() -> str:
    """Return the digits for the ids of one request, which no other call returns."""
    if not _drawn:
        _drawn.extend(os.urandom(_DRAWN * _ID_BYTES).hex(" ", _ID_BYTES).split(" "))
    return _drawn.pop()


def new_request_id() -> str:
    """Return a new id for a request that has no id."""
    return f"req_{_digits()[:32]}"


def ids_of(headers: HeaderList) -> tuple[str, TraceContext]:
    """Return the id of a request and the context of its trace: those in its headers, or new ones."""
    if isinstance(headers, RememberedHeaders) and not headers.has_ids:
        return new_ids()
    return request_id_of(headers, make=new_request_id), trace_context_of(headers)


def new_ids() -> tuple[str, TraceContext]:
    """Return a new id for a request that has no id, and the context of a new trace."""
    digits = _digits()
    return f"req_{digits[:32]}", TraceContext(digits[32:64], digits[64:])


def _random_id(length: int) -> str:
    """Return `length` random bytes as hexadecimal digits. The invalid id of zeros occurs once in 2^64."""
    return _digits()[: 2 * length]
