"""Recorded streams with something done to them: bytes, lines and values of JSON changed by chance."""

import json
import random
import re
from collections.abc import Callable
from typing import Any, Final

Mutation = Callable[[random.Random, bytes], bytes]

LEAVES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1e308, 2**63, 10**30, "", " ", "null", "error", "Error: no", "\x00", "\u2028",
    "\ud800", "ünï 北京 🏖️", "x" * 3000, [], {}, [[]], [None], {"": ""}, {"type": {}}, [1, "a", {"b": []}],
)  # fmt: skip
"""What a value becomes: of every type, empty and odd."""

SPLINTERS: Final = (
    b"\n", b"\n\n", b"\r", b"\r\n\r\n", b"\xef\xbb\xbf", b"\x00", b"\xff\xfe", b"\x85", b"data:",
    b"data: \n\n", b": ping\n\n", b"event: \n", b"id: 1\n", b"retry: 9\n", b"null\n", b"NaN", b"-1e999",
    b'"\\ud800"', b"{", b"}", b"]", b'"', b"\\", b"[" * 2000, b'{"a":' * 2000, b"9" * 400, b"<html>",
    b"x" * 20_000, b"Traceback (most recent call last):\n",
)  # fmt: skip
"""What is put between two bytes; nothing among it ends a stream in any dialect."""

MOST_MUTATIONS: Final = 4
LARGEST: Final = 200_000
"""Bytes above which a stream is left as it is: doublings would make it grow for ever."""


def mutated(chance: random.Random, body: bytes) -> bytes:
    """Return `body` after up to four mutations; sometimes as it is."""
    for _ in range(chance.randint(0, MOST_MUTATIONS)):
        if len(body) < LARGEST:
            body = chance.choice(MUTATIONS)(chance, body)
    return body


def pieces_of(chance: random.Random, body: bytes) -> list[bytes]:
    """Return `body` cut at a few places, or at very many."""
    count = chance.choice((0, 1, 3, 10, len(body) // 4))
    places = sorted({chance.randint(0, len(body)) for _ in range(min(count, 2000))} - {0, len(body)})
    bounds = zip([0, *places], [*places, len(body)], strict=True)
    return [body[start:end] for start, end in bounds if start < end]


def _replace_byte(chance: random.Random, body: bytes) -> bytes:
    place = chance.randint(0, len(body))
    return body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]


def _remove_bytes(chance: random.Random, body: bytes) -> bytes:
    start, end = _range(chance, len(body))
    return body[:start] + body[end:]


def _repeat_bytes(chance: random.Random, body: bytes) -> bytes:
    start, end = _range(chance, len(body))
    return body[:end] + body[start:end] + body[end:]


def _insert_splinter(chance: random.Random, body: bytes) -> bytes:
    place = chance.randint(0, len(body))
    return body[:place] + chance.choice(SPLINTERS) + body[place:]


def _remove_line(chance: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def _repeat_line(chance: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines) + chance.choice((b"", b"\n")))
    return b"\n".join(lines)


def _repeat_event(chance: random.Random, body: bytes) -> bytes:
    """Repeat one event often, its numbers counted on or not: most of a long stream is like that."""
    end = b"\n\n" if b"\n\n" in body else b"\n"
    events = body.split(end)
    if len(events) < 3:  # a document
        return body
    place, step = chance.randrange(len(events)), chance.choice((0, 1, 1, 7))
    event = events[place]
    count = min(chance.choice((3, 10, 40)), LARGEST // (len(event) + 1))
    events[place:place] = [_counted_on(event, step * number) for number in range(count)]
    return end.join(events)


def _counted_on(event: bytes, number: int) -> bytes:
    return re.sub(rb"[0-9]{1,12}", lambda digits: b"%d" % (int(digits[0]) + number), event)


def _swap_lines(chance: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _change_line_ends(chance: random.Random, body: bytes) -> bytes:
    return body.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n")))


def _change_value(chance: random.Random, body: bytes) -> bytes:
    """Change one value, one key or one list in the JSON of one line."""
    lines = body.split(b"\n")
    index = chance.randrange(len(lines))
    prefix, brace, rest = lines[index].partition(b"{")
    try:
        message = json.loads(brace + rest)
    except (ValueError, RecursionError):
        return body
    _change_within(chance, message)
    lines[index] = prefix + json.dumps(message, ensure_ascii=chance.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )
    return b"\n".join(lines)


def _change_within(chance: random.Random, value: Any) -> None:
    """Walk down into `value` at random and change what is found there."""
    while value and isinstance(value, (dict, list)):
        key = chance.choice([*value]) if isinstance(value, dict) else chance.randrange(len(value))
        inner = value[key]
        if inner and isinstance(inner, (dict, list)) and chance.random() < 0.7:
            value = inner
            continue
        chance.choice((_replace_value, _remove_value, _repeat_value))(chance, value, key)
        return


def _replace_value(chance: random.Random, within: Any, key: Any) -> None:
    within[key] = chance.choice(LEAVES)


def _remove_value(chance: random.Random, within: Any, key: Any) -> None:
    del within[key]


def _repeat_value(chance: random.Random, within: Any, key: Any) -> None:
    if isinstance(within, list):
        within.append(within[key])
    else:
        within[chance.choice(("type", "content", "id", "data", "error", "x"))] = within[key]


def _range(chance: random.Random, length: int) -> tuple[int, int]:
    """Two places, mostly close to each other."""
    start = chance.randint(0, length)
    return start, min(length, start + chance.choice((1, 2, 10, 100, length)))


MUTATIONS: Final[tuple[Mutation, ...]] = (
    _replace_byte,
    _remove_bytes,
    _repeat_bytes,
    _repeat_event,
    _repeat_event,
    _insert_splinter,
    _remove_line,
    _repeat_line,
    _swap_lines,
    _change_line_ends,
    _change_value,
    _change_value,
    _change_value,
)
"""What is done to a stream; a value is changed most often, for that reaches deepest."""
