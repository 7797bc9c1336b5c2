"""What `useChat` has to make of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compare_ag_ui import same_text
from replayed import Call, Expected, as_begun

if TYPE_CHECKING:
    from clients import Client


def problems(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    """Yield what a page has got otherwise than the stream is."""
    if seen["open"]:
        yield f"left open: {seen['open']}"
    if seen["requests"] != 1:
        yield "asked again by itself"
    if not same_text("".join(expected.texts), seen["text"], len(expected.texts)):
        yield f"text {seen['text']!r} of {expected.texts!r}"
    if seen["thinking"] != expected.thinking:
        yield f"reasoning {seen['thinking']!r} of {expected.thinking!r}"
    if seen["error"] != expected.error:
        yield f"failed with {seen['error']!r}, not with {expected.error!r}"
    if seen["status"] != ("error" if expected.error else "ready"):
        yield f"is {seen['status']}"
    yield from _problems_of_calls(expected, seen, client)


def problems_of_copies(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    """Yield what is wrong with the end of a stream that is its upstream's own but for that."""
    del client
    if expected.error and seen["error"] != expected.error:
        yield f"failed with {seen['error']!r}, not with {expected.error!r}"


def _problems_of_calls(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    found = as_begun(expected.calls, seen["calls"])
    if [call["name"] for call in found] != [call.name for call in expected.calls]:
        yield f"calls {[call['name'] for call in found]} of {[call.name for call in expected.calls]}"
        return
    for call, shown in zip(expected.calls, found, strict=True):
        if shown.get("input") != call.arguments and call.error is None:
            yield f"{call.name}: input {shown.get('input')!r} of {call.arguments!r}"
        if shown["state"] not in _states(call, client):
            yield f"{call.name}: is {shown['state']}"
        if (shown["output"], shown["error"]) != (None if call.error else call.result, call.error):
            yield f"{call.name}: {shown['output']!r}, {shown['error']!r} of {call!r}"
    asked_of_client = sorted(kind for kind in expected.asked.values() if kind == "tool")
    if len(seen["toRun"]) != len(asked_of_client):
        yield f"was to run {seen['toRun']}"


def _states(call: Call, client: Client) -> tuple[str, ...]:
    if call.is_open:
        return ("input-available", "approval-requested") if client.options else ("input-available",)
    return ("output-error",) if call.error is not None else ("output-available",)
