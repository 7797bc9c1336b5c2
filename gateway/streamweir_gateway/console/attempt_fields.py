"""The fields of the entries `begin` and `attempt` in the log of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from streamweir.errors import ErrorInfo
from streamweir_gateway.runs.stream_recorder import AttemptFacts
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["begin_fields", "ended_fields", "how_ended"]


def begin_fields(
    attempt: int,
    upstream: str,
    is_retry: bool,
    speaks: str,
    warnings: Sequence[tuple[str, str]],
    holds_questions: bool,
) -> dict[str, Any]:
    """Return the fields of the entry `begin`.

    Args:
        attempt: the number of the attempt, from 1.
        upstream: the label of the upstream that is asked.
        is_retry: whether the attempt before it asked the same upstream.
        speaks: the name of the upstream's dialect, or `auto`.
        warnings: message and code of each warning that the client gets at the beginning of the stream.
        holds_questions: whether questions wait for the end of the stream, because its turn is kept.
    """
    return {
        "attempt": attempt,
        "upstream": upstream,
        "is_retry": is_retry,
        "speaks": speaks,
        "warnings": [{"message": message, "message_code": code} for message, code in warnings],
        **({"turns": "on"} if holds_questions else {}),
    }


def ended_fields(
    attempt: int,
    upstream: str | None,
    ended: str,
    first_event_ms: float | None,
    error: ErrorInfo | Mapping[str, Any] | None,
    reason: str | None,
) -> dict[str, Any]:
    """Return the fields of the entry `attempt`.

    Args:
        attempt: the number of the attempt, from 1.
        upstream: the label of the upstream that was asked.
        ended: as `how_ended` returns it.
        first_event_ms: the milliseconds from the arrival of the request to the first event; None before it.
        error: the error that ended the stream of the attempt, or its fields; None if it ended well.
        reason: the reason why the stream ended; None if it has not ended.
    """
    fields: dict[str, Any] = {
        "attempt": attempt,
        "upstream": upstream,
        "ended": ended,
        "first_event_ms": first_event_ms,
    }
    if error is not None:
        failure = msgspec.to_builtins(error)
        fields |= {"code": failure["code"], "failure": failure}
    elif reason is not None:
        fields["reason"] = reason
    return fields


def how_ended(response: UpstreamResponse | None, facts: AttemptFacts) -> str:
    """Return the word of the capture file for the end of an attempt with this response.

    An attempt is `refused` if no event came of its response, not even the warning about a malformed one: what
    was read is no part of a stream then.
    """
    reader = facts.stream.reader
    if response is None or (facts.failure is not None and not reader.started and not reader.malformed):
        return "refused"
    if facts.is_broken:
        return "broken"
    return "eof" if response.is_whole else "left"
