"""Reads from a request the handle of a run, the client's position in the run, and ids that find runs.

Source: the contract of resumable streams, sections 2 and 3.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus

from streamweir.codec.dialect import Dialect
from streamweir.http.headers import Headers, header_values
from streamweir.http.refusals import Refusal
from streamweir.http.sending import Scope
from streamweir.metadata import unix_milliseconds
from streamweir.optional_json import json_or
from streamweir.requests.conversation_names import conversation_names
from streamweir.runs.found_run import About
from streamweir.runs.handles import Position, is_handle, read_event_id
from streamweir.runs.resumable_run import Retention
from streamweir.runs.run_index import KINDS

__all__ = [
    "RUN_HEADER",
    "about_request",
    "brought_handle",
    "digest",
    "last_event_ids",
    "named_run",
    "position_of",
    "requested_ids",
    "requested_names",
    "run_headers",
    "without_handle",
]

RUN_HEADER: Final = b"x-streamweir-run"
_AFTER: Final = re.compile(r"-1|0|[1-9][0-9]{0,17}")


def brought_handle(scope: Scope) -> str | None:
    """Return the handle in the header `X-Streamweir-Run` of a request; None without that header.

    Raises:
        Refusal: the header has an invalid form, or occurs twice.
    """
    values = header_values(scope["headers"], RUN_HEADER)
    if len(values) > 1 or (values and not is_handle(values[0])):
        raise Refusal("BAD_REQUEST", "X-Streamweir-Run: must be run_ and 32 lower-case hex digits, once.")
    if values:
        return values[0]
    named = [value for value in _query(scope, "run") if is_handle(value)]
    return named[0] if len(named) == 1 else None  # a value of another form belongs to the application


def position_of(scope: Scope) -> Position | None:
    """Return the position of the client in a run; None if the request names none.

    Raises:
        Refusal: the value is not a position.
    """
    given = last_event_ids(scope)
    if given:
        position = read_event_id(given[0])
        if position is None or len(given) > 1:
            raise Refusal("BAD_REQUEST", "Last-Event-ID: must be the id of an event of this run.")
        return position
    after = _query(scope, "after")
    if not after:
        return None
    if len(after) > 1 or _AFTER.fullmatch(after[0]) is None:
        raise Refusal("BAD_REQUEST", "after: must be the number of an event, or -1.")
    return Position(None, int(after[0]))


def last_event_ids(scope: Scope) -> list[str]:
    """Return the values of `Last-Event-ID`; an empty value counts as absent."""
    return [value for value in header_values(scope["headers"], b"last-event-id") if value]


def named_run(scope: Scope) -> tuple[str, Position] | None:
    """Return the handle and the position that `Last-Event-ID` names; None if it names no run.

    An id of another form is ignored: an EventSource may send ids of other streams. A number without a handle
    is a position in the run whose handle the request brings.

    Raises:
        Refusal: `X-Streamweir-Run` has an invalid form, or occurs twice.
    """
    given = last_event_ids(scope)
    position = read_event_id(given[0]) if len(given) == 1 else None
    if position is None:
        return None
    brought = brought_handle(scope)
    handle = position.run or brought
    return None if handle is None else (handle, position)


def without_handle(scope: Scope) -> Scope:
    """Return the scope without the handle of a run, because upstreams do not get handles."""
    pieces = scope["query_string"].split(b"&")
    query = b"&".join(piece for piece in pieces if not _names_run(piece))
    headers = [pair for pair in scope["headers"] if pair[0].lower() != RUN_HEADER]
    return {**scope, "query_string": query, "headers": headers}


def _names_run(piece: bytes) -> bool:
    name, _, value = piece.decode("latin-1").partition("=")
    return unquote_plus(name) == "run" and is_handle(unquote_plus(value))


def requested_ids(scope: Scope) -> tuple[str, str]:
    """Return the kind of the id by which the request asks for runs (one of `KINDS`), and the id.

    Raises:
        Refusal: the query has no id of these kinds, or several.
    """
    asked = [(kind, value) for kind in KINDS for value in _query(scope, kind) if value]
    if len(asked) != 1:
        raise Refusal("BAD_REQUEST", f"Name one of: {', '.join(KINDS)}.")
    return asked[0]


def requested_names(scope: Scope, body: bytes, protocol: Dialect) -> dict[str, str]:
    """Return the ids of the conversation in a request, by their kind; a GET has them in its query.

    Args:
        scope: the ASGI scope of the request.
        body: the body of the request.
        protocol: the protocol of the client, which may have its own fields for these ids.
    """
    if scope["method"] == "GET":
        named: Any = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    else:
        named = json_or(body)
    return conversation_names(named if isinstance(named, dict) else {}, protocol.request_reader)


def about_request(scope: Scope, *, body: str, handle: str, retention: Retention, **facts: Any) -> About:
    """Return the facts with which the run of a request is claimed.

    Args:
        scope: the ASGI scope of the request.
        body: a digest of the request's body; empty if the body has not been read whole.
        handle: the handle of the run.
        retention: how the run is kept.
        facts: `endpoint`, `protocol`, `framing`, `request_id` of the run.
    """
    return About(
        path=digest(scope["path"].encode("utf-8", "surrogatepass")),
        body=body,
        started_at=unix_milliseconds(),
        ttl=retention.ttl,
        handle=handle if retention.find else None,
        **facts,
    )


def run_headers(handle: str, path: str | None) -> Headers:
    """Return the headers that every response for a run has.

    Args:
        handle: the handle of the run.
        path: where runs are read; None: at their endpoints only.
    """
    headers: Headers = [(RUN_HEADER, handle.encode("ascii"))]
    if path is not None:
        headers.append((b"content-location", f"{path}/{handle}".encode()))
    return headers


def digest(data: bytes) -> str:
    """Return the digest of a path or a body that a run's facts contain: 32 hexadecimal digits."""
    return sha256(data).hexdigest()[:32]


def _query(scope: Scope, name: str) -> list[str]:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=None)
    return [value for key, value in pairs if key == name]
