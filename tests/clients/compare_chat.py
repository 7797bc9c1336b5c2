"""What clients of the chat protocols have to make of a stream."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from replayed import Call, Expected
from streamweir.errors import CODES

if TYPE_CHECKING:
    from clients import Client

CUT_SHORT = {"length", "max_tokens", "incomplete", "content_filter", "content-filter", "refusal"}
ENDS = {"stop", "end_turn", "completed", *CUT_SHORT}
PAUSED = "pause_turn"
CALLS = {"tool_calls", "tool-calls", "tool_use", "completed"}


def problems(expected: Expected, seen: dict[str, Any], client: Client) -> Iterator[str]:
    """Yield what a client has got otherwise than the stream is, in pieces and as a whole."""
    yield from _problems(expected, seen, client, is_whole=False)
    yield from (f"whole: {problem}" for problem in _problems(expected, seen["whole"], client, is_whole=True))


def _problems(expected: Expected, seen: dict[str, Any], client: Client, *, is_whole: bool) -> Iterator[str]:
    if seen["error"] == CODES["UPSTREAM_INVALID_RESPONSE"].message and _says_nothing(expected):
        return  # these protocols have no warning: an empty answer would be all that they could say
    failed = expected.status == "error" or (expected.status == "cancelled" and not is_whole)
    if failed:
        yield from _problems_of_failure(expected, seen)
    elif seen["error"] is not None and expected.status != "cancelled":
        yield f"failed with {seen['error']!r}"
    if seen.get("open"):
        yield f"left open: {seen['open']}"
    if failed and (is_whole or not seen["text"]):
        return  # what had come may be gone with the failure
    yield from _problems_of_texts(expected, seen, client, is_whole=is_whole)
    if not failed:
        yield from _problems_of_calls(expected, seen)
        yield from _problems_of_end(expected, seen)


def _says_nothing(expected: Expected) -> bool:
    return not any(text.strip() for text in expected.texts) and not expected.calls and not expected.asked


def _problems_of_failure(expected: Expected, seen: dict[str, Any]) -> Iterator[str]:
    message = expected.error or CODES["CANCELLED"].message
    if seen["error"] not in (message, "cancelled"):
        yield f"failed with {seen['error']!r}, not with {message!r}"


def _problems_of_texts(
    expected: Expected, seen: dict[str, Any], client: Client, *, is_whole: bool
) -> Iterator[str]:
    texts = [text for text in expected.texts if text]
    of_person = [kind for kind in expected.asked.values() if kind != "tool"]
    text = seen["text"]
    if of_person:  # the question is a part of the text, unless the protocol has a form for it
        wanted = expected.whole if is_whole else "".join(texts)
        has_form = seen["end"] == PAUSED or (
            client.protocol == "openai-responses" and "approval" in of_person
        )
        if not (text or has_form) or _letters(wanted) - _letters(text):
            yield f"text {text!r} lacks some of {wanted!r}"
    elif not is_whole and sorted(text.replace("\n", "")) != sorted("".join(texts).replace("\n", "")):
        yield f"text {text!r} of {texts!r}"
    elif is_whole and sorted(text.replace("\n", "")) != sorted(expected.whole.replace("\n", "")):
        yield f"text {text!r}, not {expected.whole!r}"
    if seen["thinking"].replace("\n", "") != expected.thinking.replace("\n", ""):
        yield f"reasoning {seen['thinking']!r} of {expected.thinking!r}"


def _problems_of_calls(expected: Expected, seen: dict[str, Any]) -> Iterator[str]:
    is_open = expected.status == "suspended"
    asked = "tool" in expected.asked.values() and is_open
    handed = [call for call in expected.calls if call.is_open and asked]
    if [_asked(call) for call in handed] != [_given(call) for call in seen["calls"]]:
        yield f"was to run {seen['calls']}, not {handed}"
    over = [call for call in expected.calls if not call.is_open]
    if seen["ran"] is None:
        return
    found = sorted((*_given(call), call["output"] or "", call["error"] or "") for call in seen["ran"])
    wanted = sorted((*_asked(call), _output(call), call.error or "") for call in over)
    if found != wanted:
        yield f"has run {found}, not {wanted}"


def _problems_of_end(expected: Expected, seen: dict[str, Any]) -> Iterator[str]:
    if expected.status == "cancelled":
        return
    if seen["end"] == PAUSED and expected.status == "suspended":
        return
    if seen["end"] not in (CALLS if seen["calls"] else ENDS):
        yield f"ended as {seen['end']}, not as {expected.status}"


def _letters(text: str) -> Counter[str]:
    return Counter(text.replace("\n", ""))


def _asked(call: Call) -> tuple[str, str]:
    return call.name, json.dumps(call.arguments, sort_keys=True)


def _given(call: dict[str, Any]) -> tuple[str, str]:
    return call["name"], json.dumps(json.loads(call["arguments"]), sort_keys=True)


def _output(call: Call) -> str:
    if call.error is not None:
        return ""
    if isinstance(call.result, str) or call.result is None:
        return call.result or ""
    return json.dumps(call.result, ensure_ascii=False, separators=(",", ":"))
