"""Takes the client's body apart by the strict rules of its framing.

Source: the standard protocol 1.1, section 4. Written separately from `streamweir.framing`, which is lenient
on purpose: here every deviation is a breach.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

__all__ = ["Framed", "read_json", "read_ndjson", "read_sse"]

_UNKEPT: Final = re.compile(r'"message_code": ?"RESUME_(?:LOST|LIMIT)"')
"""Matches the warning of a resumable stream before its first event that is not stored."""

_EVENT_BLOCK: Final = re.compile(r"(?:id: (?:(run_[0-9a-f]{32})\.)?(0|[1-9][0-9]*)\n)?data: ([^\n]*)")
_ESCAPED_WITHOUT_NEED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[01][0-9a-fA-F]|007[fF]|0085|202[89])")
"""Matches an escape that is not needed: not of a control character, and not of a line end."""

_COMMENTS: Final = re.compile(r"\A(?::[^\n]*(?:\n|\Z))+")
"""Comment lines before a block: heartbeats."""

_LINE_ENDS: Final = re.compile("[\x85\u2028\u2029]")


class Framed(NamedTuple):
    """One event of a body: the value of its frame, and the problems of the frame."""

    value: Any
    """The JSON value of the frame; None without one."""
    id: int | None
    """The number in the SSE id; None in NDJSON, and for an event of a resumable stream that is not stored."""
    breaches: list[str]


def read_sse(body: bytes) -> Iterator[Framed]:
    """Yield the events of an SSE body. A comment line may be at any place between events."""
    text, breaches = _text_of(body)
    if "\r" in text:
        breaches.append("a carriage return in the body: lines end with LF only")
    *blocks, rest = text.split("\n\n")
    if _COMMENTS.sub("", rest):
        breaches.append(f"the body does not end with a complete block: {_shown(rest)}")
    blocks = [_COMMENTS.sub("", block) for block in blocks]
    if breaches:
        yield Framed(None, None, breaches)
    run = _run_of(blocks)
    may_lack_id = run is not None or _UNKEPT.search(text) is not None
    for block in blocks:
        if not block:
            continue
        match = _EVENT_BLOCK.fullmatch(block)
        if (
            match is None
            or (match[2] is None and not may_lack_id)
            or (match[2] is not None and match[1] != run)
        ):
            yield Framed(None, None, [f"not exactly `id: N`, `data: ...`, an empty line: {_shown(block)}"])
        else:
            value, found = read_json(match[3])
            number = match[2] or ""
            place = None if not number else int(number) if len(number) < 19 else -1
            yield Framed(value, place, found)


def _run_of(blocks: Iterable[str]) -> str | None:
    """Return the run that the ids of a resumable stream name; events not stored may then have no id."""
    matches = (_EVENT_BLOCK.fullmatch(block) for block in blocks if block)
    first = next(matches, None)
    return None if first is None else first[1]


def read_ndjson(body: bytes) -> Iterator[Framed]:
    """Yield the events of an NDJSON body; empty lines between them are heartbeats."""
    text, breaches = _text_of(body)
    if "\r" in text:
        breaches.append("a carriage return in the body: lines end with LF only")
    *lines, rest = text.split("\n")
    if rest:
        breaches.append(f"the last line has no LF: {_shown(rest)}")
    if lines and not lines[-1]:
        breaches.append("an empty line after the last event: the body must end with it")
    if breaches:
        yield Framed(None, None, breaches)
    for line in lines:
        if line:
            value, found = read_json(line)
            yield Framed(value, None, found)


def read_json(text: str) -> tuple[Any, list[str]]:
    """Return the value of a strict JSON text (None if it is invalid) and its problems."""
    breaches: list[str] = []
    try:
        value = json.loads(
            text,
            parse_constant=lambda name: breaches.append(f"{name} is no JSON"),
            parse_int=lambda digits: _integer(digits, breaches),
            object_pairs_hook=lambda pairs: _object(pairs, breaches),
        )
    except (ValueError, RecursionError):
        return None, [f"not JSON: {_shown(text)}"]
    if _ESCAPED_WITHOUT_NEED.search(text):
        breaches.append("escaped characters: JSON is UTF-8, not ASCII-escaped")
    if _LINE_ENDS.search(text):
        breaches.append("U+0085, U+2028 or U+2029 as it is: careless readers cut the line there")
    return value, breaches


def _text_of(body: bytes) -> tuple[str, list[str]]:
    try:
        return body.decode("utf-8"), []
    except UnicodeDecodeError as error:
        return body.decode("utf-8", "replace"), [f"not valid UTF-8 at byte {error.start}"]


def _integer(digits: str, breaches: list[str]) -> int | str:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        breaches.append(f"an integer beyond 64 bits: {_shown(digits)}")
        return digits
    return int(digits)


def _object(pairs: list[tuple[str, Any]], breaches: list[str]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        breaches.append("a key occurs twice in one object")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
