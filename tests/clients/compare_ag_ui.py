"""What AG-UI's clients have to make of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from replayed import Call, Expected, as_begun
from streamweir.errors import CODES

if TYPE_CHECKING:
    from clients import Client

OUTCOMES = {"completed": "success", "cancelled": "cancelled", "error": "error"}


def problems(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    """Yield what a client has got otherwise than the stream is."""
    if seen["refused"]:
        yield f"refused: {seen['refused']}"
    if seen["open"]:
        yield f"left open: {seen['open']}"
    if client.name == "ag-ui-1.0" and seen["warnings"]:
        yield f"warned: {seen['warnings'][:2]}"
    if not same_text("".join(expected.texts), seen["text"], len(expected.texts)):
        yield f"text {seen['text']!r} of {expected.texts!r}"
    if seen["thinking"] != expected.thinking:
        yield f"reasoning {seen['thinking']!r} of {expected.thinking!r}"
    yield from _problems_of_end(expected, seen, client)
    yield from _problems_of_calls(expected, seen["calls"])


def problems_of_copies(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    """Yield what is wrong with the end of a stream that is its upstream's own but for that."""
    if seen["refused"]:
        yield f"refused: {seen['refused']}"
    yield from _problems_of_end(expected, seen, client)


def problems_of_events(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    """Yield the events that are none, and what the rest of them says otherwise than the stream is."""
    yield from (f"no event: {wrong}" for wrong in seen["wrong"])
    if not same_text("".join(expected.texts), seen["text"], len(expected.texts)):
        yield f"text {seen['text']!r} of {expected.texts!r}"
    if seen["thinking"] != expected.thinking:
        yield f"reasoning {seen['thinking']!r} of {expected.thinking!r}"
    yield from _problems_of_end(expected, seen, client)


def same_text(expected: str, seen: str, messages: int) -> bool:
    """Is it the same text? Messages side by side may stand in another order."""
    return expected == seen or (messages > 1 and sorted(expected) == sorted(seen))


def _problems_of_end(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    error = expected.error
    if expected.status == "suspended":
        of_person = [kind for kind in expected.asked.values() if kind != "tool"]
        wanted = "interrupt" if of_person and "version" not in client.options else "success"
    elif expected.status == "cancelled" and client.options:
        wanted, error = "error", CODES["CANCELLED"].message
    else:
        wanted = OUTCOMES[expected.status]
    if seen["end"] != wanted:
        yield f"ended as {seen['end']}, not as {expected.status}"
    if seen["error"] != error:
        yield f"failed with {seen['error']!r}, not with {error!r}"


def _problems_of_calls(expected: Expected, seen: list[dict[str, Any]]) -> Iterator[str]:
    seen = as_begun(expected.calls, seen)
    if [call["name"] for call in seen] != [call.name for call in expected.calls]:
        yield f"calls {[call['name'] for call in seen]} of {[call.name for call in expected.calls]}"
        return
    for call, found in zip(expected.calls, seen, strict=True):
        try:
            given = json.loads(found["arguments"])
        except ValueError:
            given = {"_raw": found["arguments"]}
        if given != call.arguments and call.error is None:
            yield f"{call.name}: arguments {found['arguments']!r} of {call.arguments!r}"
        if found["result"] != _content(call):
            yield f"{call.name}: result {found['result']!r} of {_content(call)!r}"


def _content(call: Call) -> str | None:
    """What the result of a call says."""
    if call.is_open:
        return None
    if call.error is not None:
        return call.error
    if isinstance(call.result, str) or call.result is None:
        return call.result or ""
    return json.dumps(call.result, ensure_ascii=False, separators=(",", ":"))
