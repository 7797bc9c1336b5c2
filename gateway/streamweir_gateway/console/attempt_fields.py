"""The fields of the entries `begin` and `attempt` in the log of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from streamweir.errors import ErrorInfo
from streamweir.events import Warning
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import AttemptFacts
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["begin_fields", "ended_fields", "how_ended"]


def begin_fields(
    attempt: int,
    destination: Destination,
    before: Destination | None,
    warnings: Sequence[Warning],
    *,
    holds_questions: bool,
) -> dict[str, Any]:
    """Return the fields of the entry `begin`.

    Args:
        attempt: the number of the attempt, from 1.
        destination: the upstream that is asked.
        before: the upstream of the attempt before it; None if this is the first one.
        warnings: the warnings that the client gets at the beginning of the stream.
        holds_questions: whether questions wait for the end of the stream, because its turn is kept.
    """
    return {
        "attempt": attempt,
        "upstream": destination.label,
        "is_retry": before is not None and before.identity == destination.identity,
        "speaks": destination.config.speaks,
        "warnings": [
            {"message": warning.message, "message_code": warning.message_code} for warning in warnings
        ],
        **({"turns": "on"} if holds_questions else {}),
    }


def ended_fields(
    attempt: int,
    destination: Destination | None,
    ended: str,
    first_event_ms: float | None,
    error: ErrorInfo | None,
    reason: str | None,
) -> dict[str, Any]:
    """Return the fields of the entry `attempt`.

    Args:
        attempt: the number of the attempt, from 1.
        destination: the upstream that was asked.
        ended: as `how_ended` returns it.
        first_event_ms: the milliseconds from the arrival of the request to the first event; None before it.
        error: the error that ended the stream of the attempt; None if it ended well.
        reason: the reason why the stream ended; None if it has not ended.
    """
    fields: dict[str, Any] = {
        "attempt": attempt,
        "upstream": None if destination is None else destination.label,
        "ended": ended,
        "first_event_ms": first_event_ms,
    }
    if error is not None:
        fields |= {"code": error.code, "failure": msgspec.to_builtins(error)}
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
